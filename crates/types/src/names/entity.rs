use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::SpaceId;

/// A kind of entity in a space.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    Page,
    Task,
    Ref,
    Project,
}

impl EntityKind {
    pub const ALL: [Self; 4] = [Self::Page, Self::Task, Self::Ref, Self::Project];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Task => "task",
            Self::Ref => "ref",
            Self::Project => "project",
        }
    }

    /// The name of the folder of a space for this kind, which is also the last part of its route.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Page => "pages",
            Self::Task => "tasks",
            Self::Ref => "refs",
            Self::Project => "projects",
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EntityKind {
    type Err = EntityIdError;

    /// Parses a kind, which may also be given by its folder's name.
    fn from_str(text: &str) -> Result<Self, EntityIdError> {
        let named = |kind: &Self| kind.as_str() == text || kind.folder() == text;
        Self::ALL.into_iter().find(named).ok_or(EntityIdError::Kind)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntityIdError {
    #[error("not a kind of entity: page, task, ref or project")]
    Kind,
    #[error(
        "not an entity's id: 1 to 120 bytes, without slashes and control characters, not hidden"
    )]
    Id,
}

/// The name of an entity's file without its extension. People create such files with any editor, so
/// it may be anything that is one plain file name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(Arc<str>);

impl EntityId {
    pub const LONGEST: usize = 120;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntityId {
    type Err = EntityIdError;

    fn from_str(text: &str) -> Result<Self, EntityIdError> {
        let fits = (1..=Self::LONGEST).contains(&text.len())
            && !text.starts_with('.')
            && text.trim() == text
            && !text.contains(['/', '\\'])
            && !text.chars().any(char::is_control);
        if fits { Ok(Self(text.into())) } else { Err(EntityIdError::Id) }
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityId({})", self.0)
    }
}

impl Serialize for EntityId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// One page, task, ref or project of a person.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct EntityRef {
    pub space: SpaceId,
    pub kind: EntityKind,
    #[schemars(with = "String", length(min = 1, max = 120))]
    pub id: EntityId,
}

impl EntityRef {
    /// The path of the entity's file in its person's folder.
    pub fn path(&self) -> String {
        format!("spaces/{}/{}/{}.md", self.space, self.kind.folder(), self.id)
    }

    /// The entity whose file has this path.
    pub fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix("spaces/")?.split('/');
        let (space, folder, file) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = EntityKind::ALL.into_iter().find(|kind| kind.folder() == folder)?;
        let id = file.strip_suffix(".md")?.parse().ok()?;
        parts.next().is_none().then_some(Self { space: space.parse().ok()?, kind, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_plain_file_name() {
        for name in ["groceries", "Einkauf für Mai", "购物", "a.b"] {
            assert_eq!(name.parse::<EntityId>().unwrap().as_str(), name);
        }
        let long = "x".repeat(121);
        for name in ["", ".", "..", ".hidden", "a/b", "a\\b", "a\nb", " a", "a ", &long] {
            assert_eq!(name.parse::<EntityId>(), Err(EntityIdError::Id), "{name:?}");
        }
    }

    #[test]
    fn a_path_and_its_entity_name_each_other() {
        let entity = EntityRef {
            space: "home".parse().unwrap(),
            kind: EntityKind::Task,
            id: "Fix the tap".parse().unwrap(),
        };
        assert_eq!(entity.path(), "spaces/home/tasks/Fix the tap.md");
        assert_eq!(EntityRef::of_path(&entity.path()), Some(entity));
        for path in [
            "spaces/home/tasks/a/b.md",
            "spaces/home/notes/a.md",
            "vault/a.md",
            "spaces/H/pages/a.md",
        ] {
            assert_eq!(EntityRef::of_path(path), None, "{path}");
        }
    }
}
