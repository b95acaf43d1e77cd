use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{persona, spec, target, text_argument, told, writing};
use crate::schema::arguments;
use crate::{Authorised, PersonaDesk, Tool, ToolCx, ToolError};

pub(super) struct UpdatePersonaName {
    spec: ToolSpec,
    desk: Arc<dyn PersonaDesk>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

impl UpdatePersonaName {
    pub(super) fn new(desk: Arc<dyn PersonaDesk>) -> Self {
        let description = "Change the name that people see.";
        let spec = spec::<Arguments>("update_persona_name", ToolEffect::Write, description);
        Self { spec, desk }
    }
}

#[async_trait]
impl Tool for UpdatePersonaName {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let name = text_argument(arguments, "name");
        Verb::new("rename", "renaming", "renamed").of(format!("the persona to {name}"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let persona = persona(cx)?;
        let Arguments { name } = arguments(&input)?;
        let before = self.desk.name(persona).map_err(|fault| told(&fault))?;
        let preview = Preview::Text { text: format!("{before} → {name}") };
        let target = target(format!("agents/{persona}"), None);
        let summary = self.summary(&input);
        Ok(writing(&self.spec, input, target, summary, preview))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { name } = arguments(&plan.arguments)?;
        self.desk.rename(persona(cx)?, &name).await.map_err(|fault| told(&fault))?;
        Ok(ToolOutcome::ok(format!("the persona is called {name} now"), plan.summary))
    }
}
