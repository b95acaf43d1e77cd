//! A server's tool in the toolbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_tools::{Authorised, ReadCall, Tool, ToolCx, ToolError};
use onyx_types::{
    CallLabel, Plan, PlanTarget, Preview, Taint, Target, ToolEffect, ToolName, ToolOutcome,
    ToolSpec, Verb,
};
use serde_json::Value;

use crate::pins::ToolPin;
use crate::result::outcome;
use crate::servers::Host;
use crate::{McpError, ServerSettings};

/// The longest description that a model sees. The owner has read the whole description.
const SHOWN_DESCRIPTION: usize = 1_024;

pub(crate) struct RemoteTool {
    spec: ToolSpec,
    pin: ToolPin,
    host: Arc<Host>,
}

impl RemoteTool {
    pub(crate) fn new(name: ToolName, pin: ToolPin, host: &Arc<Host>) -> Self {
        let settings = host.settings();
        let end = pin.description.floor_char_boundary(SHOWN_DESCRIPTION);
        let spec = ToolSpec {
            name,
            group: format!("mcp:{}", host.name()),
            description: pin.description[..end].to_owned(),
            input_schema: pin.input_schema.clone().into(),
            usual_effect: effect(settings, &pin.name),
            repeats: false,
            // The call has its own limit, and starting the server may take as long again.
            timeout: Duration::from_secs(settings.timeout * 2 + 30),
            needs: Vec::new(),
            agents: settings.agents.clone(),
        };
        Self { spec, pin, host: Arc::clone(host) }
    }
}

/// The effect that the owner assigned to a tool. The server's own statement is ignored.
fn effect(settings: &ServerSettings, tool: &str) -> ToolEffect {
    settings.effects.get(tool).copied().unwrap_or(ToolEffect::Reach)
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, _: &Value) -> CallLabel {
        let subject = format!("{} of {}", self.pin.name, self.host.name());
        Verb::new("use", "using", "used").of(subject)
    }

    fn read(&self, arguments: Value) -> Result<Box<dyn ReadCall + '_>, ToolError> {
        Ok(Box::new(RemoteCall { tool: self, arguments }))
    }
}

struct RemoteCall<'t> {
    tool: &'t RemoteTool,
    arguments: Value,
}

#[async_trait]
impl ReadCall for RemoteCall<'_> {
    async fn plan(&self, cx: &ToolCx) -> Result<Plan, ToolError> {
        let RemoteTool { spec, pin, host } = self.tool;
        let settings = host.settings();
        let effect = effect(settings, &pin.name);
        let summary = self.tool.summary(&self.arguments);
        let mut plan = Plan::new(spec.name.clone(), self.arguments.clone(), effect, &summary);
        // A server with a network could pass on anything it receives.
        if settings.has_network() && cx.taint == Taint::Tainted && effect != ToolEffect::Reach {
            plan.effects.push(ToolEffect::Reach);
        }
        let target = Target::Peer(spec.name.clone());
        plan.targets = vec![PlanTarget { base: Some(pin.hash), ..target.into() }];
        let place = match (&settings.url, settings.network.is_empty()) {
            (Some(url), _) => format!("at {url}"),
            (None, true) => "on this machine, without network".to_owned(),
            (None, false) => format!("on this machine, reaching {}", settings.network.join(", ")),
        };
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        let text = format!("{} of the MCP server {} ({place})\n{arguments}", pin.name, host.name());
        plan.preview = Preview::Text { text };
        Ok(plan)
    }

    async fn invoke(
        self: Box<Self>,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let RemoteTool { pin, host, .. } = self.tool;
        let call = host.call(pin, &self.arguments);
        let answered = tokio::select! {
            answered = call => answered,
            () = cx.cancel.cancelled() => Err(McpError::Cancelled),
        };
        answered.map(|answer| outcome(&answer, plan.summary)).map_err(|error| match error {
            McpError::Cancelled => ToolError::Cancelled,
            McpError::Timeout(seconds) => ToolError::Timeout { seconds },
            McpError::Quarantined(why) => ToolError::Refused(why),
            error => ToolError::Failed(format!("the MCP server {}: {error}", host.name())),
        })
    }
}
