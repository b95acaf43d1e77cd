//! A copy of the ledger's database as it is at one moment, while others write to it.

use std::path::Path;

use rusqlite::backup::{Backup, StepResult};

use super::connection::{Durability, open_reader, open_writer};
use crate::StoreError;

/// Copies a database into a new file. All pages are taken within one read transaction: commits of
/// other connections and processes keep writing, and their changes are not in the copy. Pages keep their
/// places, so that two copies of a database that grew have most of their bytes in common.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = open_reader(from)?;
    let mut copy = open_writer(to, Durability::Normal)?;
    match Backup::new(&source, &mut copy)?.step(-1)? {
        StepResult::Done => {}
        // Busy past the reader's patience, or pages are left, which a step over all never says.
        _ => return Err(StoreError::Busy),
    }
    // One file without a log beside it, as readers of the copy expect.
    copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    copy.close().map_err(|(_, error)| error.into())
}
