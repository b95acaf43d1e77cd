//! Removes old snapshots, and the chunks that no other snapshot uses.

use std::collections::HashSet;

use onyx_types::Hash;

use crate::error::BackupError;
use crate::repository::{EntryKind, Packs, Repository, Snapshot, UnusedChunks};

/// Keeps only the newest snapshots. Returns how many were removed.
pub(crate) fn keep_newest(
    repository: &Repository,
    packs: &mut Packs,
    keep: usize,
) -> Result<usize, BackupError> {
    let ids = repository.snapshot_ids()?;
    let old = &ids[..ids.len().saturating_sub(keep.max(1))];
    // A damaged manifest may name any chunk, so nothing is removed until a person has dealt with
    // it.
    let mut wanted = HashSet::new();
    for id in &ids[old.len()..] {
        note_chunks(&repository.read(id)?, &mut wanted);
    }
    for id in old {
        repository.remove(id)?;
    }
    if !old.is_empty() {
        repository.sync_snapshots()?;
    }
    packs.retain(&wanted, UnusedChunks::No)?;
    Ok(old.len())
}

pub(crate) fn note_chunks(snapshot: &Snapshot, chunks: &mut HashSet<Hash>) {
    for entry in &snapshot.entries {
        if let EntryKind::File(file) = &entry.kind {
            chunks.extend(file.chunks.iter().copied());
        }
    }
}
