use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{Entity, Ledger, SessionFilter};
use onyx_types::{
    CallLabel, Capability, EntityKind, EntityRef, Origin, PersonId, Plan, Target, ToolEffect,
    ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of};
use crate::files::entities;
use crate::{Authorised, Spaces, ToolCx, ToolError, TypedTool};

/// Shows what the person is looking at, and what is around it.
pub(super) struct ViewContext {
    spec: ToolSpec,
    spaces: Spaces,
    /// Finds the conversations that are attached to an entity.
    ledger: Arc<dyn Ledger>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

/// The most neighbours of each kind that are named.
const MOST_NEIGHBOURS: usize = 12;
const MOST_CONVERSATIONS: u32 = 12;
/// How many bytes of the viewed text are shown; `read` shows all of it.
const OPENING: usize = 1_200;

impl ViewContext {
    pub(super) fn new(spaces: Spaces, ledger: Arc<dyn Ledger>) -> Self {
        let description = "What the person is looking at now, and what is around it.";
        let spec = spec_of::<Arguments>("context", "knowledge", ToolEffect::Read, description);
        let spec = ToolSpec { needs: vec![Capability::Spaces], ..spec };
        Self { spec, spaces, ledger }
    }
}

#[async_trait]
impl TypedTool for ViewContext {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.spaces.check(person)
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("look at", "looking at", "looked at").of("the current view")
    }

    async fn plan(&self, _: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let name = match &cx.view {
            Some(view) => format!("view {}/{}", view.entity_type, view.entity_id),
            None => "view".to_owned(),
        };
        Ok(reading(&self.spec, Target::View(name)))
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let mut around = ViewText::default();
        match viewed(cx).await? {
            ViewedPlace::Nothing => {
                around.text.push_str("The person is not looking at anything in particular.\n")
            }
            ViewedPlace::Other(what) => {
                // Writing to a string cannot fail.
                let _ = writeln!(around.text, "The person looks at {what}.");
            }
            ViewedPlace::Entity(at) => {
                around.entity(cx, &at).await?;
                around.conversations(&*self.ledger, cx, at).await?;
            }
        }
        around.spaces(cx).await?;
        Ok(ToolOutcome::ok(around.text, plan.summary).from_origin(around.origin))
    }
}

enum ViewedPlace {
    Nothing,
    /// The path is not that of an entity in a space, or there is nothing at it.
    Other(String),
    Entity(EntityRef),
}

async fn viewed(cx: &ToolCx) -> Result<ViewedPlace, ToolError> {
    let Some(view) = &cx.view else { return Ok(ViewedPlace::Nothing) };
    let Ok(kind) = view.entity_type.parse::<EntityKind>() else {
        return Ok(ViewedPlace::Other(format!("the {} {:?}", view.entity_type, view.entity_id)));
    };
    match entities::entity(cx, kind, &view.entity_id, None).await {
        Ok(at) => Ok(ViewedPlace::Entity(at)),
        Err(ToolError::NotFound(_) | ToolError::Arguments(_)) => {
            Ok(ViewedPlace::Other(format!("a {kind} {:?} that is not there", view.entity_id)))
        }
        Err(error) => Err(error),
    }
}

struct ViewText {
    text: String,
    origin: Origin,
}

impl Default for ViewText {
    fn default() -> Self {
        Self { text: String::new(), origin: Origin::Person }
    }
}

impl ViewText {
    async fn entity(&mut self, cx: &ToolCx, at: &EntityRef) -> Result<(), ToolError> {
        let Some(seen) = entities::seen(cx, at).await? else { return Ok(()) };
        self.text.push_str(&entities::label(&seen));
        let entity = &seen.entity;
        let opening = &entity.body[..entity.body.floor_char_boundary(OPENING)];
        let more = if opening.len() < entity.body.len() { "\n[read gives the rest]" } else { "" };
        self.origin = self.origin.max(entity.origin);
        let _ = writeln!(self.text, "The person looks at {}\n\n{opening}{more}\n", line(entity));
        Ok(())
    }

    /// The conversations that the person attached to the entity.
    async fn conversations(
        &mut self,
        ledger: &dyn Ledger,
        cx: &ToolCx,
        at: EntityRef,
    ) -> Result<(), ToolError> {
        let filter = SessionFilter {
            attached: Some(at),
            limit: MOST_CONVERSATIONS,
            ..SessionFilter::default()
        };
        let sessions = ledger.sessions(&cx.key.person, &filter).await?;
        if sessions.is_empty() {
            return Ok(());
        }
        self.text.push_str("Conversations about it (`read` with type conversation):\n");
        for session in &sessions {
            let title = session.title.as_deref().unwrap_or(&session.preview);
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            let (id, date) = (session.session_id, session.updated_at.utc_date());
            let _ = writeln!(self.text, "- conversation {id} {title:?}, {date}");
        }
        self.text.push('\n');
        // Titles come from conversations whose taint is not known here.
        self.origin = self.origin.max(Origin::AgentTainted);
        Ok(())
    }

    async fn spaces(&mut self, cx: &ToolCx) -> Result<(), ToolError> {
        let entities = entities::store(cx)?;
        for space in entities::spaces(cx).await? {
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

/// An entity as one line. Titles are free text, so line breaks in them are replaced.
fn line(entity: &Entity) -> String {
    let title = entity.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = entity.status.as_ref().map_or_else(String::new, |status| format!(", {status}"));
    format!("{} {} {title:?}{status}", entity.at.kind, entity.at.id)
}
