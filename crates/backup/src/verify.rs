//! Reads every byte of a repository and reports the damaged files of each snapshot.

use std::collections::HashSet;

use serde::Serialize;

use crate::error::BackupError;
use crate::repository::{
    BackupPlace, ChunkState, EntryKind, FileEntry, PackFlaw, Passphrase, Purpose, Repository,
    Snapshot, UnusedChunks,
};

/// Whether damage is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    No,
    /// Damaged chunks and manifests are deleted, so that the next backup stores their content again
    /// if the home still has it. That also makes older snapshots complete again.
    Yes,
}

/// A file or snapshot that cannot be restored as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub snapshot: String,
    /// The damaged file; `None` if the manifest, and with it the whole snapshot, is damaged.
    pub path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    pub snapshots: u64,
    /// The number of files in all snapshots.
    pub files: u64,
    pub bytes: u64,
    pub damage: Vec<Damage>,
    /// Damage that loses no data.
    pub flaws: Vec<String>,
}

impl VerifyReport {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && self.flaws.is_empty()
    }
}

/// Verifies everything in a repository.
pub fn verify(
    place: &BackupPlace,
    passphrase: Option<&Passphrase>,
    repair: Repair,
) -> Result<VerifyReport, BackupError> {
    let purpose = match repair {
        Repair::No => Purpose::Read,
        Repair::Yes => Purpose::Write,
    };
    let repository = Repository::open(place, passphrase, purpose)?;
    let mut packs = repository.packs()?;
    let state = packs.examine()?;
    let mut report = VerifyReport::default();
    let mut named = HashSet::new();
    for id in repository.snapshot_ids()? {
        let snapshot = match repository.read(&id) {
            Ok(snapshot) => snapshot,
            Err(BackupError::Damaged(_)) => {
                report.damage.push(Damage { snapshot: id.clone(), path: None });
                if repair == Repair::Yes {
                    repository.set_aside(&id)?;
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        crate::keep::note_chunks(&snapshot, &mut named);
        let is_whole = |file: &FileEntry| {
            let lengths = file.chunks.iter().map(|name| match state.chunks.get(name) {
                Some(ChunkState::Whole(length)) => Some(*length),
                Some(ChunkState::Damaged) | None => None,
            });
            lengths.sum::<Option<u64>>() == Some(file.size)
        };
        look_at(&snapshot, &is_whole, &mut report);
    }
    let is_named = |flaw: &&PackFlaw| flaw.chunks.iter().any(|name| named.contains(name));
    report.flaws.extend(state.flaws.iter().filter(is_named).map(|flaw| flaw.what.clone()));
    let damaged = state.chunks.iter().filter(|(_, state)| **state == ChunkState::Damaged);
    for (name, _) in damaged.filter(|(name, _)| !named.contains(name)) {
        let short = &name.to_string()[..12];
        report.flaws.push(format!("chunk {short}, which no snapshot uses, is damaged"));
    }
    if repair == Repair::Yes && !report.is_sound() {
        let whole = state.chunks.iter().filter(|(_, state)| **state != ChunkState::Damaged);
        packs.add_missing_lists()?;
        packs.retain(&whole.map(|(name, _)| *name).collect(), UnusedChunks::Yes)?;
    }
    Ok(report)
}

fn look_at(snapshot: &Snapshot, is_whole: &dyn Fn(&FileEntry) -> bool, report: &mut VerifyReport) {
    report.snapshots += 1;
    for entry in &snapshot.entries {
        let EntryKind::File(file) = &entry.kind else { continue };
        report.files += 1;
        report.bytes += file.size;
        if !is_whole(file) {
            let path = Some(entry.path.0.display().to_string());
            report.damage.push(Damage { snapshot: snapshot.info.id.clone(), path });
        }
    }
}
