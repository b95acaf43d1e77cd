//! A person's decisions about names in the knowledge graph: which names mean the same entity, and
//! which name means two. They are kept as `graph.json` in the person's folder, because no text
//! contains them and they could not be derived again.

use std::collections::BTreeSet;

use onyx_types::PersonId;
use serde::{Deserialize, Serialize};

use super::{EntityName, StoredFact};
use crate::{Area, Expect, Files, ObjectKey, StoreError};

const FILE: &str = "graph.json";
/// The largest decisions file that is read. A file that Onyx wrote is far smaller.
const LONGEST: u64 = 1024 * 1024;
/// How often a change is tried, because somebody else may write the file at the same moment.
const TRIES: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameDecisions {
    same: Vec<SameName>,
    apart: Vec<ApartName>,
}

/// The names of one entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SameName {
    /// The name by which the entity is called.
    name: String,
    also: BTreeSet<String>,
}

/// A name that means another entity in some texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ApartName {
    name: String,
    into: String,
    paths: BTreeSet<String>,
}

impl NameDecisions {
    pub async fn read(files: &dyn Files, person: &PersonId) -> Result<Self, StoreError> {
        let objects = files.objects(&Area::Person(person.clone()))?;
        match objects.get(&key()?, LONGEST).await? {
            Some(object) => parse(&object.bytes),
            None => Ok(Self::default()),
        }
    }

    /// Reads the decisions, changes them and writes them; starts again if the file was changed
    /// meanwhile.
    pub async fn change(
        files: &dyn Files,
        person: &PersonId,
        change: impl Fn(&mut Self) + Send + Sync,
    ) -> Result<Self, StoreError> {
        let objects = files.objects(&Area::Person(person.clone()))?;
        for _ in 0..TRIES {
            let before = objects.get(&key()?, LONGEST).await?;
            let (mut decisions, expect) = match &before {
                Some(object) => (parse(&object.bytes)?, Expect::Is(object.hash)),
                None => (Self::default(), Expect::Absent),
            };
            change(&mut decisions);
            let json = serde_json::to_vec_pretty(&decisions)
                .map_err(|error| StoreError::Failed(format!("{FILE}: {error}")))?;
            let text = [json.as_slice(), b"\n"].concat();
            match objects.put(&key()?, &text, expect).await {
                Ok(_) => return Ok(decisions),
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Conflict)
    }

    /// Makes all facts about these names facts about one entity.
    pub fn merge(&mut self, into: &str, names: &[String]) {
        let into = EntityName::new(into);
        let mut also = BTreeSet::new();
        for name in names.iter().map(|name| EntityName::new(name)) {
            let known =
                self.same.extract_if(.., |same| same.is_about(&name.key)).flat_map(|same| {
                    let mut all = same.also;
                    all.insert(same.name);
                    all
                });
            also.extend(known);
            also.insert(name.name);
        }
        let known = self.same.extract_if(.., |same| same.is_about(&into.key));
        also.extend(known.flat_map(|same| same.also));
        also.retain(|name| EntityName::new(name).key != into.key);
        self.same.push(SameName { name: into.name, also });
    }

    /// Separates a name from the entity with which it was merged.
    pub fn unmerge(&mut self, name: &str) {
        let key = EntityName::new(name).key;
        for same in &mut self.same {
            same.also.retain(|also| EntityName::new(also).key != key);
        }
        self.same.retain(|same| !same.also.is_empty());
    }

    /// Makes a name in these texts mean another entity.
    pub fn split(&mut self, name: &str, into: &str, paths: &[String]) {
        let (name, into) = (EntityName::new(name), EntityName::new(into));
        // The newest decision counts: as long as the two names mean one entity, no text could mean
        // the other.
        if self.one_name(&name).key == self.one_name(&into).key {
            self.unmerge(&into.name);
            self.unmerge(&name.name);
        }
        let apart =
            ApartName { name: name.name, into: into.name, paths: paths.iter().cloned().collect() };
        self.apart.push(apart);
    }

    /// All keys under which texts may mention the entity that a name stands for.
    pub fn keys_of(&self, name: &str) -> Vec<String> {
        let key = self.one_name(&EntityName::new(name)).key;
        let mut keys = BTreeSet::from([key.clone()]);
        for same in self.same.iter().filter(|same| same.is_about(&key)) {
            keys.extend(same.also.iter().map(|name| EntityName::new(name).key));
        }
        let apart = self.apart.iter().filter(|apart| EntityName::new(&apart.into).key == key);
        keys.extend(apart.map(|apart| EntityName::new(&apart.name).key));
        keys.into_iter().collect()
    }

    /// The other names of an entity.
    pub fn also(&self, name: &EntityName) -> Vec<String> {
        let same = self.same.iter().filter(|same| same.is_about(&name.key));
        same.flat_map(|same| same.also.iter().cloned()).collect()
    }

    /// The name of the entity that a name stands for.
    pub fn one_name(&self, name: &EntityName) -> EntityName {
        let same = self.same.iter().find(|same| same.is_about(&name.key));
        same.map_or_else(|| name.clone(), |same| EntityName::new(&same.name))
    }

    /// Replaces the names in a fact by those on which the person decided.
    pub fn apply(&self, fact: &mut StoredFact) {
        for name in [&mut fact.row.subject, &mut fact.row.object] {
            let is_it = |apart: &&ApartName| {
                // Older decisions name shared documents without their root, so both forms of the
                // path are compared.
                EntityName::new(&apart.name).key == name.key
                    && (apart.paths.contains(&fact.source.rooted_path())
                        || apart.paths.contains(&fact.source.path))
            };
            // A text that was split off twice belongs to the entity that was decided last.
            if let Some(apart) = self.apart.iter().rev().find(is_it) {
                *name = EntityName::new(&apart.into);
            }
            *name = self.one_name(name);
        }
    }
}

impl SameName {
    fn is_about(&self, key: &str) -> bool {
        let is_it = |name: &String| EntityName::new(name).key == key;
        is_it(&self.name) || self.also.iter().any(is_it)
    }
}

fn key() -> Result<ObjectKey, StoreError> {
    FILE.parse().map_err(|error| StoreError::Failed(format!("{FILE}: {error}")))
}

fn parse(bytes: &[u8]) -> Result<NameDecisions, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Refused(format!("{FILE}: {error}")))
}

#[cfg(test)]
mod tests {
    use onyx_types::{Origin, Timestamp};

    use super::*;
    use crate::{FactId, FactRow, GroupId, Holds, ObjectKind, SourceKey};

    #[test]
    fn names_are_made_one_and_taken_apart_again() {
        let mut decisions = NameDecisions::default();
        decisions.merge("Robert Miller", &["bob".into(), "Rob".into()]);
        decisions.merge("Robert Miller", &["Bobby".into(), "ROBERT MILLER".into()]);
        let one =
            |decisions: &NameDecisions, name: &str| decisions.one_name(&EntityName::new(name)).name;
        assert_eq!(one(&decisions, "Bob"), "Robert Miller");
        assert_eq!(one(&decisions, "bobby"), "Robert Miller");
        assert_eq!(decisions.keys_of("rob"), ["bob", "bobby", "rob", "robert miller"]);
        // Names that were merged before come along when their entity is merged into another.
        decisions.merge("Bobby Tables", &["Robert Miller".into()]);
        assert_eq!(one(&decisions, "rob"), "Bobby Tables");
        decisions.unmerge("Rob");
        assert_eq!(one(&decisions, "rob"), "rob");
        assert_eq!(one(&decisions, "bob"), "Bobby Tables");
    }

    #[test]
    fn a_split_is_taken_back_by_merging_and_can_be_made_again() {
        let mut decisions = NameDecisions::default();
        let bob_in = |decisions: &NameDecisions| {
            ["vault/cat.md", "vault/work.md"].map(|path| meant_by("Bob", path, decisions))
        };
        let cat = ["vault/cat.md".to_owned()];
        decisions.split("Bob", "Bob the cat", &cat);
        assert_eq!(bob_in(&decisions), ["Bob the cat", "Bob"]);
        assert_eq!(decisions.keys_of("Bob the cat"), ["bob", "bob the cat"]);

        decisions.merge("Bob", &["Bob the cat".into()]);
        assert_eq!(bob_in(&decisions), ["Bob", "Bob"]);
        assert_eq!(decisions.keys_of("bob"), ["bob", "bob the cat"]);

        decisions.split("Bob", "Bob the cat", &cat);
        assert_eq!(bob_in(&decisions), ["Bob the cat", "Bob"]);
        decisions.split("Bob", "Bob the dog", &cat);
        assert_eq!(bob_in(&decisions), ["Bob the dog", "Bob"]);
    }

    /// The entity that a text means by a name.
    fn meant_by(name: &str, path: &str, decisions: &NameDecisions) -> String {
        let row = FactRow {
            subject: EntityName::new(name),
            relation: "likes".to_owned(),
            object: EntityName::new("fish"),
            object_kind: ObjectKind::Value,
            holds: Holds::Begins,
            line: 1,
            said: format!("{name} likes fish."),
            from: None,
            until: None,
        };
        let mut fact = StoredFact {
            id: FactId(1),
            maker: "rules".to_owned(),
            row,
            source: SourceKey { person: "anna".parse().ok(), path: path.to_owned() },
            title: String::new(),
            group: GroupId(1),
            origin: Origin::Person,
            said_at: Timestamp::from_millis(0),
            author: None,
            turn: None,
        };
        decisions.apply(&mut fact);
        fact.row.subject.name
    }
}
