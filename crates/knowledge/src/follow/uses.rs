//! Knows whose tables are in use, so that they are not dropped in the middle of a search.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::PersonId;

/// The number of searches that use each person's tables. It is cheap to clone.
#[derive(Clone, Default)]
pub(super) struct TableUses {
    counts: Arc<Mutex<HashMap<PersonId, usize>>>,
}

/// As long as this exists, the tables of the person stay in memory.
pub(crate) struct TableUse {
    person: PersonId,
    uses: TableUses,
}

impl TableUses {
    pub(super) fn hold(&self, person: &PersonId) -> TableUse {
        *self.counts().entry(person.clone()).or_default() += 1;
        TableUse { person: person.clone(), uses: self.clone() }
    }

    pub(super) fn include(&self, person: &PersonId) -> bool {
        self.counts().contains_key(person)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<PersonId, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TableUse {
    fn drop(&mut self) {
        let mut counts = self.uses.counts();
        if let Some(count) = counts.get_mut(&self.person) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.person);
            }
        }
    }
}
