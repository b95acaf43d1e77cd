//! A conversation as it is stored on disk, and its parts. Lines of a log are read and written here;
//! files are not.

mod codec;
mod context;
mod message;
mod quick;
mod turn;

pub use context::{CitedSource, ContextMark};
pub use message::{Attachment, AttachmentSource, Block, Message, Role};
pub use turn::{
    AssistantText, Decision, DraftState, Feedback, LaneOrder, OpenedSkill, Rating, ReasoningTurn,
    RunEnd, RunStart, RunStatus, SessionOrigin, Summary, TextStatus, ToolCallTurn, ToolResultTurn,
    Turn, TurnBody, TurnRange, UnknownTurn, UserContent, UserPart, UserTurn, View,
};
