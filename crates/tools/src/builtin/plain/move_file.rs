use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Consent, FileChange, Origin, Plan, Preview, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{spec_of, text_argument};
use crate::files::{AgentFiles, apply};
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 60;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(MoveFile::new())
}

struct MoveFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    from: String,
    to: String,
}

impl MoveFile {
    fn new() -> Self {
        let description = "Move or rename a text file to a path that is free.";
        Self(spec_of::<Arguments>("move_file", "fs", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for MoveFile {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let (from, to) = (text_argument(arguments, "from"), text_argument(arguments, "to"));
        let label = Verb::new("move", "moving", "moved").of(format!("{from} to {to}"));
        label.about(CallTargetKind::File, to)
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { from, to } = arguments;
        let vault = AgentFiles::vault(cx)?;
        let (from, to) = (cx.paths.check(from)?, cx.paths.check(to)?);
        let Some(file) = vault.seen(&from).await? else {
            return Err(ToolError::NotFound(format!("file {from}")));
        };
        let there = vault.any_file(&to).await?;
        if there.is_some() || from == to {
            let message = format!("{to} exists; move to a free path, or delete that file first");
            return Err(ToolError::Arguments(message));
        }
        let source = vault.target(cx, &from, file.base);
        let target = vault.target(cx, &to, None);
        // A foreign text must not become an instruction by being moved to a path that agents obey.
        let plants = file.origin.taints() && target.instruction;
        let consent = if plants { Consent::Person } else { Consent::Gate };
        let gone = FileChange { target: vault.name(&from), after: None, origin: Origin::Agent };
        let here =
            FileChange { target: vault.name(&to), after: Some(file.text), origin: file.origin };
        let summary = format!("Move {from} to {to}");
        let text = format!("{from} → {to}\n(what it holds stays as it is)");
        Ok(Plan {
            targets: vec![source, target],
            // The new file is written first, so that an interrupted plan leaves two copies and
            // never none.
            changes: vec![here, gone],
            preview: Preview::Text { text },
            consent,
            ..Plan::new(self.0.name.clone(), Value::Null, ToolEffect::Write, summary)
        })
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { from, to } = arguments;
        apply(&plan, cx).await?;
        let output = format!("moved {} to {}", cx.paths.check(&from)?, cx.paths.check(&to)?);
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
