use std::sync::Arc;

use onyx_types::{AgentId, PersonId};

use crate::{History, Objects, StoreError};

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

    /// Where it lies within its person's folder, for `History`; `None` for what belongs to nobody
    /// in particular, and the person's whole folder is the empty path.
    pub fn path_in_person(&self) -> Option<String> {
        match self {
            Self::Agent(_) | Self::Shared => None,
            Self::Person(_) => Some(String::new()),
            Self::Vault(_) => Some("vault".to_owned()),
            Self::Memory(_, agent) => Some(format!("memory/{agent}")),
        }
    }
}

/// The files of a home, area by area.
pub trait Files: Send + Sync {
    /// The area's files; its folder is made if needed.
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError>;

    /// The versions that were kept before agents' changes to a person's files.
    fn history(&self, person: &PersonId) -> Result<History, StoreError> {
        Ok(History::new(self.objects(&Area::Person(person.clone()))?))
    }
}
