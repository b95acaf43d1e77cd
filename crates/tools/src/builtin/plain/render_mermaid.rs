use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of};
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

const MOST_BYTES: usize = 32 * 1024;

/// The first words of the diagrams that mermaid knows.
const KINDS: [&str; 24] = [
    "architecture-beta",
    "block-beta",
    "c4component",
    "c4container",
    "c4context",
    "c4deployment",
    "c4dynamic",
    "classdiagram",
    "classdiagram-v2",
    "erdiagram",
    "flowchart",
    "gantt",
    "gitgraph",
    "graph",
    "journey",
    "kanban",
    "mindmap",
    "pie",
    "quadrantchart",
    "requirementdiagram",
    "sequencediagram",
    "statediagram",
    "statediagram-v2",
    "timeline",
];

/// Text that changes how a diagram is drawn or makes it run something. No drawing needs it.
const REFUSED: [&str; 5] = ["%%{", "javascript:", "<script", "<iframe", "data:text/html"];

pub(super) const POSITION: u16 = 100;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(RenderMermaid::new())
}

struct RenderMermaid(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Without a fence
    code: String,
}

impl RenderMermaid {
    fn new() -> Self {
        let description = "Check a mermaid diagram and show it drawn.";
        Self(spec_of::<Arguments>("render_mermaid", "mermaid", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for RenderMermaid {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("draw", "drawing", "drew").of("a diagram")
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        check(&arguments.code)?;
        Ok(reading(&self.0, Target::Diagram))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        _: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { code } = arguments;
        // Every surface can show a code block; surfaces that can draw diagrams draw it.
        Ok(ToolOutcome::ok(format!("```mermaid\n{}\n```", code.trim()), plan.summary))
    }
}

fn check(code: &str) -> Result<(), ToolError> {
    let wrong = |why: String| Err(ToolError::Arguments(format!("not a diagram: {why}")));
    if code.len() > MOST_BYTES {
        return wrong(format!("it is longer than {MOST_BYTES} bytes"));
    }
    let lower = code.to_lowercase();
    if let Some(part) = REFUSED.iter().find(|part| lower.contains(**part)) {
        return wrong(format!("{part:?} is not allowed in it"));
    }
    if code.contains("```") {
        return wrong("leave out the fence".to_owned());
    }
    let first =
        lower.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("%%"));
    let kind = first.and_then(|line| line.split([' ', '\t', ';', ':']).next()).unwrap_or_default();
    if !KINDS.contains(&kind) {
        return wrong(format!("it begins with {kind:?}; e.g. flowchart TD, sequenceDiagram"));
    }
    balanced(code).or_else(wrong)
}

/// Checks that brackets outside of quotes are balanced. No version of mermaid draws a diagram
/// otherwise.
fn balanced(code: &str) -> Result<(), String> {
    for (number, line) in code.lines().enumerate() {
        let quotes = line.matches('"').count();
        if quotes % 2 != 0 {
            return Err(format!("line {} has a quote that is not closed", number + 1));
        }
        let outside: String = line.split('"').step_by(2).collect();
        for (open, close) in [('[', ']'), ('(', ')')] {
            let (opened, closed) = (outside.matches(open).count(), outside.matches(close).count());
            // Arrows of sequence diagrams end in a single bracket, so those are not counted.
            let arrows = outside.matches("-)").count();
            if opened > closed || closed > opened + arrows {
                return Err(format!(
                    "line {} has {open} and {close} that do not match",
                    number + 1
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagrams_pass() {
        for code in [
            "flowchart TD\n  A[Start] --> B(\"a ) in quotes\")\n  B --> C{Choice}",
            "%% a comment\nsequenceDiagram\n  Ada->>Bob: Hello (again)\n  Ada-)Bob: later",
            "pie title Pets\n  \"Dogs\" : 3",
            "classDiagram\n  class A {\n    +int x\n  }",
            "gantt\n  title A plan",
        ] {
            assert!(check(code).is_ok(), "{code}: {:?}", check(code));
        }
    }

    #[test]
    fn what_is_no_diagram_is_told_why() {
        for (code, why) in [
            ("hello", "begins with \"hello\""),
            ("", "begins with \"\""),
            ("flowchart TD\n A[Start --> B", "line 2"),
            ("flowchart TD\n A[\"Start] --> B", "line 2 has a quote"),
            ("%%{init: {'securityLevel': 'loose'}}%%\nflowchart TD", "not allowed"),
            ("flowchart TD\n click A \"javascript:alert(1)\"", "not allowed"),
            ("```mermaid\nflowchart TD\n```", "fence"),
        ] {
            let told = check(code).unwrap_err().to_string();
            assert!(told.contains(why), "{code}: {told}");
        }
    }
}
