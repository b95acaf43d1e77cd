//! A copy of the audit log to which lines are only ever added, one JSON object per line. It is
//! meant for another disk, a log collector or a file system on which lines cannot be removed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use onyx_types::{PersonId, RecordedTool};
use serde::Deserialize;
use serde_json::json;

use crate::blocking::lock;
use crate::{AuditRow, StoreError};

/// The file to which audit rows are appended.
#[derive(Debug)]
pub struct AuditExport {
    path: PathBuf,
    file: Mutex<File>,
}

#[derive(Deserialize)]
struct ExportedRow {
    person: PersonId,
    seq: u64,
}

impl AuditExport {
    /// Opens the file for appending and creates it if needed, readable by its owner alone. This
    /// blocks on the disk.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let open = || {
            let mut options = OpenOptions::new();
            let mut file = options.create(true).read(true).append(true).mode(0o600).open(path)?;
            // A newline ends a line that a crash cut short, so that the next row begins a new line.
            if !ends_a_line(&mut file)? {
                file.write_all(b"\n")?;
            }
            Ok(file)
        };
        let file = open().map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), file: Mutex::new(file) })
    }

    /// The newest row of each person in the file. A crash may have prevented a row from being
    /// written.
    pub(crate) fn newest(&self) -> Result<BTreeMap<PersonId, u64>, StoreError> {
        let file = File::open(&self.path).map_err(|error| failed(&self.path, &error))?;
        let mut newest = BTreeMap::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| failed(&self.path, &error))?;
            // A line that a crash cut short is ignored, so its row is written again.
            if let Ok(ExportedRow { person, seq }) = serde_json::from_slice(&line) {
                newest.insert(person, seq);
            }
        }
        Ok(newest)
    }

    pub(crate) fn add(&self, row: &AuditRow) {
        if let Err(error) = self.write(row) {
            let (path, seq) = (self.path.display(), row.seq);
            tracing::error!(%error, %path, seq, "an audit row could not be exported");
        }
    }

    fn write(&self, AuditRow { seq, entry, previous, hash }: &AuditRow) -> io::Result<()> {
        let line = json!({
            "person": entry.person, "seq": seq, "ts": entry.ts,
            "actor_kind": entry.actor.kind(), "actor": entry.actor.name(), "agent": entry.agent,
            "session_id": entry.session, "run_id": entry.run,
            "tool": entry.tool.as_ref().map(RecordedTool::as_str), "effect": entry.effect,
            "decision": entry.decision.map(|decision| decision.as_str()),
            "diff_summary": entry.diff_summary, "result": entry.result, "previous": previous,
            "hash": hash,
        });
        lock(&self.file).write_all(format!("{line}\n").as_bytes())
    }
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Failed(format!("the export of the audit log, {}: {error}", path.display()))
}
