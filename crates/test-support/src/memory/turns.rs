use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onyx_storage::{Lease, LiveText, Page, Pos, StoreError, TurnLog, append_once};
use onyx_types::{PersonId, SessionKey, Turn, TurnBody, TurnId};
use serde_json::Value;

use super::leases::{MemoryLeases, WriteGuard};
use super::shared_log::SharedAppend;
use super::{LeasePlace, MemoryDisk, Moment, Op, Turnstile, pass, perform};

/// The log of one session on the disk.
#[derive(Default)]
pub(super) struct Log {
    turns: Vec<Turn>,
    live: Vec<LiveText>,
    /// The fence of the newest holder that has written.
    fence: u64,
    /// Turns that were written but whose sync failed: all, some or none of them may exist when the
    /// log is read.
    unknown: Vec<Turn>,
}

impl Log {
    pub(super) fn fence(&self) -> u64 {
        self.fence
    }

    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the new end, and whether a newer holder had already written.
    pub(super) fn extend(&mut self, turns: Vec<Turn>, fence: u64) -> (Pos, bool) {
        self.turns.extend(turns);
        let is_stale = fence < self.fence;
        self.fence = self.fence.max(fence);
        (Pos(self.turns.len() as u64), is_stale)
    }

    pub(super) fn settle(&mut self, seed: u64) {
        let mut unknown = std::mem::take(&mut self.unknown);
        unknown.truncate(seed as usize % (unknown.len() + 1));
        self.turns.append(&mut unknown);
    }
}

pub(super) struct MemoryTurnLog {
    disk: MemoryDisk,
    leases: MemoryLeases,
    turnstile: Arc<dyn Turnstile>,
    /// Sessions that this process must not write to any more, each with the reason.
    read_only: Mutex<HashMap<SessionKey, String>>,
}

impl MemoryTurnLog {
    pub(super) fn new(
        disk: MemoryDisk,
        leases: MemoryLeases,
        turnstile: Arc<dyn Turnstile>,
    ) -> Self {
        Self { disk, leases, turnstile, read_only: Mutex::default() }
    }

    fn writable(&self, lease: &Lease) -> Result<WriteGuard, StoreError> {
        let guard = self.leases.begin_write(lease)?;
        let read_only = self.read_only.lock().expect("no holder of this lock panics");
        match read_only.get(&lease.key) {
            Some(why) => Err(StoreError::ReadOnly(why.clone())),
            None => Ok(guard),
        }
    }

    fn forbid(&self, key: &SessionKey, why: &str) {
        let mut read_only = self.read_only.lock().expect("no holder of this lock panics");
        read_only.insert(key.clone(), why.to_owned());
    }

    /// Appends as the only process of a home does. What a failed sync left is decided when the disk
    /// is opened again.
    async fn append_to_file(
        &self,
        lease: &Lease,
        guard: &WriteGuard,
        batch: Vec<Turn>,
    ) -> Result<Pos, StoreError> {
        let write = Write { disk: &self.disk, key: &lease.key, guard, batch };
        match pass(&*self.turnstile, Op::Append, Moment::Before).await {
            Ok(()) => {}
            Err(StoreError::ReadOnly(why)) => {
                self.forbid(&lease.key, &why);
                write.lose_track();
                return Err(StoreError::ReadOnly(why));
            }
            Err(error) => {
                write.take_back();
                return Err(error);
            }
        }
        let end = match guard.still_held() {
            Ok(_held) => write.land(lease.fence),
            Err(lost) => {
                write.take_back();
                return Err(lost);
            }
        };
        let _ = pass(&*self.turnstile, Op::Append, Moment::After).await;
        Ok(end)
    }
}

/// A batch that is being written to a file. If a crash drops it, its first lines may remain.
struct Write<'a> {
    disk: &'a MemoryDisk,
    key: &'a SessionKey,
    guard: &'a WriteGuard,
    batch: Vec<Turn>,
}

impl Write<'_> {
    fn land(mut self, fence: u64) -> Pos {
        let batch = std::mem::take(&mut self.batch);
        self.disk.lock().land(self.key, batch, fence)
    }

    fn take_back(mut self) {
        self.batch.clear();
    }

    fn lose_track(mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.disk.lock().logs.entry(self.key.clone()).or_default().unknown = batch;
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let guard = self.guard;
        let Ok(_held) = guard.still_held() else { return };
        let mut disk = self.disk.lock();
        if let Some(seed) = disk.tearing {
            self.batch.truncate(seed as usize % (self.batch.len() + 1));
            let log = disk.logs.entry(self.key.clone()).or_default();
            log.turns.append(&mut self.batch);
        }
    }
}

#[async_trait]
impl TurnLog for MemoryTurnLog {
    async fn append(&self, lease: &Lease, batch: &[Turn]) -> Result<Pos, StoreError> {
        let batch = batch.iter().map(written).collect::<Result<Vec<_>, _>>()?;
        let guard = self.writable(lease)?;
        if batch.is_empty() {
            let disk = self.disk.lock();
            return Ok(Pos(disk.logs.get(&lease.key).map_or(0, |log| log.turns.len() as u64)));
        }
        match self.leases.place() {
            LeasePlace::Process => self.append_to_file(lease, &guard, batch).await,
            LeasePlace::Disk => {
                let append =
                    SharedAppend::new(&self.disk, &self.leases, &*self.turnstile, lease, &batch);
                let written = append_once(&append, self.leases.fence(lease)?).await?;
                written.ok_or_else(|| self.leases.give_up(lease))
            }
        }
    }

    async fn tail(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        n: usize,
    ) -> Result<Page, StoreError> {
        let page = perform(&*self.turnstile, Op::ReadLog, || {
            let disk = self.disk.lock();
            let Some(log) = disk.logs.get(key) else { return Ok(Page::default()) };
            let end = before.map_or(log.turns.len(), |pos| (pos.0 as usize).min(log.turns.len()));
            let start = end.saturating_sub(n);
            Ok(Page {
                turns: log.turns[start..end].to_vec(),
                start: Pos(start as u64),
                has_older: start > 0,
                damage: Vec::new(),
            })
        })
        .await?;
        if before.is_none() {
            self.disk.note_if_stale(key, page.start.0 + page.turns.len() as u64);
        }
        Ok(page)
    }

    /// These logs have no bytes, so `bytes` is ignored.
    async fn tail_within(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        _bytes: u64,
    ) -> Result<Page, StoreError> {
        self.tail(key, before, 1).await
    }

    async fn copy_through(
        &self,
        from: &SessionKey,
        through: TurnId,
        to: &Lease,
    ) -> Result<Pos, StoreError> {
        let guard = self.writable(to)?;
        perform(&*self.turnstile, Op::CopyLog, || {
            let _held = guard.still_held()?;
            let mut disk = self.disk.lock();
            let source = disk.logs.get(from).ok_or(StoreError::NotFound)?;
            let last = source.turns.iter().position(|turn| turn.id == through);
            let copy = source.turns[..=last.ok_or(StoreError::NotFound)?].to_vec();
            let target = disk.logs.entry(to.key.clone()).or_default();
            if !target.turns.is_empty() {
                return Err(StoreError::Conflict);
            }
            target.turns = copy;
            Ok(Pos(target.turns.len() as u64))
        })
        .await
    }

    async fn note_live(&self, lease: &Lease, pieces: &[LiveText]) -> Result<(), StoreError> {
        let guard = self.leases.begin_write(lease)?;
        perform(&*self.turnstile, Op::NoteLive, || {
            let _held = guard.still_held()?;
            let mut disk = self.disk.lock();
            let log = disk.logs.get_mut(&lease.key).ok_or(StoreError::NotFound)?;
            for piece in pieces {
                match log.live.iter_mut().find(|text| text.turn == piece.turn) {
                    Some(text) => text.text.push_str(&piece.text),
                    None => log.live.push(piece.clone()),
                }
            }
            Ok(())
        })
        .await
    }

    async fn live(&self, key: &SessionKey) -> Result<Vec<LiveText>, StoreError> {
        perform(&*self.turnstile, Op::ReadLog, || {
            Ok(self.disk.lock().logs.get(key).map(|log| log.live.clone()).unwrap_or_default())
        })
        .await
    }

    async fn clear_live(&self, lease: &Lease) -> Result<(), StoreError> {
        let guard = self.leases.begin_write(lease)?;
        perform(&*self.turnstile, Op::ClearLive, || {
            let _held = guard.still_held()?;
            if let Some(log) = self.disk.lock().logs.get_mut(&lease.key) {
                log.live.clear();
            }
            Ok(())
        })
        .await
    }

    async fn delete(&self, lease: &Lease) -> Result<(), StoreError> {
        let guard = self.leases.begin_write(lease)?;
        perform(&*self.turnstile, Op::DeleteLog, || {
            let _held = guard.still_held()?;
            self.disk.lock().logs.remove(&lease.key);
            Ok(())
        })
        .await
    }

    async fn sessions(&self, person: &PersonId) -> Result<Vec<SessionKey>, StoreError> {
        perform(&*self.turnstile, Op::ReadLog, || {
            let disk = self.disk.lock();
            Ok(disk.logs.keys().filter(|key| key.person == *person).cloned().collect())
        })
        .await
    }
}

/// The deepest nesting of JSON that is read, including the turn's own braces.
const MAX_DEPTH: usize = 127;
/// A field with this name belongs to the log itself.
const CHECKSUM: &str = "crc";

/// The turn in the form in which a log returns it.
fn written(turn: &Turn) -> Result<Turn, StoreError> {
    let mut turn = turn.clone();
    turn.extra.remove(CHECKSUM);
    let mut deepest = turn.extra.values().map(depth).max().unwrap_or(0);
    match &mut turn.body {
        TurnBody::Unknown(unknown) => {
            unknown.fields.remove(CHECKSUM);
            deepest = deepest.max(unknown.fields.values().map(depth).max().unwrap_or(0));
        }
        TurnBody::ToolCall(call) => deepest = deepest.max(depth(&call.input)),
        TurnBody::Reasoning(reasoning) => deepest = deepest.max(depth(&reasoning.data)),
        TurnBody::User(_)
        | TurnBody::AssistantText(_)
        | TurnBody::ToolResult(_)
        | TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_)
        | TurnBody::Summary(_) => {}
    }
    if deepest + 1 > MAX_DEPTH {
        return Err(StoreError::Refused(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    Ok(turn)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
