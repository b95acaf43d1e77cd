use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onyx_types::{PersonId, SessionKey, Turn, TurnId};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::blocking::{Blocking, lock};
use crate::{Damage, Lease, LiveText, LogState, Page, Pos, StoreError, TurnLog};

use super::beneath::{Dir, FileAccess, classify};
use super::leases::LocalLeases;
use super::ops::{AppendFault, FileOps, append_whole};
use super::page::{ReadLimits, ReadPage};
use super::session::{LogInUse, LogPlace, LogsInUse, OpenLog, OpenPurpose};
use super::{aside, copy, line, live, page};

/// Turn logs as JSONL files in a home.
#[derive(Clone)]
pub(crate) struct LocalTurnLog {
    logs: Arc<Logs>,
    blocking: Blocking,
}

struct Logs {
    home: Arc<Dir>,
    leases: LocalLeases,
    ops: Arc<dyn FileOps>,
    slots: LogsInUse,
}

impl fmt::Debug for LocalTurnLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTurnLog").finish_non_exhaustive()
    }
}

impl LocalTurnLog {
    pub(crate) fn new(
        home: Arc<Dir>,
        leases: LocalLeases,
        ops: Arc<dyn FileOps>,
        blocking: Blocking,
    ) -> Self {
        let logs = Logs { home, leases, ops, slots: LogsInUse::default() };
        Self { logs: Arc::new(logs), blocking }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Logs) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let logs = Arc::clone(&self.logs);
        self.blocking.run(move || work(&logs)).await
    }
}

#[async_trait]
impl TurnLog for LocalTurnLog {
    async fn append(&self, lease: &Lease, batch: &[Turn]) -> Result<Pos, StoreError> {
        let mut bytes = Vec::with_capacity(batch.iter().map(line::length_about).sum());
        for turn in batch {
            line::encode(turn, &mut bytes)?;
        }
        let lease = lease.clone();
        self.run(move |logs| logs.append(&lease, &bytes)).await
    }

    async fn tail(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        n: usize,
    ) -> Result<Page, StoreError> {
        let (key, limits) = (key.clone(), ReadLimits { turns: n, bytes: u64::MAX });
        self.run(move |logs| logs.tail(&key, before, limits)).await
    }

    async fn tail_within(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        bytes: u64,
    ) -> Result<Page, StoreError> {
        let (key, limits) = (key.clone(), ReadLimits { turns: usize::MAX, bytes });
        self.run(move |logs| logs.tail(&key, before, limits)).await
    }

    fn state_now(&self, key: &SessionKey) -> Option<LogState> {
        let slot = self.logs.slots.get(key);
        let slot = slot.try_lock().ok()?;
        slot.log.as_ref()?.state()
    }

    async fn copy_through(
        &self,
        from: &SessionKey,
        through: TurnId,
        to: &Lease,
    ) -> Result<Pos, StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.run(move |logs| logs.copy_through(&from, through, &to)).await
    }

    async fn note_live(&self, lease: &Lease, pieces: &[LiveText]) -> Result<(), StoreError> {
        let (lease, pieces) = (lease.clone(), pieces.to_vec());
        self.run(move |logs| logs.note_live(&lease, &pieces)).await
    }

    async fn live(&self, key: &SessionKey) -> Result<Vec<LiveText>, StoreError> {
        let place = LogPlace::of(key);
        self.run(move |logs| match logs.folder(&place)? {
            Some(folder) => live::read(&folder, &place.live()),
            None => Ok(Vec::new()),
        })
        .await
    }

    async fn clear_live(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.run(move |logs| logs.clear_live(&lease)).await
    }

    async fn delete(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.run(move |logs| logs.delete(&lease)).await
    }

    async fn sessions(&self, person: &PersonId) -> Result<Vec<SessionKey>, StoreError> {
        let person = person.clone();
        self.run(move |logs| logs.sessions(&person)).await
    }
}

impl Logs {
    fn append(&self, lease: &Lease, bytes: &[u8]) -> Result<Pos, StoreError> {
        let slot = self.slots.get(&lease.key);
        let mut slot = lock(&slot);
        let _write = self.leases.begin_write(lease)?;
        if let Some(why) = &slot.read_only {
            return Err(StoreError::ReadOnly(why.clone()));
        }
        if bytes.is_empty() {
            return Ok(self.length(&mut slot, &lease.key)?.unwrap_or(Pos(0)));
        }
        let place = LogPlace::of(&lease.key);
        let (log, new_in) = match slot.open(&*self.ops, &self.home, &place, OpenPurpose::Append)? {
            Some(log) => (log, None),
            None => {
                let (log, folder) = self.create(&place)?;
                (slot.log.insert(log), Some(folder))
            }
        };
        let written = self.write(log, bytes);
        // The folder is synced after the file, because on file systems with one journal for both,
        // the name is durable with the file by now.
        if let Some(folder) = new_in
            && let Err(error) = folder.keep_new(&*self.ops, &place.name)
        {
            slot.log = None;
            return Err(error);
        }
        match written {
            Ok(pos) => Ok(pos),
            Err(WriteFault::NotWritten(error)) => Err(error),
            Err(WriteFault::Unknown(why)) => {
                tracing::error!(log = place.name, why, "the session is read-only from now on");
                slot.read_only = Some(why.clone());
                Err(StoreError::ReadOnly(why))
            }
        }
    }

    fn write(&self, log: &mut OpenLog, bytes: &[u8]) -> Result<Pos, WriteFault> {
        append_whole(&*self.ops, &log.file, bytes, log.len)?;
        self.ops
            .sync_data(&log.file)
            .map_err(|error| WriteFault::Unknown(format!("the sync failed: {error}")))?;
        log.len += bytes.len() as u64;
        Ok(Pos(log.len))
    }

    /// Creates a log, and returns it with its folder, in which its name is not durable yet.
    fn create(&self, place: &LogPlace) -> Result<(OpenLog, Dir), StoreError> {
        let folder = self.home.make_dirs(&*self.ops, &place.folder)?;
        let file = folder.open(&place.name, FileAccess::AppendOrCreate).map_err(classify)?;
        Ok((OpenLog::new(file), folder))
    }

    fn length(&self, slot: &mut LogInUse, key: &SessionKey) -> Result<Option<Pos>, StoreError> {
        let log = slot.open(&*self.ops, &self.home, &LogPlace::of(key), OpenPurpose::Read)?;
        Ok(log.map(|log| Pos(log.len)))
    }

    fn tail(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        limits: ReadLimits,
    ) -> Result<Page, StoreError> {
        let place = LogPlace::of(key);
        let shared = self.slots.get(key);
        let (mut read, torn) = match self.read_page(&shared, &place, before, limits) {
            // An edit that kept the length removed the last newline. Opening the log again repairs
            // the tail.
            Err(StoreError::Refused(_)) if before.is_none() => {
                lock(&shared).log = None;
                self.read_page(&shared, &place, before, limits)
            }
            read => read,
        }?;
        if !read.unreadable.is_empty() {
            self.quarantine(&shared, &place, &read.unreadable);
        }
        if before.is_none() {
            read.page.damage.extend(torn);
        }
        Ok(read.page)
    }

    fn read_page(
        &self,
        slot: &Mutex<LogInUse>,
        place: &LogPlace,
        before: Option<Pos>,
        limits: ReadLimits,
    ) -> Result<(ReadPage, Option<Damage>), StoreError> {
        // The file is read without holding the lock, because Onyx never changes what lies before
        // the known length.
        let (file, len, torn) = {
            let mut slot = lock(slot);
            match slot.open(&*self.ops, &self.home, place, OpenPurpose::Read)? {
                Some(log) => (Arc::clone(&log.file), log.len, log.torn.clone()),
                None => return Ok((ReadPage::default(), None)),
            }
        };
        let end = before.map_or(len, |pos| pos.0.min(len));
        Ok((page::read(&*self.ops, &file, end, limits)?, torn))
    }

    /// Copies unreadable lines to another file, each once. The lines stay in the log and in every
    /// report, so a failure here loses nothing.
    fn quarantine(&self, slot: &Mutex<LogInUse>, place: &LogPlace, lines: &[(u64, Vec<u8>)]) {
        let mut slot = lock(slot);
        let Some(log) = slot.log.as_mut() else { return };
        if let Err(error) = self.quarantine_new(log, place, lines) {
            tracing::warn!(log = place.name, %error, "damaged lines could not be kept aside");
        }
    }

    fn quarantine_new(
        &self,
        log: &mut OpenLog,
        place: &LogPlace,
        lines: &[(u64, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let folder = self.home.open_dir(&place.folder).map_err(classify)?;
        let name = place.quarantine();
        let known = match &mut log.quarantined {
            Some(known) => known,
            None => log.quarantined.insert(aside::places(&folder, &name)?),
        };
        for (at, bytes) in lines {
            let place_in_log = (*at, bytes.len() as u64);
            if !known.contains(&place_in_log) {
                aside::keep(&*self.ops, &folder, &name, *at, bytes)?;
                tracing::warn!(log = place.name, at, "a damaged line was kept in {name}");
                known.insert(place_in_log);
            }
        }
        Ok(())
    }

    fn copy_through(
        &self,
        from: &SessionKey,
        through: TurnId,
        to: &Lease,
    ) -> Result<Pos, StoreError> {
        let (source, len) = {
            let slot = self.slots.get(from);
            let mut slot = lock(&slot);
            let log = slot.open(&*self.ops, &self.home, &LogPlace::of(from), OpenPurpose::Read)?;
            let log = log.ok_or(StoreError::NotFound)?;
            (Arc::clone(&log.file), log.len)
        };
        let slot = self.slots.get(&to.key);
        let mut slot = lock(&slot);
        let _write = self.leases.begin_write(to)?;
        if let Some(why) = &slot.read_only {
            return Err(StoreError::ReadOnly(why.clone()));
        }
        if self.length(&mut slot, &to.key)?.is_some_and(|len| len.0 > 0) {
            return Err(StoreError::Conflict);
        }
        slot.log = None;
        let place = LogPlace::of(&to.key);
        let folder = self.home.make_dirs(&*self.ops, &place.folder)?;
        // The copy has another name until it is complete, so that a crash leaves no partial
        // session.
        let unfinished = format!("{}.copy", place.name);
        folder.remove(&unfinished)?;
        let copied = self.copy_file(&folder, &unfinished, &source, len, through);
        let finished = copied.and_then(|len| {
            folder.replace(&unfinished, &place.name)?;
            folder.keep_new(&*self.ops, &place.name)?;
            Ok(Pos(len))
        });
        if finished.is_err() {
            // If the partial copy cannot be removed, the next try removes it.
            folder.remove(&unfinished).ok();
        }
        finished
    }

    fn copy_file(
        &self,
        folder: &Dir,
        name: &str,
        source: &std::fs::File,
        len: u64,
        through: TurnId,
    ) -> Result<u64, StoreError> {
        let file = folder.open(name, FileAccess::CreateNew).map_err(classify)?;
        let copied = copy::through(&*self.ops, source, len, through, &file)?;
        self.ops.sync_all(&file)?;
        Ok(copied)
    }

    fn folder(&self, place: &LogPlace) -> Result<Option<Dir>, StoreError> {
        match self.home.open_dir(&place.folder) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(classify(error)),
        }
    }

    fn note_live(&self, lease: &Lease, pieces: &[LiveText]) -> Result<(), StoreError> {
        // Only one caller writes at a time, because a piece that does not fit is removed by
        // truncating to the length before it.
        let slot = self.slots.get(&lease.key);
        let _slot = lock(&slot);
        let _write = self.leases.begin_write(lease)?;
        let place = LogPlace::of(&lease.key);
        let folder = self.folder(&place)?.ok_or(StoreError::NotFound)?;
        live::add(&*self.ops, &folder, &place.live(), pieces)
    }

    fn clear_live(&self, lease: &Lease) -> Result<(), StoreError> {
        let _write = self.leases.begin_write(lease)?;
        let place = LogPlace::of(&lease.key);
        if let Some(folder) = self.folder(&place)? {
            folder.remove(&place.live())?;
        }
        Ok(())
    }

    fn delete(&self, lease: &Lease) -> Result<(), StoreError> {
        let slot = self.slots.get(&lease.key);
        let mut slot = lock(&slot);
        let _write = self.leases.begin_write(lease)?;
        slot.log = None;
        let place = LogPlace::of(&lease.key);
        let Some(folder) = self.folder(&place)? else { return Ok(()) };
        for name in [&place.live(), &place.torn(), &place.quarantine(), &place.name] {
            folder.remove(name)?;
        }
        folder.sync(&*self.ops)?;
        Ok(())
    }

    fn sessions(&self, person: &PersonId) -> Result<Vec<SessionKey>, StoreError> {
        let root = match self.home.open_dir(&format!("people/{person}/sessions")) {
            Ok(root) => root,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(error) => return Err(classify(error)),
        };
        let mut keys = Vec::new();
        for (agent, kind) in root.children()? {
            if kind != FileType::Directory {
                continue;
            }
            // A folder or file of another name does not belong to a log, so it is skipped.
            let Ok(agent_id) = agent.parse() else { continue };
            for (name, kind) in root.open_dir(&agent).map_err(classify)?.children()? {
                let session = name.strip_suffix(".jsonl").and_then(|name| name.parse().ok());
                if let (FileType::RegularFile, Some(session)) = (kind, session) {
                    let person = person.clone();
                    keys.push(SessionKey { person, agent: Clone::clone(&agent_id), session });
                }
            }
        }
        keys.sort();
        Ok(keys)
    }
}

/// The reason why a write did not happen, and what is known of the file after it.
enum WriteFault {
    NotWritten(StoreError),
    Unknown(String),
}

impl From<AppendFault> for WriteFault {
    fn from(fault: AppendFault) -> Self {
        match fault {
            AppendFault::TakenBack(error) => Self::NotWritten(error.into()),
            AppendFault::Stuck(error) => {
                Self::Unknown(format!("half a write could not be taken back: {error}"))
            }
        }
    }
}
