use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentId, ChannelId, PersonId, SpaceId, ThreadId};

/// Where a piece of knowledge belongs.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
pub enum Scope {
    Person,
    Agent(AgentId),
    Space(SpaceId),
    Channel(ChannelId),
    Thread(ThreadId),
    Shared,
}

/// The scopes that one search may read. Made from the authenticated person and the session, never
/// from a request's payload; it cannot name a second person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeSet {
    person: PersonId,
    scopes: Vec<Scope>,
}

impl ScopeSet {
    pub fn new(person: PersonId, mut scopes: Vec<Scope>) -> Self {
        scopes.sort();
        scopes.dedup();
        Self { person, scopes }
    }

    pub fn person(&self) -> &PersonId {
        &self.person
    }

    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    pub fn allows(&self, scope: &Scope) -> bool {
        self.scopes.contains(scope)
    }
}
