use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{AgentId, Fault, Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument, tool};
use crate::schema::arguments;
use crate::{Answered, Asked, Authorised, DEEPEST, Delegates, Tool, ToolCx, ToolError};

/// The limits of the runs end an answer before this does.
pub(super) const PATIENCE: Duration = Duration::from_secs(60 * 60);

pub(super) struct AskAgent {
    spec: ToolSpec,
    delegates: Arc<dyn Delegates>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its id; a wrong one shows all
    agent: String,
    /// All it needs to know
    #[schemars(length(min = 1))]
    message: String,
}

impl AskAgent {
    pub(super) fn new(delegates: Arc<dyn Delegates>) -> Self {
        let description = "Ask another agent and wait for its answer.";
        let spec = ToolSpec {
            timeout: PATIENCE,
            // One after another: what the first has cost the second cannot spend.
            ..tool::<Arguments>("ask_agent", "agents", ToolEffect::Write, description)
        };
        Self { spec, delegates }
    }

    fn agent(&self, input: &Value, cx: &ToolCx) -> Result<(AgentId, String), ToolError> {
        let Arguments { agent, message } = arguments(input)?;
        let known = self.delegates.agents();
        match known.iter().find(|id| id.as_str() == agent && **id != cx.agent) {
            Some(id) => Ok((id.clone(), message)),
            None => {
                let others: Vec<&str> =
                    known.iter().filter(|id| **id != cx.agent).map(AgentId::as_str).collect();
                let message = format!("agent: there are {}", others.join(", "));
                Err(ToolError::Arguments(message))
            }
        }
    }
}

#[async_trait]
impl Tool for AskAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, _: &Asked<'_>) -> bool {
        self.delegates.agents().len() > 1
    }

    fn summary(&self, arguments: &Value) -> String {
        let (agent, message) =
            (text_argument(arguments, "agent"), text_argument(arguments, "message"));
        format!("Ask {agent}: {message}")
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let (agent, _) = self.agent(&input, cx)?;
        if cx.standing.is_none_or(|standing| standing.depth >= DEEPEST) {
            let message = format!("agents ask each other at most {DEEPEST} deep; answer yourself");
            return Err(ToolError::Refused(message));
        }
        let target = Target { name: format!("agent {agent}"), base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.spec, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (agent, message) = self.agent(&plan.arguments, cx)?;
        let answered = self.delegates.ask(&agent, &message, cx).await;
        Ok(told(answered.map_err(|fault| failed(&fault))?, plan.summary))
    }
}

/// What another agent or model brought, as an outcome.
pub(super) fn told(answered: Answered, summary: String) -> ToolOutcome {
    let Answered { text, origin, spent } = answered;
    let outcome = match text {
        Ok(text) => ToolOutcome::ok(text, summary),
        Err(fault) => ToolOutcome::error(failed(&fault).to_string()),
    };
    ToolOutcome { spent: spent.map(Box::new), ..outcome.from_origin(origin) }
}

pub(super) fn failed(fault: &Fault) -> ToolError {
    ToolError::Heard(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
}
