use std::time::Duration;

use async_trait::async_trait;
use onyx_egress::Address;
use onyx_types::{
    CallLabel, Capability, Origin, PersonId, Plan, Preview, Target, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Menos;
use super::service::{IngestedText, Text};
use crate::builtin::{acting, spec_of, text_argument};
use crate::text::one_line;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// The most bytes of a text: as much as a person can check before it is sent.
const MOST_TEXT: usize = 256 * 1024;

pub(in crate::builtin) struct Ingest {
    spec: ToolSpec,
    menos: Menos,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::builtin) struct Arguments {
    /// A web page or video that menos fetches
    url: Option<String>,
    /// A text to keep instead, as markdown
    text: Option<String>,
    /// Of the text
    title: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// What is sent to menos: an address or a text.
enum Content {
    Address(Address),
    Text { title: String, text: String },
}

impl Content {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let wrong = |why: &str| Err(ToolError::Arguments(why.to_owned()));
        match (&arguments.url, &arguments.text) {
            (Some(url), None) => {
                let address = url.parse::<Address>();
                address.map(Self::Address).map_err(|error| ToolError::Arguments(error.to_string()))
            }
            (None, Some(text)) => {
                let title = arguments.title.as_deref().map(str::trim).unwrap_or_default();
                if title.is_empty() {
                    return wrong("\"title\" is missing: a text in menos has one");
                }
                if text.trim().is_empty() {
                    return wrong("\"text\" is empty");
                }
                if text.len() > MOST_TEXT {
                    return wrong("\"text\" is longer than 256 KiB; keep it in parts");
                }
                Ok(Self::Text { title: title.to_owned(), text: text.clone() })
            }
            (None, None) | (Some(_), Some(_)) => wrong("give either \"url\" or \"text\""),
        }
    }
}

impl Ingest {
    pub(in crate::builtin) fn new(menos: Menos) -> Self {
        let description =
            "Put a web page, a video or a text into the person's content vault menos.";
        let spec = spec_of::<Arguments>("menos_ingest", "menos", ToolEffect::Reach, description);
        let (timeout, needs) = (Duration::from_secs(75), vec![Capability::Menos]);
        Self { spec: ToolSpec { timeout, needs, ..spec }, menos }
    }
}

#[async_trait]
impl TypedTool for Ingest {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.menos.check(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let what = match arguments.get("url") {
            Some(_) => text_argument(arguments, "url"),
            None => text_argument(arguments, "title"),
        };
        Verb::new("put into menos", "putting into menos", "put into menos").of(what)
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        let content = Content::of(arguments)?;
        let base = self.menos.base()?;
        let tags = match arguments.tags.as_slice() {
            [] => String::new(),
            tags => format!("\nTags: {}", tags.join(", ")),
        };
        let text = match &content {
            Content::Address(address) => {
                format!("Send to {base}\nmenos fetches {address}{tags}")
            }
            Content::Text { title, text } => {
                format!("Send to {base}\nTitle: {title}{tags}\n\n{text}")
            }
        };
        let target = Target::Address(onyx_types::Address::new(base.to_string()));
        Ok(acting(&self.spec, ToolEffect::Reach, target, Preview::Text { text }))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let service = self.menos.service(cx.clock.wall())?;
        let ingested = match Content::of(&arguments)? {
            Content::Address(address) => service.ingest_address(&address, &arguments.tags).await,
            Content::Text { title, text } => {
                let text = Text { title: &title, text: &text, tags: &arguments.tags };
                service.ingest_text(&text).await
            }
        };
        let outcome = match ingested {
            Ok(ingested) => ToolOutcome::ok(kept_text(&ingested), plan.summary),
            // The error may repeat text of the server; the outcome counts as from outside below.
            Err(error) => ToolOutcome::error(error.to_string()),
        };
        Ok(outcome.from_origin(Origin::External))
    }
}

fn kept_text(ingested: &IngestedText) -> String {
    let title = ingested.title.as_deref().map(one_line).unwrap_or_default();
    let named = if title.is_empty() { String::new() } else { format!(" as {title:?}") };
    let later = if ingested.job_id.is_some() { "; it is still being processed" } else { "" };
    format!("menos stored it{named}, id {}{later}", one_line(&ingested.id))
}
