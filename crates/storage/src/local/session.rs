use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::{Arc, Mutex};

use onyx_types::SessionKey;
use rustix::io::Errno;

use crate::blocking::lock;
use crate::{Damage, DamageKind, LogState, Pos, StoreError};

use super::aside;
use super::backwards::BackwardLines;
use super::beneath::{Dir, FileAccess, classify};
use super::line::{self, Line};
use super::ops::{AppendFault, FileOps, append_whole, read_exact_at};

/// Where a session's log lies: its folder, relative to the home, and its file name.
#[derive(Debug)]
pub(crate) struct LogPlace {
    pub(crate) folder: String,
    pub(crate) name: String,
}

impl LogPlace {
    pub(crate) fn of(key: &SessionKey) -> Self {
        Self {
            folder: format!("people/{}/sessions/{}", key.person, key.agent),
            name: format!("{}.jsonl", key.session),
        }
    }

    pub(crate) fn torn(&self) -> String {
        format!("{}.torn", self.name)
    }

    pub(crate) fn live(&self) -> String {
        format!("{}.live", self.name)
    }

    pub(crate) fn quarantine(&self) -> String {
        format!("{}.quarantine", self.name)
    }
}

/// The state of one session's log while the session is in use.
#[derive(Debug, Default)]
pub(crate) struct LogInUse {
    pub(crate) log: Option<OpenLog>,
    /// Why the log may not be written to. After a failed sync, it is unknown what the disk holds
    /// beyond `len` until a new process looks.
    pub(crate) read_only: Option<String>,
}

#[derive(Debug)]
pub(crate) struct OpenLog {
    pub(crate) file: Arc<File>,
    /// The length up to which the file consists of whole lines. They are durable if this process
    /// wrote them.
    pub(crate) len: u64,
    pub(crate) torn: Option<Damage>,
    /// Offset and length of each record in the quarantine file. The file is read when the first
    /// unreadable line is met.
    pub(crate) quarantined: Option<HashSet<(u64, u64)>>,
    /// Whether the torn tail is still in the file because it could not be kept aside.
    repair_due: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenPurpose {
    Read,
    Append,
}

impl LogInUse {
    /// Returns the open log. It is opened if needed, and again if another program changed or
    /// replaced the file. `None` when there is no log.
    pub(crate) fn open(
        &mut self,
        ops: &dyn FileOps,
        home: &Dir,
        place: &LogPlace,
        need: OpenPurpose,
    ) -> Result<Option<&mut OpenLog>, StoreError> {
        if self.read_only.is_none() && !self.log.as_ref().is_some_and(|log| log.is_current(need)) {
            self.log = None;
            self.log = OpenLog::open(ops, home, place, need)?;
        }
        Ok(self.log.as_mut())
    }
}

impl OpenLog {
    pub(crate) fn new(file: File) -> Self {
        Self { file: Arc::new(file), len: 0, torn: None, quarantined: None, repair_due: false }
    }

    /// Whether the open file still is the log and unchanged, which takes one fstat. A person may
    /// edit or replace the file with any editor at any time, and appending to a file that has lost
    /// its name would lose the turn.
    fn is_current(&self, need: OpenPurpose) -> bool {
        if self.repair_due && need == OpenPurpose::Append {
            return false;
        }
        rustix::fs::fstat(&*self.file).is_ok_and(|stat| {
            stat.st_nlink > 0
                && (self.repair_due
                    || u64::try_from(stat.st_size).is_ok_and(|size| size == self.len))
        })
    }

    /// Returns the state of the log; `None` when another program changed or replaced the file.
    pub(crate) fn state(&self) -> Option<LogState> {
        let stat = rustix::fs::fstat(&*self.file).ok()?;
        let len = u64::try_from(stat.st_size).ok()?;
        let stamp = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
        (stat.st_nlink > 0 && len == self.len).then_some(LogState { len, stamp })
    }

    fn open(
        ops: &dyn FileOps,
        home: &Dir,
        place: &LogPlace,
        need: OpenPurpose,
    ) -> Result<Option<Self>, StoreError> {
        let opened = home.open_dir(&place.folder).and_then(|folder| {
            let file = folder.open(&place.name, FileAccess::Append)?;
            Ok((folder, file))
        });
        let (folder, file) = match opened {
            Ok(opened) => opened,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(classify(error)),
        };
        let size = aside::length(&file)?;
        let mut log = Self { len: size, ..Self::new(file) };
        if let Some(tail) = TornTail::find(ops, &log.file, size)? {
            log.repair_tail(ops, &folder, place, &tail, need)?;
        }
        Ok(Some(log))
    }

    /// Cuts off the torn tail. Where that is not possible (full disk, read-only disk), a reader
    /// continues without it, but an appender must not.
    fn repair_tail(
        &mut self,
        ops: &dyn FileOps,
        folder: &Dir,
        place: &LogPlace,
        tail: &TornTail,
        need: OpenPurpose,
    ) -> Result<(), StoreError> {
        let damage = tail.damage(place);
        self.len = tail.start;
        match tail.cut_off(ops, folder, place, &self.file) {
            Ok(len) => self.len = len,
            Err(error) if need == OpenPurpose::Append => return Err(error),
            Err(error) => {
                tracing::warn!(log = place.name, %error, "the unfinished end of a log cannot be cut off yet");
                self.repair_due = true;
            }
        }
        if let Some(damage) = &damage {
            tracing::warn!(log = place.name, at = damage.at.0, "{}", damage.detail);
        }
        self.torn = damage;
        Ok(())
    }
}

/// The bytes after the last newline.
#[derive(Debug)]
struct TornTail {
    start: u64,
    bytes: Vec<u8>,
    /// How many of the bytes are a whole line that only lacks its newline.
    whole: usize,
}

impl TornTail {
    fn find(ops: &dyn FileOps, file: &File, size: u64) -> Result<Option<Self>, StoreError> {
        let Some(last) = size.checked_sub(1) else { return Ok(None) };
        let mut byte = [0];
        read_exact_at(ops, file, &mut byte, last)?;
        if byte == *b"\n" {
            return Ok(None);
        }
        let mut lines = BackwardLines::unterminated(ops, file, size);
        let Some((start, bytes)) = lines.next_line()? else { return Ok(None) };
        let whole = match line::decode(bytes) {
            Line::Turn(_) | Line::Altered(..) => bytes.len(),
            Line::Unreadable(_) | Line::Blank => line::first_whole(bytes).unwrap_or(0),
        };
        Ok(Some(Self { start, bytes: bytes.to_vec(), whole }))
    }

    fn damage(&self, place: &LogPlace) -> Option<Damage> {
        let cut = self.bytes.len() - self.whole;
        (cut > 0).then(|| Damage {
            at: Pos(self.start + self.whole as u64),
            kind: DamageKind::TornTail,
            detail: format!(
                "{cut} bytes after the last whole line were cut off and kept in {}",
                place.torn()
            ),
        })
    }

    /// Keeps the rest in another file first, then cuts it off. Returns the new length.
    fn cut_off(
        &self,
        ops: &dyn FileOps,
        folder: &Dir,
        place: &LogPlace,
        file: &File,
    ) -> Result<u64, StoreError> {
        let (whole, rest) = self.bytes.split_at(self.whole);
        let mut len = self.start + whole.len() as u64;
        if !rest.is_empty() {
            aside::keep(ops, folder, &place.torn(), len, rest)?;
            ops.set_len(file, len)?;
        }
        if !whole.is_empty() {
            append_whole(ops, file, b"\n", len).map_err(|fault| match fault {
                AppendFault::TakenBack(error) | AppendFault::Stuck(error) => error,
            })?;
            len += 1;
        }
        ops.sync_data(file)?;
        Ok(len)
    }
}

/// The sessions in use. Their number is bounded, because each holds a file open.
#[derive(Debug, Default)]
pub(crate) struct LogsInUse {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    uses: u64,
    slots: HashMap<SessionKey, (u64, Arc<Mutex<LogInUse>>)>,
}

const MOST_OPEN: usize = 256;

impl LogsInUse {
    pub(crate) fn get(&self, key: &SessionKey) -> Arc<Mutex<LogInUse>> {
        let mut table = lock(&self.table);
        table.uses += 1;
        let now = table.uses;
        if let Some((used, slot)) = table.slots.get_mut(key) {
            *used = now;
            return Arc::clone(slot);
        }
        if table.slots.len() >= MOST_OPEN {
            table.forget_oldest();
        }
        let slot = Arc::<Mutex<LogInUse>>::default();
        table.slots.insert(key.clone(), (now, Arc::clone(&slot)));
        slot
    }
}

impl Table {
    /// Drops slots that were not used lately. A slot in use stays, so that a log has one state at a
    /// time; so does a read-only one, whose state must last as long as the process.
    fn forget_oldest(&mut self) {
        let idle = self.slots.iter().filter(|(_, (_, slot))| {
            Arc::strong_count(slot) == 1 && lock(slot).read_only.is_none()
        });
        let mut idle: Vec<_> = idle.map(|(key, (used, _))| (*used, key.clone())).collect();
        idle.sort_unstable_by_key(|(used, _)| *used);
        // Several slots are dropped at once, so that a full table is not sorted for every new
        // session.
        for (_, key) in idle.into_iter().take(MOST_OPEN / 8) {
            self.slots.remove(&key);
        }
    }
}
