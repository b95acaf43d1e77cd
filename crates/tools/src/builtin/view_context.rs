use std::fmt::Write as _;

use async_trait::async_trait;
use onyx_storage::Entity;
use onyx_types::{EntityKind, EntityRef, Origin, Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, tool};
use crate::files::entity_place;
use crate::schema::arguments;
use crate::{Asked, Authorised, Spaces, Tool, ToolCx, ToolError};

/// What the person looks at, and what is around it.
pub(super) struct ViewContext(ToolSpec, Spaces);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// Neighbours named of each kind.
const MOST_NEIGHBOURS: usize = 12;
/// Of the viewed text: `read` gives the whole.
const OPENING: usize = 1_200;

impl ViewContext {
    pub(super) fn new(spaces: Spaces) -> Self {
        let description = "What the person is looking at now, and what is around it.";
        Self(tool::<Arguments>("context", "knowledge", ToolEffect::Read, description), spaces)
    }
}

#[async_trait]
impl Tool for ViewContext {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        self.1.are_there(asked)
    }

    fn summary(&self, _: &Value) -> String {
        "Look at the current view".to_owned()
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments {} = arguments(&input)?;
        let name = match &cx.view {
            Some(view) => format!("view {}/{}", view.entity_type, view.entity_id),
            None => "view".to_owned(),
        };
        let target = Target { name, base: None, instruction: false };
        Ok(reading(&self.0, input, target, "Look at the current view".to_owned()))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let mut around = Around::default();
        match viewed(cx).await? {
            Viewed::Nothing => around.text.push_str("The person looks at nothing in particular.\n"),
            Viewed::Other(what) => {
                // Writing into a string cannot fail.
                let _ = writeln!(around.text, "The person looks at {what}.");
            }
            Viewed::Entity(at) => around.entity(cx, &at).await?,
        }
        around.spaces(cx).await?;
        Ok(ToolOutcome::ok(around.text, plan.summary).from_origin(around.origin))
    }
}

enum Viewed {
    Nothing,
    /// Not something of a space, or nothing that is there.
    Other(String),
    Entity(EntityRef),
}

async fn viewed(cx: &ToolCx) -> Result<Viewed, ToolError> {
    let Some(view) = &cx.view else { return Ok(Viewed::Nothing) };
    let Ok(kind) = view.entity_type.parse::<EntityKind>() else {
        return Ok(Viewed::Other(format!("the {} {:?}", view.entity_type, view.entity_id)));
    };
    match entity_place::entity(cx, kind, &view.entity_id, None).await {
        Ok(at) => Ok(Viewed::Entity(at)),
        Err(ToolError::NotFound(_) | ToolError::Arguments(_)) => {
            Ok(Viewed::Other(format!("a {kind} {:?} that is not there", view.entity_id)))
        }
        Err(error) => Err(error),
    }
}

struct Around {
    text: String,
    origin: Origin,
}

impl Default for Around {
    fn default() -> Self {
        Self { text: String::new(), origin: Origin::Person }
    }
}

impl Around {
    async fn entity(&mut self, cx: &ToolCx, at: &EntityRef) -> Result<(), ToolError> {
        let Some(seen) = entity_place::seen(cx, at).await? else { return Ok(()) };
        self.text.push_str(&entity_place::label(&seen));
        let entity = &seen.entity;
        let opening = &entity.body[..entity.body.floor_char_boundary(OPENING)];
        let more = if opening.len() < entity.body.len() { "\n[read gives the rest]" } else { "" };
        self.origin = self.origin.max(entity.origin);
        let _ = writeln!(self.text, "The person looks at {}\n\n{opening}{more}\n", line(entity));
        Ok(())
    }

    async fn spaces(&mut self, cx: &ToolCx) -> Result<(), ToolError> {
        let entities = entity_place::entities(cx)?;
        for space in entity_place::spaces(cx).await? {
            let _ = writeln!(self.text, "Space {} ({})", space.name, space.id);
            for kind in EntityKind::ALL {
                let all = entities.list(&space.id, kind).await?;
                for entity in all.iter().take(MOST_NEIGHBOURS) {
                    self.origin = self.origin.max(entity.origin);
                    let _ = writeln!(self.text, "- {}", line(entity));
                }
                if all.len() > MOST_NEIGHBOURS {
                    let _ = writeln!(
                        self.text,
                        "- and {} more {}",
                        all.len() - MOST_NEIGHBOURS,
                        kind.folder()
                    );
                }
            }
        }
        Ok(())
    }
}

/// One line: titles are somebody's text and may hold anything.
fn line(entity: &Entity) -> String {
    let title = entity.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = entity.status.as_ref().map_or_else(String::new, |status| format!(", {status}"));
    format!("{} {} {title:?}{status}", entity.at.kind, entity.at.id)
}
