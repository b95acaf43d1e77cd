use async_trait::async_trait;
use onyx_types::{
    AgentId, CallLabel, HomePath, PersonId, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::artifacts::{Artifacts, found_in, page_at};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// Pages through an output that was too long, or searches in it.
pub(super) struct ReadArtifact {
    spec: ToolSpec,
    artifacts: Artifacts,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    artifact: String,
    /// First byte
    offset: Option<usize>,
    /// Show the places of these words instead
    find: Option<String>,
}

impl ReadArtifact {
    pub(super) fn new(artifacts: Artifacts) -> Self {
        let description = "Read or search the whole of an output that was kept as an artifact.";
        let spec =
            spec_of::<Arguments>("read_artifact", "artifacts", ToolEffect::Read, description);
        Self { spec, artifacts }
    }
}

#[async_trait]
impl TypedTool for ReadArtifact {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn has_something_for(&self, person: &PersonId, _: &AgentId) -> bool {
        self.artifacts.are_there_for(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        match text_argument(arguments, "find") {
            "" => Verb::new("read", "reading", "read").of("more of a long output"),
            words => {
                let verb = Verb::new("search", "searching", "searched");
                verb.of(format!("a long output for {words:?}"))
            }
        }
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        let path = HomePath::new(format!("cache/artifacts/{}", arguments.artifact));
        Ok(reading(&self.spec, Target::Folder(path)))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let artifact = self.artifacts.read(&cx.key.person, &arguments.artifact).await;
        let artifact = artifact.map_err(|_| {
            ToolError::NotFound(format!(
                "artifact {:?}; the key is in the output",
                arguments.artifact
            ))
        })?;
        let offset = arguments.offset.unwrap_or(0);
        let output = match &arguments.find {
            Some(words) if !words.trim().is_empty() => {
                found_in(&artifact.text, words.trim(), offset)
            }
            Some(_) | None => page_at(&artifact.text, offset),
        };
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(artifact.origin))
    }
}
