use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, EntityKind, PersonId, Plan, Target, ToolEffect, ToolOutcome, ToolSpec,
    Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::files::{conversation, entities};
use crate::text::page::page;
use crate::{Authorised, Spaces, ToolCx, ToolError, TypedTool};

/// Reads a page, task, ref, project or conversation.
pub(super) struct ReadEntity(ToolSpec, Spaces);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(rename = "type")]
    kind: Readable,
    /// Its id, or the path a search cites
    id: String,
    space: Option<String>,
    /// First line
    #[schemars(range(min = 1))]
    from: Option<u32>,
    /// How many lines
    #[schemars(range(min = 1))]
    lines: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Readable {
    Page,
    Task,
    Ref,
    Project,
    Conversation,
}

impl Readable {
    const fn entity(self) -> Option<EntityKind> {
        match self {
            Self::Page => Some(EntityKind::Page),
            Self::Task => Some(EntityKind::Task),
            Self::Ref => Some(EntityKind::Ref),
            Self::Project => Some(EntityKind::Project),
            Self::Conversation => None,
        }
    }
}

impl ReadEntity {
    pub(super) fn new(spaces: Spaces) -> Self {
        let description = "Read a page, task, ref or project of a space, or a conversation.";
        let spec = spec_of::<Arguments>("read", "knowledge", ToolEffect::Read, description);
        Self(ToolSpec { needs: vec![Capability::Spaces], ..spec }, spaces)
    }
}

#[async_trait]
impl TypedTool for ReadEntity {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.1.check(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let (kind, id) = (text_argument(arguments, "type"), text_argument(arguments, "id"));
        Verb::new("read", "reading", "read").of(format!("{kind} {id}"))
    }

    async fn plan(&self, wanted: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let name = match wanted.kind.entity() {
            Some(kind) => {
                let at = entities::entity(cx, kind, &wanted.id, wanted.space.as_deref()).await?;
                entities::name(cx, &at)
            }
            None => conversation::name(cx, &wanted.id)?,
        };
        Ok(reading(&self.0, Target::File(name)))
    }

    async fn invoke(
        &self,
        wanted: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (label, name, text, origin) = match wanted.kind.entity() {
            Some(kind) => {
                let at = entities::entity(cx, kind, &wanted.id, wanted.space.as_deref()).await?;
                let Some(seen) = entities::seen(cx, &at).await? else {
                    return Err(ToolError::NotFound(format!("{kind} {}", at.id)));
                };
                (entities::label(&seen), at.path(), seen.text, seen.entity.origin)
            }
            None => {
                let (text, origin) = conversation::read(cx, &wanted.id).await?;
                (String::new(), format!("conversation {}", wanted.id), text, origin)
            }
        };
        let output = label + &page(&name, &text, wanted.from, wanted.lines)?;
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(origin))
    }
}
