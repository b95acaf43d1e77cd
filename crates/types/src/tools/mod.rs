//! The contract of a tool: its description, its plan, its targets, its outcome, and the texts of a
//! call for people.

mod call;
mod diff;
mod target;
mod tool;

pub use call::{
    CallChange, CallLabel, CallReport, CallState, CallTarget, CallTargetKind, LineCounts,
    Rehearsal, Verb,
};
pub use diff::{DiffLine, DiffLineKind, DocumentField, DocumentPreview, diff_lines};
pub use target::{Address, HomePath, PlanTarget, Target};
pub use tool::{
    Artifact, AsksFor, Attached, Capability, Consent, DecisionTiming, FileChange, Plan, Preview,
    Proposal, Schema, Spending, ToolCall, ToolOffer, ToolOutcome, ToolSpec, Visibility,
};
