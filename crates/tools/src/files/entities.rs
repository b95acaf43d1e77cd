//! The entities that a conversation may use, as it sees them: on disk, or as its open drafts would
//! leave them.

use onyx_storage::{Area, Entities, Entity, Space, Spaces};
use onyx_types::{DraftId, EntityKind, EntityRef, Hash, HomePath, Scope, SpaceId};

use super::AgentFiles;
use crate::{ToolCx, ToolError};

/// An entity as the session sees it.
pub(crate) struct SeenEntity {
    pub(crate) entity: Entity,
    pub(crate) text: String,
    /// The hash of the file on disk; `None` if there is no file.
    pub(crate) base: Option<Hash>,
    pub(crate) draft: Option<DraftId>,
}

/// The spaces that a conversation may use. A conversation of a space sees that space only; a chat
/// sees all spaces of the person.
pub(crate) async fn spaces(cx: &ToolCx) -> Result<Vec<Space>, ToolError> {
    let all = Spaces::new(&*cx.files, &cx.key.person)?.list().await?;
    let is_own = cx.scopes.allows(&Scope::Person);
    Ok(all.into_iter().filter(|space| is_own || in_scope(cx, &space.id)).collect())
}

fn in_scope(cx: &ToolCx, space: &SpaceId) -> bool {
    cx.scopes.allows(&Scope::Space(space.clone()))
}

/// The space of this name or id; without a name the only space there is.
pub(crate) async fn space(cx: &ToolCx, named: Option<&str>) -> Result<SpaceId, ToolError> {
    let spaces = spaces(cx).await?;
    let ids = || spaces.iter().map(|space| space.id.as_str()).collect::<Vec<_>>().join(", ");
    match named.filter(|name| !name.is_empty()) {
        Some(name) => {
            let meant = |space: &&Space| space.id.as_str() == name || space.name == name;
            let found = spaces.iter().find(meant).map(|space| space.id.clone());
            found.ok_or_else(|| {
                ToolError::NotFound(format!("space {name:?} here; there are: {}", ids()))
            })
        }
        None => match spaces.as_slice() {
            [only] => Ok(only.id.clone()),
            [] => Err(ToolError::NotFound("space in this conversation's reach".to_owned())),
            [_, ..] => Err(ToolError::Arguments(format!("say which \"space\": {}", ids()))),
        },
    }
}

/// The entity that a call means: by the path from a search, or by kind, id and space.
pub(crate) async fn entity(
    cx: &ToolCx,
    kind: EntityKind,
    id: &str,
    space: Option<&str>,
) -> Result<EntityRef, ToolError> {
    if let Some(cited) = EntityRef::of_path(id) {
        self::space(cx, Some(cited.space.as_str())).await?;
        return Ok(cited);
    }
    let id: onyx_types::EntityId =
        id.parse().map_err(|error| ToolError::Arguments(format!("\"id\": {error}")))?;
    let named = space.filter(|name| !name.is_empty());
    let places = match named {
        Some(name) => vec![self::space(cx, Some(name)).await?],
        None => spaces(cx).await?.into_iter().map(|space| space.id).collect(),
    };
    let mut found = Vec::new();
    for space in places {
        let at = EntityRef { space, kind, id: id.clone() };
        if seen(cx, &at).await?.is_some() {
            found.push(at);
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(ToolError::NotFound(format!("{kind} {id} in this conversation's reach"))),
        [_, ..] => {
            let spaces: Vec<&str> = found.iter().map(|at| at.space.as_str()).collect();
            Err(ToolError::Arguments(format!("say which \"space\": {}", spaces.join(", "))))
        }
    }
}

pub(crate) async fn seen(cx: &ToolCx, at: &EntityRef) -> Result<Option<SeenEntity>, ToolError> {
    let (files, key) = AgentFiles::holding(cx, &name(cx, at))?;
    let Some(seen) = files.seen(&key).await? else { return Ok(None) };
    // A draft has no times of its own, so the present time stands in for it.
    let modified = cx.clock.wall();
    let entity = Entity::parse(at.clone(), &seen.text, modified, seen.origin);
    Ok(Some(SeenEntity { entity, base: seen.base, draft: seen.draft, text: seen.text }))
}

/// The name of the entity's file in plans and records.
pub(crate) fn name(cx: &ToolCx, at: &EntityRef) -> HomePath {
    HomePath::new(format!("{}/{}", Area::Person(cx.key.person.clone()).path(), at.path()))
}

pub(crate) fn store(cx: &ToolCx) -> Result<Entities, ToolError> {
    Ok(Entities::new(&*cx.files, &cx.key.person)?)
}

/// A note above the text, so that a model does not take a draft for a change that was made.
pub(crate) fn label(seen: &SeenEntity) -> String {
    seen.draft.map_or_else(String::new, |draft| {
        format!("[as draft {draft} would leave it; not on disk until a person approves it]\n")
    })
}
