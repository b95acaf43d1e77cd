use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    AgentId, CallLabel, CallTargetKind, Capability, Fault, PersonId, Plan, Target, ToolEffect,
    ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::{Authorised, DEEPEST, DelegatedAnswer, Delegates, ToolCx, ToolError, TypedTool};

/// The time limit of the tool. It is long enough that the limits of the runs end an answer first.
pub(super) const PATIENCE: Duration = Duration::from_secs(60 * 60);

pub(super) struct AskAgent {
    spec: ToolSpec,
    delegates: Arc<dyn Delegates>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
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
            needs: vec![Capability::OtherAgents],
            // Calls run one after another, so that the second cannot spend the money that the first
            // has used.
            ..spec_of::<Arguments>("ask_agent", "agents", ToolEffect::Write, description)
        };
        Self { spec, delegates }
    }

    fn agent(&self, agent: &str, cx: &ToolCx) -> Result<AgentId, ToolError> {
        let known = self.delegates.agents();
        match known.iter().find(|id| id.as_str() == agent && **id != cx.agent) {
            Some(id) => Ok(id.clone()),
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
impl TypedTool for AskAgent {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, _: &PersonId) -> Result<(), String> {
        if self.delegates.agents().len() > 1 { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let agent = text_argument(arguments, "agent");
        let [plain, doing, did] = ["ask", "asking", "asked"].map(|verb| format!("{verb} {agent}:"));
        let label = Verb::new(&plain, &doing, &did).of(text_argument(arguments, "message"));
        label.about(CallTargetKind::Agent, agent)
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let agent = self.agent(&arguments.agent, cx)?;
        if cx.standing.is_none_or(|standing| standing.depth >= DEEPEST) {
            let message = format!("agents ask each other at most {DEEPEST} deep; answer yourself");
            return Err(ToolError::Refused(message));
        }
        Ok(reading(&self.spec, Target::Agent(agent)))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let agent = self.agent(&arguments.agent, cx)?;
        let answered = self.delegates.ask(&agent, &arguments.message, cx).await;
        Ok(outcome_of(answered.map_err(|fault| failed(&fault))?, plan.summary))
    }
}

/// The outcome of a call that asked another agent or model.
pub(super) fn outcome_of(answered: DelegatedAnswer, summary: String) -> ToolOutcome {
    let DelegatedAnswer { text, origin, spent } = answered;
    let outcome = match text {
        Ok(text) => ToolOutcome::ok(text, summary),
        Err(fault) => ToolOutcome::error(failed(&fault).to_string()),
    };
    ToolOutcome { spent: spent.map(Box::new), ..outcome.from_origin(origin) }
}

pub(super) fn failed(fault: &Fault) -> ToolError {
    ToolError::Heard(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
}
