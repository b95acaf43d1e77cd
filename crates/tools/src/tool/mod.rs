//! What a tool is, and what its calls are given to work with.
//!
//! Every room that does something with tools comes in here. Nothing here calls a tool, decides
//! about a call or touches a file.

mod context;
mod live_output;
mod pending;
mod standing;

use std::cell::OnceCell;

use async_trait::async_trait;
use onyx_types::{PersonId, Plan, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::ToolError;
use crate::gate::Authorised;

pub use context::{Decisions, ToolCx};
pub use live_output::LiveOutput;
pub use pending::Pending;
pub use standing::{DEEPEST, Standing};

/// For whom the tools are looked through, with what one of them found out for the others.
pub struct Asked<'a> {
    pub person: &'a PersonId,
    pub(crate) has_repository: OnceCell<bool>,
    pub(crate) has_spaces: OnceCell<bool>,
    pub(crate) has_docker: OnceCell<bool>,
    pub(crate) has_models: OnceCell<bool>,
}

impl<'a> Asked<'a> {
    pub fn of(person: &'a PersonId) -> Self {
        Self {
            person,
            has_repository: OnceCell::new(),
            has_spaces: OnceCell::new(),
            has_docker: OnceCell::new(),
            has_models: OnceCell::new(),
        }
    }
}

/// Something an agent can ask for. One file each; the list in `builtin` is all that knows them.
#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Can it work here, now, for this person? What cannot is not offered and does not run. Asked
    /// at each run and each call, so it must be cheap.
    fn is_ready(&self, _asked: &Asked<'_>) -> bool {
        true
    }

    /// What is missing where it cannot work, for a model that calls it all the same.
    fn lacks(&self) -> String {
        String::new()
    }

    /// One human line for a call, verb first (`Read notes.md`), from arguments that nobody has
    /// checked yet. No I/O.
    fn summary(&self, arguments: &Value) -> String;

    /// What the call would do, worked out without doing any of it. The arguments fit the schema.
    async fn plan(&self, arguments: Value, cx: &ToolCx) -> Result<Plan, ToolError>;

    /// Does exactly what the plan says, or nothing: what changed since the plan is a conflict.
    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError>;
}
