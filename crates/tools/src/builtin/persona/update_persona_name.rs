use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Plan, PlanTarget, Preview, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{persona, spec, text_argument, tool_error, writing};
use crate::{Authorised, PersonaPort, ToolCx, ToolError, TypedTool};

pub(super) struct UpdatePersonaName {
    spec: ToolSpec,
    port: Arc<dyn PersonaPort>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    name: String,
}

impl UpdatePersonaName {
    pub(super) fn new(port: Arc<dyn PersonaPort>) -> Self {
        let description = "Change the name that people see.";
        let spec = spec::<Arguments>("update_persona_name", ToolEffect::Write, description);
        Self { spec, port }
    }
}

#[async_trait]
impl TypedTool for UpdatePersonaName {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let name = text_argument(arguments, "name");
        Verb::new("rename", "renaming", "renamed").of(format!("the persona to {name}"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let persona = persona(cx)?;
        let Arguments { name } = arguments;
        let before = self.port.name(persona).map_err(|fault| tool_error(&fault))?;
        let preview = Preview::Text { text: format!("{before} → {name}") };
        let target = Target::AgentSettings(persona.clone());
        let target = PlanTarget { target, base: None, instruction: true };
        Ok(writing(&self.spec, target, String::new(), preview))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { name } = arguments;
        self.port.rename(persona(cx)?, &name).await.map_err(|fault| tool_error(&fault))?;
        Ok(ToolOutcome::ok(format!("the persona is called {name} now"), plan.summary))
    }
}
