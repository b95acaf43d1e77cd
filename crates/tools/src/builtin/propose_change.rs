use std::collections::BTreeMap;

use async_trait::async_trait;
use onyx_storage::EntityChange;
use onyx_types::{
    CallLabel, Capability, EntityKind, EntityRef, FileChange, Hash, Origin, PersonId, Plan,
    PlanTarget, Target, Timestamp, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{spec_of, text_argument};
use crate::files::apply;
use crate::files::entities;
use crate::text::diff::Change;
use crate::{Authorised, Spaces, ToolCx, ToolError, TypedTool};

/// Proposes a change of a space for the person to decide on. It never changes anything itself.
pub(super) struct ProposeChange(ToolSpec, Spaces);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    op: Operation,
    #[serde(rename = "type")]
    kind: EntityKind,
    /// For update and delete
    id: Option<String>,
    space: Option<String>,
    title: Option<String>,
    /// Markdown; replaces the whole body
    body: Option<String>,
    status: Option<String>,
    tags: Option<Vec<String>>,
    /// Other keys, e.g. due, url, project; an empty value removes one
    #[serde(default)]
    fields: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Create,
    Update,
    Delete,
}

/// The change of one file that a call leads to.
struct PlannedChange {
    at: EntityRef,
    base: Option<Hash>,
    before: String,
    after: Option<String>,
    origin: Origin,
}

impl ProposeChange {
    pub(super) fn new(spaces: Spaces) -> Self {
        let description = "Draft a change of a page, task, ref or project. A person decides; nothing changes now.";
        let spec =
            spec_of::<Arguments>("propose_change", "knowledge", ToolEffect::Write, description);
        Self(ToolSpec { needs: vec![Capability::Spaces], ..spec }, spaces)
    }
}

#[async_trait]
impl TypedTool for ProposeChange {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.1.check(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let named = match text_argument(arguments, "title") {
            "" => text_argument(arguments, "id"),
            title => title,
        };
        let (op, kind) = (text_argument(arguments, "op"), text_argument(arguments, "type"));
        let verb = Verb::new("propose to", "proposing to", "proposed to");
        verb.of(format!("{op} {kind} {named}"))
    }

    async fn plan(&self, wanted: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let now = cx.clock.wall();
        let op = wanted.op;
        let worked = match op {
            Operation::Create => create(wanted, now, cx).await?,
            Operation::Update => update(wanted, now, cx).await?,
            Operation::Delete => delete(wanted, cx).await?,
        };
        let after = worked.after.as_deref().unwrap_or_default();
        let change = Change::between(&worked.at.path(), &worked.before, after);
        let (verb, effect) = match op {
            Operation::Create => ("Create", ToolEffect::Write),
            Operation::Update => ("Change", ToolEffect::Write),
            Operation::Delete => ("Delete", ToolEffect::Destroy),
        };
        let summary = format!("{verb} {} {} {}", worked.at.kind, worked.at.id, change.counts());
        let name = entities::name(cx, &worked.at);
        let target = Target::File(name.clone());
        let target = PlanTarget { target, base: worked.base, instruction: false };
        let plan = Plan {
            targets: vec![target],
            preview: change.preview,
            changes: vec![FileChange { target: name, after: worked.after, origin: worked.origin }],
            ..Plan::new(self.0.name.clone(), Value::Null, effect, summary)
        };
        Ok(plan.draft_only())
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        apply(&plan, cx).await?;
        Ok(ToolOutcome::ok(format!("done: {}", plan.summary), plan.summary))
    }
}

async fn create(
    wanted: &Arguments,
    now: Timestamp,
    cx: &ToolCx,
) -> Result<PlannedChange, ToolError> {
    if wanted.id.is_some() {
        return Err(ToolError::Arguments("a new one gets its \"id\" from its title".to_owned()));
    }
    let (kind, space) = (wanted.kind, wanted.space.clone());
    let space = entities::space(cx, space.as_deref()).await?;
    let change = wanted.change();
    let drafted = |at: &EntityRef| cx.pending.file(&entities::name(cx, at)).is_some();
    let at = entities::store(cx)?.free_place(&space, kind, &change, drafted).await?;
    let origin = match cx.taint {
        onyx_types::Taint::Clean => Origin::Agent,
        onyx_types::Taint::Tainted => Origin::AgentTainted,
    };
    let after = Some(change.first_text(&at, origin, now)?);
    Ok(PlannedChange { at, base: None, before: String::new(), after, origin })
}

async fn update(
    wanted: &Arguments,
    now: Timestamp,
    cx: &ToolCx,
) -> Result<PlannedChange, ToolError> {
    let mut worked = delete(wanted, cx).await?;
    let change = wanted.change();
    if change == EntityChange::default() {
        return Err(ToolError::Arguments(
            "say what to change: title, body, status, tags, fields".to_owned(),
        ));
    }
    worked.after = Some(change.applied_to(&worked.before, now)?);
    Ok(worked)
}

async fn delete(wanted: &Arguments, cx: &ToolCx) -> Result<PlannedChange, ToolError> {
    let Some(id) = wanted.id.as_deref().filter(|id| !id.is_empty()) else {
        return Err(ToolError::Arguments(
            "\"id\" is missing: it says which one to delete".to_owned(),
        ));
    };
    let at = entities::entity(cx, wanted.kind, id, wanted.space.as_deref()).await?;
    let Some(seen) = entities::seen(cx, &at).await? else {
        return Err(ToolError::NotFound(format!("{} {}", at.kind, at.id)));
    };
    let origin = seen.entity.origin;
    Ok(PlannedChange { at, base: seen.base, before: seen.text, after: None, origin })
}

impl Arguments {
    fn change(&self) -> EntityChange {
        let Self { title, status, tags, fields, body, .. } = self.clone();
        EntityChange { title, status, tags, fields, body }
    }
}
