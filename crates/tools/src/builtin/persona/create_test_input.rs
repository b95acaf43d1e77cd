use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{change, failed, files, spec, target, test_id, text_argument, writing};
use crate::schema::arguments;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct CreateTestInput(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Arguments {
    content: String,
}

/// The arguments in a plan. The id is chosen with the plan, so that it stays the same if the call
/// happens later.
#[derive(Serialize, Deserialize)]
struct PlannedInput {
    id: String,
    content: String,
}

impl CreateTestInput {
    pub(super) fn new() -> Self {
        let description = "Add a test input: something to say to the persona.";
        Self(spec::<Arguments>("create_test_input", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for CreateTestInput {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let content = text_argument(arguments, "content");
        Verb::new("add", "adding", "added").of(format!("the test input {content}"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let content = &arguments.content;
        if content.trim().is_empty() {
            return Err(ToolError::Arguments("a test input must not be empty".to_owned()));
        }
        let files = files(cx)?;
        let id = files.free_test_input_id(content).await.map_err(failed)?;
        let preview = Preview::Text { text: content.clone() };
        let target = target(files.test_input_name(&id), None);
        let named = json!({"id": id.as_str(), "content": content});
        let plan = writing(&self.0, target, String::new(), preview);
        Ok(Plan { arguments: named, ..plan })
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let PlannedInput { id, content } = arguments(&plan.arguments)?;
        let (id, change) = (test_id(&id)?, change(cx, &self.0));
        files(cx)?.put_test_input(&id, &content, None, change).await.map_err(failed)?;
        let output = json!({"id": id.as_str(), "content": content});
        Ok(ToolOutcome::ok(output.to_string(), plan.summary))
    }
}
