use async_trait::async_trait;
use onyx_types::{EntityKind, Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument, tool};
use crate::files::{conversation, entity_place};
use crate::schema::arguments;
use crate::text::page::page;
use crate::{Asked, Authorised, Spaces, Tool, ToolCx, ToolError};

/// A page, task, ref, project or conversation.
pub(super) struct ReadEntity(ToolSpec, Spaces);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
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
        Self(tool::<Arguments>("read", "knowledge", ToolEffect::Read, description), spaces)
    }
}

#[async_trait]
impl Tool for ReadEntity {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        self.1.are_there(asked)
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Read {} {}", text_argument(arguments, "type"), text_argument(arguments, "id"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let wanted: Arguments = arguments(&input)?;
        let name = match wanted.kind.entity() {
            Some(kind) => {
                let at =
                    entity_place::entity(cx, kind, &wanted.id, wanted.space.as_deref()).await?;
                entity_place::name(cx, &at)
            }
            None => conversation::name(cx, &wanted.id)?,
        };
        let target = Target { name, base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.0, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let wanted: Arguments = arguments(&plan.arguments)?;
        let (label, name, text, origin) = match wanted.kind.entity() {
            Some(kind) => {
                let at =
                    entity_place::entity(cx, kind, &wanted.id, wanted.space.as_deref()).await?;
                let Some(seen) = entity_place::seen(cx, &at).await? else {
                    return Err(ToolError::NotFound(format!("{kind} {}", at.id)));
                };
                (entity_place::label(&seen), at.path(), seen.text, seen.entity.origin)
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
