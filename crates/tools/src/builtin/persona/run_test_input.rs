use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use super::{
    TestInputArguments, existing, files, persona, reading_of, text_argument, timed, tool_error,
};
use crate::{Authorised, PersonaPort, ToolCx, ToolError, TypedTool};

/// The time limit of the tool. It is long enough that the persona's own limits end its answer
/// first.
const PATIENCE: Duration = Duration::from_secs(11 * 60);

pub(super) struct RunTestInput {
    spec: ToolSpec,
    port: Arc<dyn PersonaPort>,
}

impl RunTestInput {
    pub(super) fn new(port: Arc<dyn PersonaPort>) -> Self {
        let description =
            "Say a test input to the persona and see what it answers. It changes nothing.";
        let spec =
            timed::<TestInputArguments>("run_test_input", ToolEffect::Read, description, PATIENCE);
        // The same input is tried again after each change of the prompt, so equal calls are no
        // loop.
        Self { spec: ToolSpec { repeats: true, ..spec }, port }
    }
}

#[async_trait]
impl TypedTool for RunTestInput {
    type Arguments = TestInputArguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = text_argument(arguments, "id");
        Verb::new("try", "trying", "tried").of(format!("the test input {id}"))
    }

    async fn plan(&self, arguments: &TestInputArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        reading_of(&self.spec, &arguments.id, cx).await
    }

    async fn invoke(
        &self,
        arguments: TestInputArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let TestInputArguments { id } = arguments;
        let input = existing(&files(cx)?, &id).await?;
        let (person, persona) = (&cx.key.person, persona(cx)?);
        let answer = self.port.answer(person, persona, &input.content.text, &cx.cancel).await;
        let answer = answer.map_err(|fault| tool_error(&fault))?;
        let output = json!({"id": id, "answer": answer.text});
        let origin = answer.origin.max(input.content.origin);
        Ok(ToolOutcome::ok(output.to_string(), plan.summary).from_origin(origin))
    }
}
