//! Up to which number all rows of a table are there. A row gets its number when it is written and is seen when its
//! transaction is committed, so one with a lower number may come after one with a higher. Whoever remembers how far it
//! has read asks this first.

use std::collections::BTreeSet;

use deadpool_postgres::GenericClient;

use crate::StoreError;
use crate::postgres::convert::{count, get};
use crate::postgres::query::{read_all, row, rows};

/// A table whose rows have ascending numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberedTable {
    Chunks,
    Groups,
}

/// What was found out so far.
#[derive(Debug)]
pub(super) struct SettledRows {
    table: NumberedTable,
    through: u64,
    next: Option<NextBound>,
}

/// The highest number at some moment. It is settled when everybody who wrote rows at that moment has ended.
#[derive(Debug)]
struct NextBound {
    through: u64,
    writers: BTreeSet<String>,
}

impl NumberedTable {
    const fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Groups => "source_groups",
        }
    }

    const fn newest(self) -> &'static str {
        match self {
            Self::Chunks => "SELECT coalesce(max(id), 0) FROM chunks",
            Self::Groups => "SELECT coalesce(max(id), 0) FROM source_groups",
        }
    }
}

/// The transactions that write rows: each has locked the table from before its first number until its end.
const WRITERS: &str = "SELECT DISTINCT virtualtransaction FROM pg_locks
     WHERE locktype = 'relation' AND relation = $1::TEXT::REGCLASS AND mode = 'RowExclusiveLock'
       AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

impl SettledRows {
    pub(super) fn new(table: NumberedTable) -> Self {
        Self { table, through: 0, next: None }
    }

    pub(super) async fn through(&mut self, client: &impl GenericClient) -> Result<u64, StoreError> {
        // The number is read before the writers: whoever has a lower one is among them or has ended.
        let newest = count(&row(client, self.table.newest(), &[]).await?, 0)?;
        let writers = rows(client, WRITERS, &[&self.table.name()]).await?;
        let writers = read_all(&writers, |row| get(row, 0))?;
        Ok(self.note(newest, writers.into_iter().collect()))
    }

    fn note(&mut self, newest: u64, writers: BTreeSet<String>) -> u64 {
        if writers.is_empty() {
            (self.through, self.next) = (newest.max(self.through), None);
            return self.through;
        }
        let next = NextBound { through: newest, writers };
        match &self.next {
            Some(bound) if bound.writers.is_disjoint(&next.writers) => {
                self.through = bound.through.max(self.through);
                self.next = Some(next);
            }
            Some(_) => {}
            None => self.next = Some(next),
        }
        self.through
    }
}
