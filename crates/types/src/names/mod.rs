//! Ids and names: how they are created, parsed and written. Nothing here knows what they refer to.

mod actor;
mod aliases;
mod entity;
mod hash;
mod id_generator;
mod ids;
mod model_and_tool;
mod recorded_tool;
mod slug;

pub use actor::Actor;
pub use aliases::{our_provider_name, our_tool_name};
pub use entity::{EntityId, EntityIdError, EntityKind, EntityRef};
pub use hash::Hash;
pub use id_generator::IdGenerator;
pub use ids::{
    AgentId, Author, BatchId, ChannelId, CredentialId, DraftId, IdError, JobId, JobKind, LaneId,
    PersonId, RunId, SessionId, SessionKey, SourceId, SpaceId, ThreadId, ToolUseId, TurnId,
};
pub use model_and_tool::{ModelId, NotAToolName, ToolName};
pub use recorded_tool::RecordedTool;
pub use slug::slug;
