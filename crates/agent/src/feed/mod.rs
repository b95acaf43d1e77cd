//! The events of a run so far, and what is kept of them after its end.
//!
//! The driver writes; readers pull at their own pace from any sequence number, so a slow one costs
//! nothing and a second viewer or a rejoining client sees no gap and no repeat. Nothing here knows
//! sessions or stores.

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

/// One run's events, shared by the driver that writes and everybody who reads.
#[derive(Debug)]
pub struct Feed {
    run: RunId,
    log: Mutex<Log>,
    /// How many listeners of the whole session were sent the end.
    heard_by: AtomicU32,
}

impl Feed {
    pub fn new(run: RunId) -> Arc<Self> {
        Arc::new(Self { run, log: Mutex::default(), heard_by: AtomicU32::new(0) })
    }

    /// Makes a feed for a reader that has every event up to a number.
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

    /// Adds an event of another gateway, under its own number.
    pub(crate) fn relay(&self, envelope: Envelope) {
        let mut log = self.lock();
        let unknown = envelope.seq.saturating_sub(log.newest() + 1);
        log.skip(unknown);
        log.add(envelope.lane, envelope.event);
        log.wake_readers();
    }

    /// Ends the feed: nothing more comes.
    pub fn close(&self) {
        let mut log = self.lock();
        log.end();
        log.wake_readers();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// The last event was sent: there is nothing left to stop.
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

    /// Bytes this feed holds, about.
    pub fn weight(&self) -> usize {
        self.lock().weight() + std::mem::size_of::<Self>()
    }

    /// Every event after `seq`, then those that come. Where the feed no longer keeps single pieces,
    /// neighbouring pieces of one text come as one, under the number of the last of them.
    pub fn read_after(self: &Arc<Self>, seq: u64) -> EventReader {
        let cursor = self.lock().cursor(seq);
        EventReader { feed: Arc::clone(self), cursor }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        // A panic while holding it leaves whole entries only: each is pushed in one move.
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
    /// Never joins pieces before this number with pieces after it: for readers that begin at the
    /// first event and send only what is new.
    #[must_use]
    pub fn parted_at(mut self, seq: u64) -> Self {
        self.cursor.part_at(seq);
        self
    }

    /// Counts a listener of the whole session that was sent the end: the next listener need not be
    /// sent it.
    pub fn count_as_heard(&self) {
        self.feed.heard_by.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes that back: the counted listener had disconnected.
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

    /// Does what `next` does, without waiting. `Pending`: nothing is there yet.
    pub fn next_now(&mut self) -> Poll<Option<Arc<Envelope>>> {
        self.read(None)
    }

    /// The reader is woken for what is not there yet.
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
