//! What tools need from the agent crate: other agents, other sessions, other models.

use async_trait::async_trait;
use onyx_types::{AgentId, Fault, ModelId, Origin, PersonId, SessionId, Spending};

use crate::ToolCx;

/// What came back from another agent or model.
#[derive(Clone, Debug)]
pub struct Answered {
    pub text: Result<String, Fault>,
    /// Whether the answerer had read anything from outside.
    pub origin: Origin,
    /// What was spent, also where there is no answer.
    pub spent: Option<Spending>,
}

/// The other agents, sessions and models that a run can ask.
#[async_trait]
pub trait Delegates: Send + Sync {
    /// Every agent that answers here.
    fn agents(&self) -> Vec<AgentId>;

    /// Does the person have conversations beside the one at hand?
    fn has_other_sessions(&self, person: &PersonId) -> bool;

    /// Asks an agent in a session of its own and waits for its answer.
    async fn ask(&self, agent: &AgentId, message: &str, cx: &ToolCx) -> Result<Answered, Fault>;

    /// Leaves a message in one of the person's sessions; it is not answered now.
    async fn post(&self, session: SessionId, text: &str, cx: &ToolCx) -> Result<(), Fault>;

    /// Lets a model do a task, without tools and without the conversation.
    async fn think(&self, model: &ModelId, task: &str, cx: &ToolCx) -> Result<Answered, Fault>;
}
