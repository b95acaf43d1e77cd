//! Puts the entities of several groups into one list. A store keeps them for each group, because
//! each reader may see other groups.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{EntityRow, GroupId};

/// Joins the newest entities of groups.
#[derive(Debug)]
pub(crate) struct EntityMerge {
    limit: usize,
    entities: BTreeMap<String, EntityRow>,
    cut: Vec<GroupId>,
}

/// The newest entities of all groups.
#[derive(Debug)]
pub(crate) struct NewestEntities {
    /// The entities, with the last mentioned first.
    pub(crate) rows: Vec<EntityRow>,
    /// The groups whose facts the rows do not count yet: these groups have more entities than were
    /// read, and any row may be among those.
    pub(crate) cut: Vec<GroupId>,
}

impl EntityMerge {
    pub(crate) fn new(limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { limit, entities: BTreeMap::new(), cut: Vec::new() }
    }

    /// Adds the newest entities of a group, at most as many as the list may have. An entity that is
    /// left out here is not among the newest of all, unless another group mentioned it later.
    pub(crate) fn add(&mut self, group: GroupId, newest: Vec<EntityRow>) {
        let is_cut = newest.len() >= self.limit;
        if is_cut {
            self.cut.push(group);
        }
        for mut row in newest {
            if is_cut {
                row.facts = 0;
            }
            match self.entities.entry(row.name.key.clone()) {
                Entry::Occupied(known) => join(known.into_mut(), row),
                Entry::Vacant(place) => {
                    place.insert(row);
                }
            }
        }
    }

    pub(crate) fn newest(self) -> NewestEntities {
        let mut rows: Vec<EntityRow> = self.entities.into_values().collect();
        // The sort is stable, so those that were mentioned at the same time stay in the order of
        // their keys.
        rows.sort_by_key(|row| Reverse(row.last_said));
        rows.truncate(self.limit);
        NewestEntities { rows, cut: self.cut }
    }
}

fn join(known: &mut EntityRow, other: EntityRow) {
    known.facts += other.facts;
    if (other.last_said, &other.name.name) > (known.last_said, &known.name.name) {
        known.last_said = other.last_said;
        known.name = other.name;
    }
}
