//! Up to which number all chunks are there. A chunk gets its number when it is written and is seen when its transaction
//! is committed, so one with a lower number may come after one with a higher. Whoever remembers how far it has read asks
//! this first.

use std::collections::BTreeSet;

use deadpool_postgres::GenericClient;

use crate::postgres::convert::{count, get};
use crate::postgres::query::{read_all, row, rows};
use crate::{ChunkId, StoreError};

/// What was found out so far.
#[derive(Debug, Default)]
pub(super) struct SettledChunks {
    through: u64,
    next: Option<NextBound>,
}

/// The highest number at some moment. It is settled when everybody who wrote chunks at that moment has ended.
#[derive(Debug)]
struct NextBound {
    through: u64,
    writers: BTreeSet<String>,
}

/// The transactions that write chunks: each has locked the table from before its first number until its end.
const WRITERS: &str = "SELECT DISTINCT virtualtransaction FROM pg_locks
     WHERE locktype = 'relation' AND relation = 'chunks'::REGCLASS AND mode = 'RowExclusiveLock'
       AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

impl SettledChunks {
    pub(super) async fn through(
        &mut self,
        client: &impl GenericClient,
    ) -> Result<ChunkId, StoreError> {
        // The number is read before the writers: whoever has a lower one is among them or has ended.
        let newest = "SELECT coalesce(max(id), 0) FROM chunks";
        let newest = count(&row(client, newest, &[]).await?, 0)?;
        let writers = read_all(&rows(client, WRITERS, &[]).await?, |row| get(row, 0))?;
        Ok(ChunkId(self.note(newest, writers.into_iter().collect())))
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
