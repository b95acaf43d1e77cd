//! The tables in memory: those of the people who searched lately, and those of the shared
//! documents. If they take too much memory, the tables of whoever searched longest ago are dropped;
//! their next search loads them again.

use std::collections::HashMap;

use onyx_storage::ChunkId;
use onyx_types::PersonId;

use super::person::{FollowedVectors, PersonTables, TablesKey, Update};
use super::person_outline::PersonOutline;
use super::uses::TableUses;
use crate::status::LoadedTables;
use crate::vectors::VectorSet;
use crate::visible::VisibleGroups;

#[derive(Default)]
pub(crate) struct PeopleTables {
    tables: HashMap<TablesKey, Loaded>,
    /// The number of searches so far.
    searches: u64,
}

struct Loaded {
    tables: PersonTables,
    /// The number of the last search that used the tables.
    last_search: u64,
}

/// The tables that a search of one person reads: their own and those of the shared documents.
#[derive(Clone, Copy)]
pub(crate) struct PersonView<'a> {
    own: Option<&'a PersonTables>,
    shared: Option<&'a PersonTables>,
}

/// The vectors that a search of one person reads, all of one model.
#[derive(Clone, Copy)]
pub(crate) struct PersonVectors<'a> {
    own: &'a VectorSet,
    shared: &'a VectorSet,
}

impl PeopleTables {
    pub(crate) fn of(&self, person: &PersonId) -> PersonView<'_> {
        let tables = |key: &TablesKey| self.tables.get(key).map(|loaded| &loaded.tables);
        PersonView {
            own: tables(&TablesKey::Person(person.clone())),
            shared: tables(&TablesKey::Shared),
        }
    }

    pub(super) fn has(&self, key: &TablesKey) -> bool {
        self.tables.contains_key(key)
    }

    pub(super) fn insert(&mut self, key: TablesKey, tables: PersonTables) {
        self.tables.insert(key, Loaded { tables, last_search: self.searches });
    }

    /// Notes that a person searches now.
    pub(super) fn note_search(&mut self, person: &PersonId) {
        self.searches += 1;
        if let Some(loaded) = self.tables.get_mut(&TablesKey::Person(person.clone())) {
            loaded.last_search = self.searches;
        }
    }

    /// Drops the tables of other epochs.
    pub(super) fn keep_epoch(&mut self, epoch: u64) {
        self.tables.retain(|_, loaded| loaded.tables.epoch == epoch);
    }

    /// The tables whose vectors are of another model. Tables without vectors are among them only if
    /// a search wants them.
    pub(super) fn with_other_vectors(
        &self,
        model: Option<&str>,
        wanted: &[TablesKey],
    ) -> Vec<TablesKey> {
        let is_other = |key: &TablesKey, loaded: &Loaded| {
            let held = loaded.tables.vectors.as_ref().map(|vectors| vectors.model.as_str());
            held != model && (held.is_some() || wanted.contains(key))
        };
        let others = self.tables.iter().filter(|(key, loaded)| is_other(key, loaded));
        others.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn set_vectors(&mut self, key: &TablesKey, vectors: Option<FollowedVectors>) {
        if let Some(loaded) = self.tables.get_mut(key) {
            loaded.tables.vectors = vectors;
        }
    }

    /// The model of the vectors, and the change up to which all of them are current; `None` if
    /// there are no vectors.
    pub(super) fn vectors_seen(&self) -> Option<(&str, u64)> {
        let vectors = self.tables.values().filter_map(|loaded| loaded.tables.vectors.as_ref());
        vectors.map(|vectors| (vectors.model.as_str(), vectors.seq)).min_by_key(|(_, seq)| *seq)
    }

    /// The change up to which all outlines are current; `None` if there is no outline.
    pub(super) fn outlines_seen(&self) -> Option<u64> {
        self.tables.values().map(|loaded| loaded.tables.outline.seq).min()
    }

    /// The change up to which all tables are current; `None` if there are no tables.
    pub(super) fn seen(&self) -> Option<u64> {
        self.tables.values().map(|loaded| loaded.tables.seen()).min()
    }

    pub(super) fn take(&mut self, update: &Update) {
        match &update.key {
            Some(key) => {
                if let Some(loaded) = self.tables.get_mut(key) {
                    loaded.tables.take(update);
                }
            }
            // It is not known whose source it was, so everybody's tables forget it.
            None => self.tables.values_mut().for_each(|loaded| loaded.tables.take(update)),
        }
    }

    /// Notes that all changes up to this one were taken in.
    pub(super) fn advance(&mut self, seq: u64) {
        self.tables.values_mut().for_each(|loaded| loaded.tables.advance(seq));
    }

    /// Drops tables until the others take at most `most` bytes, first those of whoever searched
    /// longest ago. The tables of the person who searched last stay, so that a home with one person
    /// never loads again, and so do those that are in use and those of the shared documents.
    pub(super) fn evict(&mut self, most: u64, uses: &TableUses) {
        let mut memory = self.memory();
        if memory <= most {
            return;
        }
        let mut people = self.by_last_search();
        people.pop();
        for person in people {
            if memory <= most {
                return;
            }
            if uses.include(&person) {
                continue;
            }
            if let Some(dropped) = self.tables.remove(&TablesKey::Person(person)) {
                memory -= dropped.tables.memory();
            }
        }
    }

    pub(super) fn loaded(&self) -> LoadedTables {
        LoadedTables { people: self.by_last_search(), bytes: self.memory() }
    }

    fn memory(&self) -> u64 {
        self.tables.values().map(|loaded| loaded.tables.memory()).sum()
    }

    /// The people who have tables; whoever searched longest ago comes first.
    fn by_last_search(&self) -> Vec<PersonId> {
        let person = |(key, loaded): (&TablesKey, &Loaded)| {
            key.person().map(|person| (loaded.last_search, person.clone()))
        };
        let mut people: Vec<(u64, PersonId)> = self.tables.iter().filter_map(person).collect();
        people.sort_unstable_by_key(|(last_search, _)| *last_search);
        people.into_iter().map(|(_, person)| person).collect()
    }
}

impl<'a> PersonView<'a> {
    /// The outline; it is empty as long as nothing is loaded.
    pub(crate) fn outline(&self) -> PersonOutline<'a> {
        let outline = |tables: &'a PersonTables| &tables.outline.outline;
        PersonOutline::new(self.own.map(outline), self.shared.map(outline))
    }

    /// The vectors of a model; `None` if those in memory are of another model.
    pub(crate) fn vectors(&self, model: &str) -> Option<PersonVectors<'a>> {
        let vectors = |tables: &'a PersonTables| {
            let held = tables.vectors.as_ref().filter(|vectors| vectors.model == model);
            held.map(|vectors| &vectors.set)
        };
        let (own, shared) = (self.own.and_then(vectors)?, self.shared.and_then(vectors)?);
        Some(PersonVectors { own, shared })
    }
}

impl PersonVectors<'_> {
    /// Whether there is a vector of this chunk.
    pub(crate) fn knows(&self, chunk: ChunkId) -> bool {
        self.own.knows(chunk) || self.shared.knows(chunk)
    }

    /// The nearest chunks that may be seen, best first, with their likeness as computed from the
    /// rounded vectors.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        seen: &VisibleGroups,
        limit: usize,
    ) -> Vec<(ChunkId, f32)> {
        let mut nearest = self.own.nearest(query, seen, limit);
        nearest.extend(self.shared.nearest(query, seen, limit));
        nearest.sort_by(|a, b| b.1.total_cmp(&a.1));
        nearest.truncate(limit);
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::Outline;
    use super::super::person::FollowedOutline;
    use super::*;

    fn person(name: &str) -> PersonId {
        name.parse().unwrap()
    }

    fn tables_of(names: &[&str]) -> PeopleTables {
        let mut tables = PeopleTables::default();
        for key in
            names.iter().map(|name| TablesKey::Person(person(name))).chain([TablesKey::Shared])
        {
            let mut outline = Outline::default();
            outline.add(&onyx_storage::OutlinedChunk {
                chunk: ChunkId(1),
                source: onyx_storage::SourceId(1),
                group: onyx_storage::GroupId(0),
                at: onyx_types::Timestamp::from_millis(0),
                message: None,
            });
            let outline = FollowedOutline { seq: 1, outline };
            tables.insert(key, PersonTables { epoch: 1, outline, vectors: None });
        }
        names.iter().for_each(|name| tables.note_search(&person(name)));
        tables
    }

    fn loaded(tables: &PeopleTables) -> Vec<String> {
        tables.loaded().people.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn who_searched_longest_ago_goes_first_and_whoever_searches_now_stays() {
        let uses = TableUses::default();
        let mut tables = tables_of(&["anna", "bert", "cleo"]);
        tables.note_search(&person("anna"));
        assert_eq!(loaded(&tables), ["bert", "cleo", "anna"]);
        let all = tables.loaded().bytes;
        tables.evict(all, &uses);
        assert_eq!(loaded(&tables), ["bert", "cleo", "anna"]);
        tables.evict(all - 1, &uses);
        assert_eq!(loaded(&tables), ["cleo", "anna"]);
        assert_eq!(tables.loaded().bytes, all / 4 * 3, "the shared documents and two people");
        tables.evict(0, &uses);
        assert_eq!(loaded(&tables), ["anna"]);
        assert!(tables.has(&TablesKey::Shared));
    }

    #[test]
    fn tables_in_use_stay_until_the_last_use_has_ended() {
        let uses = TableUses::default();
        let mut tables = tables_of(&["anna", "bert", "cleo"]);
        let (first, second) = (uses.hold(&person("anna")), uses.hold(&person("anna")));
        tables.evict(0, &uses);
        assert_eq!(loaded(&tables), ["anna", "cleo"]);
        drop(first);
        tables.evict(0, &uses);
        assert_eq!(loaded(&tables), ["anna", "cleo"]);
        drop(second);
        tables.evict(0, &uses);
        assert_eq!(loaded(&tables), ["cleo"]);
    }
}
