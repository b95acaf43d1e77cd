use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{CallLabel, Origin, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use super::{NoArguments, failed, files, persona, reading, spec, target, tool_error};
use crate::{Authorised, PersonaPort, ToolCx, ToolError, TypedTool};

pub(super) struct GetPersona {
    spec: ToolSpec,
    port: Arc<dyn PersonaPort>,
}

impl GetPersona {
    pub(super) fn new(port: Arc<dyn PersonaPort>) -> Self {
        let description = "The persona as it is now: name, system prompt, ids of its test inputs.";
        Self { spec: spec::<NoArguments>("get_persona", ToolEffect::Read, description), port }
    }
}

#[async_trait]
impl TypedTool for GetPersona {
    type Arguments = NoArguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("look at", "looking at", "looked at").of("the persona")
    }

    async fn plan(&self, _: &NoArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let target = target(files(cx)?.system_prompt_name(), None);
        Ok(reading(&self.spec, target))
    }

    async fn invoke(
        &self,
        _: NoArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let (files, persona) = (files(cx)?, persona(cx)?);
        let name = self.port.name(persona).map_err(|fault| tool_error(&fault))?;
        let prompt = files.system_prompt().await.map_err(failed)?;
        let ids = files.test_input_ids().await.map_err(failed)?;
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let origin = prompt.as_ref().map_or(Origin::Person, |prompt| prompt.origin);
        let text = prompt.map(|prompt| prompt.text).unwrap_or_default();
        let output = json!({"name": name, "systemPrompt": text, "testInputIds": ids});
        let summary = plan.into_inner().summary;
        Ok(ToolOutcome::ok(output.to_string(), summary).from_origin(origin))
    }
}
