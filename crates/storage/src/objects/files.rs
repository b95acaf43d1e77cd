use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{AgentId, PersonId, Timestamp};

use crate::{History, Object, ObjectKey, ObjectMeta, Objects, Origins, StoreError};

/// A part of the home that has a root of its own: nothing reached through it lies outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// The files that make an agent; edited by the owner only.
    Agent(AgentId),
    /// Everything of one person, history and sessions included.
    Person(PersonId),
    Vault(PersonId),
    /// What one agent remembers about one person.
    Memory(PersonId, AgentId),
    Shared,
}

impl Area {
    /// Where it lies in the home, and as a key prefix in an object store.
    pub fn path(&self) -> String {
        match self {
            Self::Agent(agent) => format!("agents/{agent}"),
            Self::Person(person) => format!("people/{person}"),
            Self::Vault(person) => format!("people/{person}/vault"),
            Self::Memory(person, agent) => format!("people/{person}/memory/{agent}"),
            Self::Shared => "shared".to_owned(),
        }
    }

    /// The path within the person's folder, for `History`; `None` for what belongs to no particular
    /// person. The person's whole folder is the empty path.
    pub fn path_in_person(&self) -> Option<String> {
        match self {
            Self::Agent(_) | Self::Shared => None,
            Self::Person(_) => Some(String::new()),
            Self::Vault(_) => Some("vault".to_owned()),
            Self::Memory(_, agent) => Some(format!("memory/{agent}")),
        }
    }
}

/// A file or folder to be looked up in an area.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wanted {
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

impl Wanted {
    /// Looks it up alone.
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

/// The result of a look-up, as `Objects::get` and `Objects::list` give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundObject {
    Nothing,
    File(Object),
    End(FileEnd),
    Folder(Vec<ObjectMeta>),
}

/// The last bytes of a file, and how many stand before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEnd {
    pub bytes: Vec<u8>,
    pub before: u64,
    /// The same as `Object::changed`.
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
    /// The area's files; its folder is made if needed.
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError>;

    /// Looks many things up in one go, which costs much less than one by one. Answers in the order
    /// of the questions; what cannot be read says so for itself.
    async fn find(
        &self,
        wanted: Vec<(Area, Wanted)>,
    ) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
        let mut found = Vec::with_capacity(wanted.len());
        for (area, wanted) in &wanted {
            found.push(wanted.find_in(&*self.objects(area)?).await);
        }
        Ok(found)
    }

    /// Everybody who has files here.
    async fn people(&self) -> Result<Vec<PersonId>, StoreError>;

    /// Every agent that has files of its own here.
    async fn agents(&self) -> Result<Vec<AgentId>, StoreError>;

    /// Which life of this process writes. It is another one after the process lost what it held, and `LeaseLost` as long
    /// as it may not write. Whoever works for long compares it before they write what they made. Costs nothing.
    fn incarnation(&self) -> Result<i64, StoreError> {
        Ok(0)
    }

    /// The same files for work that begins now and that another process may take over: once this process has lost what
    /// it holds, nothing is written through them, even after it lives again, and `incarnation` is `LeaseLost`. `None`: no
    /// other process works on these files.
    fn of_this_life(&self) -> Option<Arc<dyn Files>> {
        None
    }

    /// What is known of where contents came from.
    fn origins(&self) -> Arc<dyn Origins>;

    /// The versions that were kept before agents' changes to a person's files.
    fn history(&self, person: &PersonId) -> Result<History, StoreError> {
        self.history_of(&Area::Person(person.clone()))
    }

    /// The same of an area that has a history of its own: a person's folder, or an agent's.
    fn history_of(&self, area: &Area) -> Result<History, StoreError> {
        Ok(History::new(self.objects(area)?, &area.path(), self.origins()))
    }
}
