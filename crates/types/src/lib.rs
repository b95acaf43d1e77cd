//! The vocabulary of Onyx: ids, turns, events, model and tool contracts, the error table.
//!
//! Everything here is a value or a trait. No I/O, no clock reads, no async runtime, no wire
//! format of any surface or provider may enter: those live in the crates that own them.

mod approver;
mod authority;
mod cancel;
mod clock;
mod entity;
mod error;
mod event;
mod grants;
mod hash;
mod ids;
mod limits;
mod message;
mod mint;
mod model;
mod origin;
mod pauses;
mod schema;
mod scope;
mod slug;
mod tokens;
mod tool;
mod turn;
mod turn_codec;
mod turn_quick;
mod usage;
mod zone;

pub use approver::Approver;
pub use authority::{Attendance, Taint, Tier, ToolEffect, Verdict};
pub use cancel::Cancel;
pub use clock::{Clock, Now, SystemClock, Timestamp};
pub use entity::{EntityId, EntityIdError, EntityKind, EntityRef};
pub use error::{ErrorCode, Fault};
pub use event::{ContextPiece, Envelope, Event, StatusCode};
pub use grants::{Grant, Grants, NotAGrant};
pub use hash::Hash;
pub use ids::{
    AgentId, Author, BatchId, ChannelId, CredentialId, DraftId, IdError, JobId, JobKind, LaneId,
    PersonId, RunId, SessionId, SessionKey, SourceId, SpaceId, ThreadId, ToolUseId, TurnId,
};
pub use limits::Limits;
pub use message::{Block, Message, Role};
pub use mint::Mint;
pub use model::{
    CallsAtOnce, Embedder, EmbedderIdentity, FinishReason, Model, ModelEvent, ModelFailure,
    ModelFailureClass, ModelRequest, ResponseFormat, SystemBlock, ToolChoice, ToolUse,
};
pub use origin::{MatchType, Origin};
pub use pauses::Pauses;
pub use scope::{Scope, ScopeSet};
pub use slug::slug;
pub use tokens::{TokenCounter, estimate_tokens};
pub use tool::{
    Answer, Artifact, Consent, FileChange, Plan, Preview, Proposal, Schema, Spending, Target,
    ToolCall, ToolOffer, ToolOutcome, ToolSpec, Visibility,
};
pub use turn::{
    AssistantText, Decision, DraftState, LaneOrder, ReasoningTurn, RunEnd, RunStart, RunStatus,
    SessionOrigin, Summary, TextStatus, ToolCallTurn, ToolResultTurn, Turn, TurnBody, TurnRange,
    UnknownTurn, UserContent, UserPart, UserTurn, View,
};
pub use usage::Usage;
pub use zone::{UnknownZone, Zone, Zones};
