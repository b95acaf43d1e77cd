use super::{AgentId, Author, PersonId};

/// Who did what a row of the audit log records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    Person(PersonId),
    Agent(AgentId),
    /// The program itself.
    Program,
    /// The config, which schedules jobs of its own.
    Config,
    /// An actor that this version does not know, in a row that another version wrote. It is kept
    /// letter by letter, because the row's hash covers it.
    Unknown {
        kind: String,
        name: String,
    },
}

const PERSON: &str = "person";
const AGENT: &str = "agent";
const SYSTEM: &str = "system";
const PROGRAM: &str = "onyx";
const CONFIG: &str = "config";

impl Actor {
    /// Reads an actor as a row holds it. [`Actor::kind`] and [`Actor::name`] give the same texts
    /// again, whatever they are.
    pub fn read(kind: String, name: String) -> Self {
        let known = match (kind.as_str(), name.as_str()) {
            (PERSON, name) => name.parse().ok().map(Self::Person),
            (AGENT, name) => name.parse().ok().map(Self::Agent),
            (SYSTEM, PROGRAM) => Some(Self::Program),
            (SYSTEM, CONFIG) => Some(Self::Config),
            (_, _) => None,
        };
        known.unwrap_or(Self::Unknown { kind, name })
    }

    /// The kind as rows hold it: `person`, `agent` or `system`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Person(_) => PERSON,
            Self::Agent(_) => AGENT,
            Self::Program | Self::Config => SYSTEM,
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// The name without the kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Person(person) => person.as_str(),
            Self::Agent(agent) => agent.as_str(),
            Self::Program => PROGRAM,
            Self::Config => CONFIG,
            Self::Unknown { name, .. } => name,
        }
    }
}

impl From<Author> for Actor {
    fn from(author: Author) -> Self {
        match author {
            Author::Person(person) => Self::Person(person),
            Author::Agent(agent) => Self::Agent(agent),
            Author::System => Self::Program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_written_as_it_was_read() {
        let person = Actor::Person("anna".parse().unwrap());
        let agent = Actor::Agent("main".parse().unwrap());
        let unknown =
            |kind: &str, name: &str| Actor::Unknown { kind: kind.into(), name: name.into() };
        for (kind, name, actor) in [
            ("person", "anna", person),
            ("agent", "main", agent),
            ("system", "onyx", Actor::Program),
            ("system", "config", Actor::Config),
            ("system", "clock", unknown("system", "clock")),
            ("person", "Anna B.", unknown("person", "Anna B.")),
            ("connector", "telegram", unknown("connector", "telegram")),
            ("", "", unknown("", "")),
        ] {
            let read = Actor::read(kind.to_owned(), name.to_owned());
            assert_eq!((read.kind(), read.name()), (kind, name));
            assert_eq!(read, actor);
        }
    }

    #[test]
    fn an_author_acts_under_the_same_kind_and_name() {
        let person = Author::Person("anna".parse().unwrap());
        let agent = Author::Agent("main".parse().unwrap());
        for author in [person, agent, Author::System] {
            let actor = Actor::from(author.clone());
            assert_eq!((actor.kind(), actor.name()), (author.kind(), author.name()));
        }
    }
}
