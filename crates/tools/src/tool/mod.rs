//! The trait of tools, and the context of their calls.
//!
//! Every room that works with tools uses these types. Nothing here calls a tool, decides about a
//! call or touches a file.

mod context;
mod live_output;
mod pending;
mod standing;
mod typed;

use async_trait::async_trait;
use onyx_types::{AgentId, CallLabel, Capability, PersonId, Plan, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::ToolError;
use crate::gate::Authorised;

pub use context::{Decisions, OfferState, Registration, ToolCx};
pub use live_output::LiveOutput;
pub use pending::Pending;
pub use standing::{DEEPEST, RunPosition};
pub use typed::TypedTool;

/// Something that an agent can call, whoever provides it. Our own tools are [`TypedTool`]s, one
/// file each; only the list in `builtin` knows them all.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Checks whether a capability that the spec needs is available to this person now. An error
    /// says what is missing, for a model that calls the tool nevertheless. It is called at each run
    /// and each call, so it must be cheap.
    fn check_capability(&self, _capability: Capability, _person: &PersonId) -> Result<(), String> {
        Ok(())
    }

    /// Whether the tool has anything to work on for this agent and person now. If not, it is not
    /// offered. It is called at each run and each call, so it must be cheap.
    fn has_something_for(&self, _person: &PersonId, _agent: &AgentId) -> bool {
        true
    }

    /// The description of a call for people. The arguments were not checked yet. No I/O is allowed.
    fn label(&self, arguments: &Value) -> CallLabel;

    /// One line about a call for people, beginning with a verb (`Read notes.md`).
    fn summary(&self, arguments: &Value) -> String {
        self.label(arguments).summary()
    }

    /// Converts the arguments of a call, once for its plan and for its execution. They fit the
    /// schema or come from a plan that this tool made.
    fn read(&self, arguments: Value) -> Result<Box<dyn ReadCall + '_>, ToolError>;
}

/// A call with converted arguments.
#[async_trait]
pub trait ReadCall: Send + Sync {
    /// Works out what the call would do, without doing any of it.
    async fn plan(&self, cx: &ToolCx) -> Result<Plan, ToolError>;

    /// Does exactly what the plan says, or nothing. A change since the plan is a conflict.
    async fn invoke(
        self: Box<Self>,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError>;
}
