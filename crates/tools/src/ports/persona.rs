//! What the tools of the persona editor need from the crates above: the config and the runs.

use async_trait::async_trait;
use onyx_types::{AgentId, Cancel, Fault, Origin, PersonId};

/// The built-in agent that edits personas. It alone has the tools of the group `persona`.
pub const PERSONA_EDITOR: &str = "persona-editor";

/// The group of the editor's tools.
pub const PERSONA_GROUP: &str = "persona";

/// What a persona answered to a test input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestAnswer {
    pub text: String,
    /// Whether the persona read anything from outside on the way.
    pub origin: Origin,
}

/// Where names are written and personas are tried.
#[async_trait]
pub trait PersonaPort: Send + Sync {
    fn name(&self, persona: &AgentId) -> Result<String, Fault>;

    async fn rename(&self, persona: &AgentId, name: &str) -> Result<(), Fault>;

    /// Lets the persona answer, without the right to change anything.
    async fn answer(
        &self,
        person: &PersonId,
        persona: &AgentId,
        content: &str,
        cancel: &Cancel,
    ) -> Result<TestAnswer, Fault>;
}
