use async_trait::async_trait;
use onyx_types::{Consent, FileChange, Origin, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{text_argument, tool};
use crate::files::{Place, apply};
use crate::schema::arguments;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct MoveFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    from: String,
    to: String,
}

impl MoveFile {
    pub(super) fn new() -> Self {
        let description = "Move or rename a text file to a path that is free.";
        Self(tool::<Arguments>("move_file", "fs", ToolEffect::Write, description))
    }
}

#[async_trait]
impl Tool for MoveFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        let (from, to) = (text_argument(arguments, "from"), text_argument(arguments, "to"));
        format!("Move {from} to {to}")
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { from, to } = arguments(&input)?;
        let vault = Place::vault(cx)?;
        let (from, to) = (cx.paths.check(&from)?, cx.paths.check(&to)?);
        let Some(file) = vault.seen(&from).await? else {
            return Err(ToolError::NotFound(format!("file {from}")));
        };
        let there = vault.held(&to).await?;
        if there.is_some() || from == to {
            let message = format!("{to} exists; move to a free path, or delete that file first");
            return Err(ToolError::Arguments(message));
        }
        let source = vault.target(cx, &from, file.base);
        let target = vault.target(cx, &to, None);
        // Text from outside does not become an instruction by getting another name.
        let consent = match file.origin.taints() && target.instruction {
            true => Consent::Person,
            false => Consent::Gate,
        };
        let gone = FileChange { target: source.name.clone(), after: None, origin: Origin::Agent };
        let here =
            FileChange { target: target.name.clone(), after: Some(file.text), origin: file.origin };
        let summary = format!("Move {from} to {to}");
        let text = format!("{from} → {to}\n(what it holds stays as it is)");
        Ok(Plan {
            targets: vec![source, target],
            // A plan that is cut off has the file twice, never not at all.
            changes: vec![here, gone],
            preview: Preview::Text { text },
            consent,
            ..Plan::new(self.0.name.as_str(), input, ToolEffect::Write, summary)
        })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { from, to } = arguments(&plan.arguments)?;
        apply(&plan, cx).await?;
        let output = format!("moved {} to {}", cx.paths.check(&from)?, cx.paths.check(&to)?);
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
