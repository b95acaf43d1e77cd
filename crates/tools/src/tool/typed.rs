use async_trait::async_trait;
use onyx_types::{AgentId, CallLabel, Capability, PersonId, Plan, ToolOutcome, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ReadCall, Tool, ToolCx};
use crate::ToolError;
use crate::gate::Authorised;
use crate::schema::arguments;

/// A tool with a Rust type for its arguments. They are converted once, for the plan and for the
/// execution.
#[async_trait]
pub trait TypedTool: Send + Sync {
    type Arguments: DeserializeOwned + Send + Sync;

    fn spec(&self) -> &ToolSpec;

    /// Does what [`Tool::check_capability`] does.
    fn check_capability(&self, _capability: Capability, _person: &PersonId) -> Result<(), String> {
        Ok(())
    }

    /// Does what [`Tool::has_something_for`] does.
    fn has_something_for(&self, _person: &PersonId, _agent: &AgentId) -> bool {
        true
    }

    /// Does what [`Tool::label`] does.
    fn label(&self, arguments: &Value) -> CallLabel;

    /// Does what [`ReadCall::plan`] does. A plan without a summary gets that of the call, and one
    /// without arguments those of the call.
    async fn plan(&self, arguments: &Self::Arguments, cx: &ToolCx) -> Result<Plan, ToolError>;

    /// Does what [`ReadCall::invoke`] does.
    async fn invoke(
        &self,
        arguments: Self::Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError>;
}

impl<T: TypedTool> Tool for T {
    fn spec(&self) -> &ToolSpec {
        TypedTool::spec(self)
    }

    fn check_capability(&self, capability: Capability, person: &PersonId) -> Result<(), String> {
        TypedTool::check_capability(self, capability, person)
    }

    fn has_something_for(&self, person: &PersonId, agent: &AgentId) -> bool {
        TypedTool::has_something_for(self, person, agent)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        TypedTool::label(self, arguments)
    }

    fn read(&self, input: Value) -> Result<Box<dyn ReadCall + '_>, ToolError> {
        Ok(Box::new(TypedCall { tool: self, arguments: arguments(&input)?, input }))
    }
}

struct TypedCall<'t, T: TypedTool> {
    tool: &'t T,
    arguments: T::Arguments,
    /// The arguments before they were converted.
    input: Value,
}

#[async_trait]
impl<T: TypedTool> ReadCall for TypedCall<'_, T> {
    async fn plan(&self, cx: &ToolCx) -> Result<Plan, ToolError> {
        let mut plan = self.tool.plan(&self.arguments, cx).await?;
        if plan.arguments.is_null() {
            plan.arguments = self.input.clone();
        }
        if plan.summary.is_empty() {
            plan.summary = TypedTool::label(self.tool, &self.input).summary();
        }
        Ok(plan)
    }

    async fn invoke(
        self: Box<Self>,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let Self { tool, arguments, .. } = *self;
        tool.invoke(arguments, plan, cx).await
    }
}
