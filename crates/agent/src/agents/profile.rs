use std::sync::Arc;

use onyx_tools::Policy;
use onyx_types::AgentId;

use super::models::ModelChoice;

/// One agent, every value checked and filled in. All runs of the agent share it.
#[derive(Clone, Debug)]
pub struct AgentProfile {
    pub id: AgentId,
    pub name: String,
    pub model: ModelChoice,
    pub policy: Arc<Policy>,
    pub temperature: Option<f32>,
    pub max_output_tokens: Option<u32>,
    /// A folder outside the home whose persona files are read instead of the home's.
    pub workspace: Option<String>,
    /// Whether the agent uses only models of this machine.
    pub only_local: bool,
    /// Other agents whose memory it may search.
    pub memories: Arc<[AgentId]>,
    /// Whether context is searched for each message of its chats.
    pub retrieves_in_chats: bool,
}
