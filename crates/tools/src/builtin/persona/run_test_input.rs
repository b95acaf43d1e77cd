use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use super::{OfOne, existing, files, persona, reading, target, text_argument, timed, told};
use crate::schema::arguments;
use crate::{Authorised, PersonaDesk, Tool, ToolCx, ToolError};

/// The persona's own limits end its answer before this does.
const PATIENCE: Duration = Duration::from_secs(11 * 60);

pub(super) struct RunTestInput {
    spec: ToolSpec,
    desk: Arc<dyn PersonaDesk>,
}

impl RunTestInput {
    pub(super) fn new(desk: Arc<dyn PersonaDesk>) -> Self {
        let description =
            "Say a test input to the persona and see what it answers. It changes nothing.";
        let spec = timed::<OfOne>("run_test_input", ToolEffect::Read, description, PATIENCE);
        // After a change of the prompt the same input is tried again.
        Self { spec: ToolSpec { repeats: true, ..spec }, desk }
    }
}

#[async_trait]
impl Tool for RunTestInput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = text_argument(arguments, "id");
        Verb::new("try", "trying", "tried").of(format!("the test input {id}"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let files = files(cx)?;
        let OfOne { id } = arguments(&input)?;
        let found = existing(&files, &id).await?;
        let target = target(files.test_input_name(&found.id), Some(found.content.hash));
        let summary = self.summary(&input);
        Ok(reading(&self.spec, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let OfOne { id } = arguments(&plan.arguments)?;
        let input = existing(&files(cx)?, &id).await?;
        let (person, persona) = (&cx.key.person, persona(cx)?);
        let answer = self.desk.answer(person, persona, &input.content.text, &cx.cancel).await;
        let answer = answer.map_err(|fault| told(&fault))?;
        let output = json!({"id": id, "answer": answer.text});
        let origin = answer.origin.max(input.content.origin);
        Ok(ToolOutcome::ok(output.to_string(), plan.summary).from_origin(origin))
    }
}
