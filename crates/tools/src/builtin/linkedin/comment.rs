use async_trait::async_trait;
use onyx_egress::Method;
use onyx_types::{CallLabel, Capability, PersonId, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LinkedIn;
use super::service::{Profile, Request};
use super::sharing::{Sharing, checked, needing_account, plan};
use crate::builtin::{spec_of, text_argument};
use crate::text::one_line;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const LONGEST: usize = 1250;
/// The kinds of posts that can be commented on, as their addresses and URNs name them.
const KINDS: [&str; 3] = ["activity", "share", "ugcPost"];

pub(in crate::builtin) struct Comment {
    spec: ToolSpec,
    linkedin: LinkedIn,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::builtin) struct Arguments {
    /// The post: its address at linkedin.com, or urn:li:activity:…, urn:li:share:…, urn:li:ugcPost:…
    post: String,
    /// Plain text, at most 1250 characters
    text: String,
}

impl Comment {
    pub(in crate::builtin) fn new(linkedin: LinkedIn) -> Self {
        let description = "Comment on a post at LinkedIn as the person. It asks the person first.";
        let spec =
            spec_of::<Arguments>("linkedin_comment", "linkedin", ToolEffect::Reach, description);
        Self { spec: needing_account(spec), linkedin }
    }
}

#[async_trait]
impl TypedTool for Comment {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.linkedin.check_account(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let (plain, doing) = ("comment on LinkedIn", "commenting on LinkedIn");
        let verb = Verb::new(plain, doing, "commented on LinkedIn");
        verb.of(one_line(text_argument(arguments, "text")))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        checked(&arguments.text, LONGEST)?;
        let urn = post_urn(&arguments.post)?;
        let shown = format!("Comment on {urn}\n\n{}", arguments.text);
        plan(&self.linkedin, &self.spec, cx, &shown)
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let urn = post_urn(&arguments.post)?;
        let about = format!("on: {urn}");
        let sharing = Sharing { kind: "comment", about: &about, text: &arguments.text };
        let request = |profile: &Profile| {
            let message = json!({"text": arguments.text});
            let body = json!({"actor": profile.urn(), "object": urn, "message": message});
            let path = format!("rest/socialActions/{}/comments", urn.replace(':', "%3A"));
            Request { method: Method::POST, path: path.into(), body: Some(body) }
        };
        sharing.send(&self.linkedin, plan.into_inner(), cx, request).await
    }
}

/// The URN of a post, from any of the ways in which people name posts.
fn post_urn(post: &str) -> Result<String, ToolError> {
    for kind in KINDS {
        for mark in [format!("urn:li:{kind}:"), format!("-{kind}-")] {
            let Some((_, rest)) = post.split_once(&mark) else { continue };
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            if (1..=32).contains(&digits.len()) {
                return Ok(format!("urn:li:{kind}:{digits}"));
            }
        }
    }
    let why = "\"post\" names no post: give its address at linkedin.com, or urn:li:activity:…";
    Err(ToolError::Arguments(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::post_urn;

    #[test]
    fn a_post_is_known_by_its_address_or_its_name() {
        let known = |post: &str| post_urn(post).ok();
        for (post, urn) in [
            ("urn:li:share:42", "urn:li:share:42"),
            ("https://www.linkedin.com/feed/update/urn:li:activity:7/?x=1", "urn:li:activity:7"),
            ("https://www.linkedin.com/posts/ada_notes-on-it-ugcPost-99-AbC", "urn:li:ugcPost:99"),
        ] {
            assert_eq!(known(post).as_deref(), Some(urn), "{post}");
        }
        for post in ["", "https://example.org/", "urn:li:person:1", "urn:li:share:", "-share-x"] {
            assert_eq!(known(post), None, "{post}");
        }
    }
}
