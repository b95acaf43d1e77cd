//! What the tools of the persona editor need from the crates above: the config and the runs.

use async_trait::async_trait;
use onyx_types::{AgentId, Cancel, Fault, Origin, PersonId};

/// The built-in agent that edits personas. It alone has the tools of the group `persona`.
pub const PERSONA_EDITOR: &str = "persona-editor";

/// The group of the editor's tools.
pub const PERSONA_GROUP: &str = "persona";

/// A persona's answer to a test input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestAnswer {
    pub text: String,
    /// The origin of the answer: tainted if the persona had read content from outside.
    pub origin: Origin,
}

/// Renames personas and lets them answer test inputs.
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
