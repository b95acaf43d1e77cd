//! Copies the ledger's database as it is at one moment, while others write to it.

use std::path::Path;

use rusqlite::backup::{Backup, StepResult};

use super::connection::{Durability, open_reader, open_writer};
use crate::StoreError;

/// Copies a database into a new file. All pages are read within one transaction: other connections
/// and processes can commit meanwhile, and their changes are not in the copy. Pages keep their
/// positions, so two copies of a growing database have most of their bytes in common.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = open_reader(from)?;
    let mut copy = open_writer(to, Durability::Normal)?;
    match Backup::new(&source, &mut copy)?.step(-1)? {
        StepResult::Done => {}
        // The source was busy for longer than the reader waits. A step over all pages cannot end
        // with pages left.
        _ => return Err(StoreError::Busy),
    }
    // Readers of the copy expect one file without a write-ahead log beside it.
    copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    copy.close().map_err(|(_, error)| error.into())
}
