//! What tools need from the agent crate to reach other agents, sessions and models.

use async_trait::async_trait;
use onyx_types::{AgentId, Fault, ModelId, Origin, PersonId, SessionId, Spending};

use crate::ToolCx;

/// The answer of another agent or model.
#[derive(Clone, Debug)]
pub struct DelegatedAnswer {
    pub text: Result<String, Fault>,
    /// The origin of the answer: tainted if the answerer had read content from outside.
    pub origin: Origin,
    /// The cost, even if there is no answer.
    pub spent: Option<Spending>,
}

/// Reaches the other agents, sessions and models that a run can ask.
#[async_trait]
pub trait Delegates: Send + Sync {
    /// All agents that can answer.
    fn agents(&self) -> Vec<AgentId>;

    /// Whether the person has conversations other than the present one.
    fn has_other_sessions(&self, person: &PersonId) -> bool;

    /// Asks an agent in a session of its own and waits for its answer.
    async fn ask(
        &self,
        agent: &AgentId,
        message: &str,
        cx: &ToolCx,
    ) -> Result<DelegatedAnswer, Fault>;

    /// Leaves a message in one of the person's sessions. It is not answered now.
    async fn post(&self, session: SessionId, text: &str, cx: &ToolCx) -> Result<(), Fault>;

    /// Gives a task to a model, without tools and without the conversation.
    async fn think(
        &self,
        model: &ModelId,
        task: &str,
        cx: &ToolCx,
    ) -> Result<DelegatedAnswer, Fault>;
}
