use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{AgentId, PersonId, Timestamp};

use crate::{History, Object, ObjectKey, ObjectMeta, Objects, Origins, StoreError, WorkLife};

/// A part of the home with a root of its own. Nothing outside of it can be reached through it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// The files that define an agent; only the owner edits them.
    Agent(AgentId),
    /// Everything of one person, including history and sessions.
    Person(PersonId),
    Vault(PersonId),
    /// What one agent remembers about one person.
    Memory(PersonId, AgentId),
    Shared,
}

impl Area {
    /// The area's folder in the home, which is also its key prefix in an object store.
    pub fn path(&self) -> String {
        match self {
            Self::Agent(agent) => format!("agents/{agent}"),
            Self::Person(person) => format!("people/{person}"),
            Self::Vault(person) => format!("people/{person}/vault"),
            Self::Memory(person, agent) => format!("people/{person}/memory/{agent}"),
            Self::Shared => "shared".to_owned(),
        }
    }

    /// The path within the person's folder, for `History`; `None` for areas that belong to no
    /// particular person. For the person's whole folder, the path is empty.
    pub fn path_in_person(&self) -> Option<String> {
        match self {
            Self::Agent(_) | Self::Shared => None,
            Self::Person(_) => Some(String::new()),
            Self::Vault(_) => Some("vault".to_owned()),
            Self::Memory(_, agent) => Some(format!("memory/{agent}")),
        }
    }
}

/// A file or folder to look up in an area.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileLookup {
    File {
        key: ObjectKey,
        max_bytes: u64,
    },
    /// The last bytes of a file of any size.
    End {
        key: ObjectKey,
        max_bytes: u64,
    },
    Folder {
        key: ObjectKey,
        limit: usize,
    },
}

impl FileLookup {
    /// Looks up this one thing.
    pub async fn find_in(&self, objects: &dyn Objects) -> Result<FoundObject, StoreError> {
        match self {
            Self::File { key, max_bytes } => Ok(objects
                .get(key, *max_bytes)
                .await?
                .map_or(FoundObject::Nothing, FoundObject::File)),
            Self::End { key, max_bytes } => Ok(objects
                .end(key, *max_bytes)
                .await?
                .map_or(FoundObject::Nothing, FoundObject::End)),
            Self::Folder { key, limit } => match objects.list(Some(key), *limit).await {
                Err(StoreError::NotFound) => Ok(FoundObject::Nothing),
                listed => listed.map(FoundObject::Folder),
            },
        }
    }
}

/// The result of a lookup, in the form that `Objects::get` and `Objects::list` return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundObject {
    Nothing,
    File(Object),
    End(FileEnd),
    Folder(Vec<ObjectMeta>),
}

/// The last bytes of a file, and the number of bytes before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEnd {
    pub bytes: Vec<u8>,
    pub before: u64,
    /// The time of the last change, as in `Object::changed`.
    pub changed: Timestamp,
}

impl FileEnd {
    pub(super) fn of(Object { mut bytes, changed, .. }: Object, max_bytes: u64) -> Self {
        let most = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let before = bytes.len().saturating_sub(most);
        Self { bytes: bytes.split_off(before), before: before as u64, changed }
    }
}

/// The files of a home, area by area.
#[async_trait]
pub trait Files: Send + Sync {
    /// Returns the files of an area. The area's folder is created if needed.
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError>;

    /// Looks up many things together, which costs much less than one by one. The answers are in the
    /// order of the questions; each thing that cannot be read has an error of its own.
    async fn find(
        &self,
        wanted: Vec<(Area, FileLookup)>,
    ) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
        let mut found = Vec::with_capacity(wanted.len());
        for (area, wanted) in &wanted {
            found.push(wanted.find_in(&*self.objects(area)?).await);
        }
        Ok(found)
    }

    /// Lists all people who have files here.
    async fn people(&self) -> Result<Vec<PersonId>, StoreError>;

    /// Lists all agents that have files of their own here.
    async fn agents(&self) -> Result<Vec<AgentId>, StoreError>;

    /// The number of this process's current life. It changes when the process has lost what it
    /// held, and the call fails with `LeaseLost` while the process may not write. Code that works
    /// for a long time compares it before it writes its results. The call costs nothing.
    fn incarnation(&self) -> Result<i64, StoreError> {
        Ok(0)
    }

    /// Returns the same files for work that begins now and that another process may take over. Once
    /// this process has lost what it holds, nothing is written through them, even after it lives
    /// again, and `incarnation` fails with `LeaseLost`. `None`: no other process works on these
    /// files.
    fn of_this_life(&self) -> Option<Arc<dyn Files>> {
        None
    }

    /// The life in which the work with these files began. Other stores refuse what that work writes
    /// once this life is over.
    fn life(&self) -> WorkLife {
        WorkLife::Current
    }

    /// The records of where contents came from.
    fn origins(&self) -> Arc<dyn Origins>;

    /// The history of a person's files: the versions that were kept before changes.
    fn history(&self, person: &PersonId) -> Result<History, StoreError> {
        self.history_of(&Area::Person(person.clone()))
    }

    /// The history of an area that has its own: a person's folder, or an agent's.
    fn history_of(&self, area: &Area) -> Result<History, StoreError> {
        Ok(History::new(self.objects(area)?, &area.path(), self.origins()))
    }
}
