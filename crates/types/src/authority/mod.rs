//! Rights and origins: tiers, effects, grants, approvers, scopes, limits, and where content came
//! from.

mod approver;
mod grants;
mod limits;
mod origin;
mod scope;
mod tier;

pub use approver::{Approver, ApproverKind};
pub use grants::{Grant, Grants, NotAGrant};
pub use limits::Limits;
pub use origin::{MatchType, Origin};
pub use scope::{Scope, ScopeSet};
pub use tier::{Attendance, Taint, Tier, ToolEffect, Verdict};
