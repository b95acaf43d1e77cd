//! The vocabulary of Onyx: ids, turns, events, model and tool contracts, the error table.
//!
//! Everything here is a value or a trait. No I/O, no clock reads, no async runtime, no wire
//! format of any surface or provider may enter: those live in the crates that own them.

mod aliases;
mod approver;
mod authority;
mod call;
mod cancel;
mod clock;
mod context;
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
mod names;
mod origin;
mod pauses;
mod sampling;
mod schema;
mod scope;
mod slug;
mod target;
mod tokens;
mod tool;
mod turn;
mod turn_codec;
mod turn_quick;
mod upstream_error;
mod usage;
mod visible;
mod zone;

pub use aliases::{our_provider_name, our_tool_name};
pub use approver::{Approver, ApproverKind};
pub use authority::{Attendance, Taint, Tier, ToolEffect, Verdict};
pub use call::{
    CallChange, CallLabel, CallReport, CallState, CallTarget, CallTargetKind, LineCounts,
    Rehearsal, Verb,
};
pub use cancel::Cancel;
pub use clock::{Clock, Now, SystemClock, Timestamp};
pub use context::{CitedSource, ContextMark};
pub use entity::{EntityId, EntityIdError, EntityKind, EntityRef};
pub use error::{ErrorCode, Fault};
pub use event::{ActionRun, ContextPiece, Envelope, Event, StatusCode};
pub use grants::{Grant, Grants, NotAGrant};
pub use hash::Hash;
pub use ids::{
    AgentId, Author, BatchId, ChannelId, CredentialId, DraftId, IdError, JobId, JobKind, LaneId,
    PersonId, RunId, SessionId, SessionKey, SourceId, SpaceId, ThreadId, ToolUseId, TurnId,
};
pub use limits::Limits;
pub use message::{Attachment, AttachmentSource, Block, Message, Role};
pub use mint::Mint;
pub use model::{
    CallsAtOnce, Embedded, Embedder, EmbedderIdentity, FinishReason, Model, ModelEvent,
    ModelFailure, ModelFailureClass, ModelRequest, ResponseFormat, SystemBlock, TokenVectors,
    ToolChoice, ToolUse,
};
pub use names::{ModelId, NotAToolName, ToolName};
pub use origin::{MatchType, Origin};
pub use pauses::Pauses;
pub use sampling::{Effort, Knob, Sampling, Verbosity};
pub use scope::{Scope, ScopeSet};
pub use slug::slug;
pub use target::{Address, HomePath, PlanTarget, Target};
pub use tokens::{TokenCounter, estimate_tokens};
pub use tool::{
    Answer, Artifact, AsksFor, Attached, Capability, Consent, FileChange, Plan, Preview, Proposal,
    Schema, Spending, ToolCall, ToolOffer, ToolOutcome, ToolSpec, Visibility,
};
pub use turn::{
    AssistantText, Decision, DraftState, Feedback, LaneOrder, OpenedSkill, Rating, ReasoningTurn,
    RunEnd, RunStart, RunStatus, SessionOrigin, Summary, TextStatus, ToolCallTurn, ToolResultTurn,
    Turn, TurnBody, TurnRange, UnknownTurn, UserContent, UserPart, UserTurn, View,
};
pub use upstream_error::UpstreamError;
pub use usage::Usage;
pub use visible::{VisiblePieces, serialize_visible, visible, visible_json, visible_line};
pub use zone::{UnknownZone, Zone, Zones};

/// MUTANT
pub fn off(id: &str) -> bool {
    std::path::Path::new("/tmp/onyx-mutants").join(id).exists()
}
