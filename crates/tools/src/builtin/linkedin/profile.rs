use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, Origin, PersonId, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::LinkedIn;
use super::sharing::needing_account;
use crate::builtin::{reading, spec_of};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(in crate::builtin) struct ShowProfile {
    spec: ToolSpec,
    linkedin: LinkedIn,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::builtin) struct Arguments {}

impl ShowProfile {
    pub(in crate::builtin) fn new(linkedin: LinkedIn) -> Self {
        let description = "Show as whom the person is signed in at LinkedIn.";
        let spec =
            spec_of::<Arguments>("linkedin_profile", "linkedin", ToolEffect::Read, description);
        Self { spec: needing_account(spec), linkedin }
    }
}

#[async_trait]
impl TypedTool for ShowProfile {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.linkedin.check_account(person)
    }

    fn label(&self, _: &Value) -> CallLabel {
        let (plain, doing) = ("look at the LinkedIn profile", "looking at the LinkedIn profile");
        Verb::new(plain, doing, "looked at the LinkedIn profile").of("")
    }

    async fn plan(&self, _: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        let base = self.linkedin.base()?;
        let target = Target::Address(onyx_types::Address::new(base.to_string()));
        Ok(reading(&self.spec, target))
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let profile = self.linkedin.service(&cx.key.person, &*cx.clock)?.profile().await?;
        let email = profile.email().map(|email| format!("\nEmail: {email}")).unwrap_or_default();
        let text = format!("Name: {}{email}\nMember: {}", profile.name(), profile.urn());
        Ok(ToolOutcome::ok(text, plan.into_inner().summary).from_origin(Origin::External))
    }
}
