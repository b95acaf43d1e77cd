use async_trait::async_trait;
use onyx_egress::Method;
use onyx_types::{CallLabel, Capability, PersonId, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LinkedIn;
use super::little_text::little_text;
use super::service::Request;
use super::sharing::{Sharing, checked, needing_account, plan};
use crate::builtin::{spec_of, text_argument};
use crate::text::one_line;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const LONGEST: usize = 3000;

pub(in crate::builtin) struct Post {
    spec: ToolSpec,
    linkedin: LinkedIn,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::builtin) struct Arguments {
    /// Plain text, at most 3000 characters; #words become hashtags
    text: String,
    /// Who sees it; default public
    visibility: Option<Visibility>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Visibility {
    Public,
    Connections,
}

impl Visibility {
    const fn words(self) -> &'static str {
        match self {
            Self::Public => "visible to: anyone",
            Self::Connections => "visible to: connections only",
        }
    }

    const fn as_linkedin(self) -> &'static str {
        match self {
            Self::Public => "PUBLIC",
            Self::Connections => "CONNECTIONS",
        }
    }
}

impl Post {
    pub(in crate::builtin) fn new(linkedin: LinkedIn) -> Self {
        let description = "Post a text on LinkedIn as the person. It asks the person first.";
        let spec =
            spec_of::<Arguments>("linkedin_post", "linkedin", ToolEffect::Reach, description);
        Self { spec: needing_account(spec), linkedin }
    }
}

#[async_trait]
impl TypedTool for Post {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.linkedin.check_account(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("post on LinkedIn", "posting on LinkedIn", "posted on LinkedIn");
        verb.of(one_line(text_argument(arguments, "text")))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        checked(&arguments.text, LONGEST)?;
        let visibility = arguments.visibility.unwrap_or(Visibility::Public);
        let shown = format!("Post, {}\n\n{}", visibility.words(), arguments.text);
        plan(&self.linkedin, &self.spec, cx, &shown)
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let visibility = arguments.visibility.unwrap_or(Visibility::Public);
        let sharing = Sharing { kind: "post", about: visibility.words(), text: &arguments.text };
        let commentary = little_text(&arguments.text);
        let request = |profile: &super::service::Profile| {
            let body = json!({
                "author": profile.urn(),
                "commentary": commentary,
                "visibility": visibility.as_linkedin(),
                "distribution": {"feedDistribution": "MAIN_FEED", "targetEntities": [],
                    "thirdPartyDistributionChannels": []},
                "lifecycleState": "PUBLISHED",
                "isReshareDisabledByAuthor": false,
            });
            Request { method: Method::POST, path: "rest/posts".into(), body: Some(body) }
        };
        sharing.send(&self.linkedin, plan.into_inner(), cx, request).await
    }
}
