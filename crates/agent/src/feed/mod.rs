//! The events of a run so far, and what is kept of them after its end.
//!
//! The driver adds events. Each reader takes them at its own pace from any sequence number, so a
//! slow reader delays nobody, and a second viewer or a reconnecting client gets every event exactly
//! once. Nothing here knows sessions or stores.

mod finished;
mod log;
mod outline;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use onyx_types::{Envelope, Event, LaneId, RunId};

pub(crate) use self::finished::{FinishedFeeds, KeptFeed};
use self::log::{Cursor, Log};
pub(crate) use self::outline::Outline;

/// The events of one run, shared by the driver that adds them and all readers.
#[derive(Debug)]
pub struct Feed {
    run: RunId,
    log: Mutex<Log>,
    /// How many listeners of the whole session were sent the end of the run.
    heard_by: AtomicU32,
}

impl Feed {
    pub fn new(run: RunId) -> Arc<Self> {
        Arc::new(Self { run, log: Mutex::default(), heard_by: AtomicU32::new(0) })
    }

    /// Makes a feed for a reader that already has every event up to this number.
    pub(crate) fn beginning_after(run: RunId, seq: u64) -> Arc<Self> {
        let feed = Self::new(run);
        feed.lock().skip(seq);
        feed
    }

    /// Whether an event was sent already.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().newest() > 0
    }

    /// Adds an event. Sequence numbers start at 1 and have no gaps.
    pub fn tell(&self, lane: LaneId, event: Event) {
        let mut log = self.lock();
        log.add(lane, event);
        log.wake_readers();
    }

    /// Adds an event of another gateway, which keeps its number.
    pub(crate) fn relay(&self, envelope: Envelope) {
        let mut log = self.lock();
        let unknown = envelope.seq.saturating_sub(log.newest() + 1);
        log.skip(unknown);
        log.add(envelope.lane, envelope.event);
        log.wake_readers();
    }

    /// Ends the feed: no event is added after this.
    pub fn close(&self) {
        let mut log = self.lock();
        log.end();
        log.wake_readers();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Whether the last event was sent, so that there is nothing left to stop.
    pub fn is_done(&self) -> bool {
        let log = self.lock();
        log.is_closed() || log.is_done()
    }

    /// The newest event.
    pub fn last(&self) -> Option<Envelope> {
        let log = self.lock();
        let before = log.newest().checked_sub(1)?;
        log.next(self.run, &mut log.cursor(before))
    }

    /// The approximate size of the feed in bytes.
    pub fn weight(&self) -> usize {
        self.lock().weight() + std::mem::size_of::<Self>()
    }

    /// Reads the events after `seq` and those that follow. Where the feed no longer keeps single
    /// pieces, neighbouring pieces of one text are read as one, with the number of the last.
    pub fn read_after(self: &Arc<Self>, seq: u64) -> EventReader {
        let cursor = self.lock().cursor(seq);
        EventReader { feed: Arc::clone(self), cursor }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        // The log stays consistent when a holder of the lock panics, because each entry is pushed
        // in one move.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader's place in a feed.
#[derive(Debug)]
pub struct EventReader {
    feed: Arc<Feed>,
    cursor: Cursor,
}

impl EventReader {
    /// Keeps pieces up to this number apart from later ones. A reader that begins at the first
    /// event and sends on only what is new needs that.
    #[must_use]
    pub fn parted_at(mut self, seq: u64) -> Self {
        self.cursor.part_at(seq);
        self
    }

    /// Notes that a listener of the whole session was sent the end, so that the next listener need
    /// not be.
    pub fn count_as_heard(&self) {
        self.feed.heard_by.fetch_add(1, Ordering::Relaxed);
    }

    /// Reverts `count_as_heard`, because the counted listener had disconnected.
    pub fn count_as_unheard(&self) {
        self.feed.heard_by.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn was_heard(&self) -> bool {
        self.feed.heard_by.load(Ordering::Relaxed) > 0
    }

    /// The next event; `None` after the last one of a closed feed.
    pub async fn next(&mut self) -> Option<Arc<Envelope>> {
        std::future::poll_fn(|cx| self.read(Some(cx.waker()))).await
    }

    /// Returns the next event without waiting for it. `Pending`: there is none yet.
    pub fn next_now(&mut self) -> Poll<Option<Arc<Envelope>>> {
        self.read(None)
    }

    /// Reads the next event. If there is none yet, the waker is called when one comes.
    fn read(&mut self, waker: Option<&Waker>) -> Poll<Option<Arc<Envelope>>> {
        let mut log = self.feed.lock();
        if let Some(envelope) = log.next(self.feed.run, &mut self.cursor) {
            return Poll::Ready(Some(Arc::new(envelope)));
        }
        if log.is_closed() {
            return Poll::Ready(None);
        }
        waker.into_iter().for_each(|waker| log.wake_later(waker));
        Poll::Pending
    }
}
