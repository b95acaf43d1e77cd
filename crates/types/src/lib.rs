//! The vocabulary of Onyx: ids, turns, events, model and tool contracts, the error table.
//!
//! This crate holds only values and traits. No I/O, no clock reads, no async runtime, no wire
//! format of any surface or provider may enter: those live in the crates that own them.

mod authority;
mod error;
mod event;
mod models;
mod names;
mod schema;
mod text;
mod time;
mod tools;
mod turns;
mod visible;

pub use authority::{
    Approver, ApproverKind, Attendance, Grant, Grants, Limits, MatchType, NotAGrant, Origin, Scope,
    ScopeSet, Taint, Tier, ToolEffect, Verdict,
};
pub use error::{ErrorClass, ErrorCode, Fault};
pub use event::{ActionRun, ContextPiece, Envelope, Event, StatusCode};
pub use models::{
    CallsAtOnce, Effort, Embedded, Embedder, EmbedderIdentity, FinishReason, Model, ModelEvent,
    ModelFailure, ModelFailureClass, ModelRequest, ResponseFormat, Sampling, SamplingSetting,
    SystemBlock, TokenCounter, TokenVectors, ToolChoice, ToolUse, UpstreamError, Usage, Verbosity,
    estimate_tokens,
};
pub use names::{
    Actor, AgentId, Author, BatchId, ChannelId, CredentialId, DraftId, EntityId, EntityIdError,
    EntityKind, EntityRef, Hash, IdError, IdGenerator, JobId, JobKind, LaneId, ModelId,
    NotAToolName, PersonId, RecordedTool, RunId, SessionId, SessionKey, SourceId, SpaceId,
    ThreadId, ToolName, ToolUseId, TurnId, our_provider_name, our_tool_name, slug,
};
pub use text::{one_line, percent_decoded, percent_encoded, percent_encoded_path, shortened_key};
pub use time::{
    Cancel, Clock, Now, Pauses, SharedPauses, SystemClock, Timestamp, UnknownZone, Zone, Zones,
};
pub use tools::{
    Address, Artifact, AsksFor, Attached, CallChange, CallLabel, CallReport, CallState, CallTarget,
    CallTargetKind, Capability, Consent, DecisionTiming, DiffLine, DiffLineKind, DocumentField,
    DocumentPreview, FileChange, HomePath, LineCounts, Plan, PlanTarget, Preview, Proposal,
    Rehearsal, Schema, Spending, Target, ToolCall, ToolOffer, ToolOutcome, ToolSpec, Verb,
    Visibility, diff_lines,
};
pub use turns::{
    AssistantText, Attachment, AttachmentSource, Block, CitedSource, ContextMark, Decision,
    DraftState, Feedback, LaneOrder, Message, OpenedSkill, Rating, ReasoningTurn, Role, RunEnd,
    RunStart, RunStatus, SessionOrigin, Summary, TextStatus, ToolCallTurn, ToolResultTurn, Turn,
    TurnBody, TurnRange, UnknownTurn, UserContent, UserPart, UserTurn, View,
};
pub use visible::{VisiblePieces, serialize_visible, visible, visible_json, visible_line};
