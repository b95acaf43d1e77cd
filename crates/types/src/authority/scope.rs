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
    /// The scopes in order, each only once, because a person may have thousands of threads and a
    /// search asks for each of them.
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
        self.scopes.binary_search(scope).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_allowed_in_whatever_order_it_came_and_nothing_else() {
        let agent = |name: &str| Scope::Agent(name.parse().unwrap());
        let given = [Scope::Shared, agent("work"), Scope::Person, agent("main"), agent("work")];
        let set = ScopeSet::new("anna".parse().unwrap(), given.to_vec());
        assert!(given.iter().all(|scope| set.allows(scope)));
        assert_eq!(set.scopes().len(), 4);
        assert!(!set.allows(&agent("home")));
    }
}
