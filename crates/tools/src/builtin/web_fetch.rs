use std::time::Duration;

use async_trait::async_trait;
use onyx_egress::{Address, EgressError};
use onyx_types::{
    CallLabel, CallTargetKind, Origin, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec,
    Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, spec_of, text_argument};
use crate::web::Web;
use crate::web::readable::readable;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const ACCEPT: &str = "text/html, text/markdown;q=0.9, text/*;q=0.8, */*;q=0.5";

pub(super) struct WebFetch {
    spec: ToolSpec,
    web: Web,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    url: String,
}

impl WebFetch {
    pub(super) fn new(web: Web) -> Self {
        let description = "Read a web page as markdown. Addresses that nobody gave need approval.";
        let spec = spec_of::<Arguments>("web_fetch", "web", ToolEffect::Read, description);
        Self { spec: ToolSpec { timeout: Duration::from_secs(40), ..spec }, web }
    }
}

#[async_trait]
impl TypedTool for WebFetch {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let url = text_argument(arguments, "url");
        Verb::new("fetch", "fetching", "fetched").of(url).about(CallTargetKind::Address, url)
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let address = address(arguments)?;
        let is_free = cx.addresses.is_free(&address);
        let effect = if is_free { ToolEffect::Read } else { ToolEffect::Reach };
        let target = Target::Address(onyx_types::Address::new(address.to_string()));
        let preview = Preview::Text { text: format!("GET {address}") };
        let summary = format!("Fetch {address}");
        Ok(Plan { summary, ..acting(&self.spec, effect, target, preview) })
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let address = address(&arguments)?;
        // Calls of one answer run in parallel, so another may have used the last free fetch.
        if plan.strictest() == ToolEffect::Read && !cx.addresses.take(&address) {
            let why = "the free fetches of this run are used up; ask the person";
            return Err(ToolError::Failed(why.into()));
        }
        let fetched = match self.web.egress().get(&address, ACCEPT).await {
            Ok(fetched) => fetched,
            // The error may name an address to which the server redirected, which is text from
            // outside.
            Err(error) => {
                let message = not_fetched(&error).to_string();
                return Ok(ToolOutcome::error(message).from_origin(Origin::External));
            }
        };
        if !(200..300).contains(&fetched.status) {
            let message = format!("{} answers {}", fetched.address, fetched.status);
            return Ok(ToolOutcome::error(message).from_origin(Origin::External));
        }
        let (at, is_cut) = (fetched.address.clone(), fetched.is_cut);
        let page = tokio::task::spawn_blocking(move || readable(&fetched)).await;
        let page = page.map_err(|_| ToolError::Failed("the page could not be read".into()))??;
        let title = if page.title.is_empty() { at.to_string() } else { page.title };
        let cut = if is_cut { "\n[the page is longer; the rest was left out]" } else { "" };
        let output = format!("# {title}\n{at}\n\n{}{cut}", page.text.trim());
        cx.addresses.page_says(&output);
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::External))
    }
}

fn address(arguments: &Arguments) -> Result<Address, ToolError> {
    arguments.url.parse().map_err(|error| not_fetched(&error))
}

fn not_fetched(error: &EgressError) -> ToolError {
    if error.is_refusal() {
        return ToolError::Refused(error.to_string());
    }
    ToolError::Failed(error.to_string())
}
