//! What the rest of the server knows of one connection: whether a person has signed in on it, and
//! whether it must be closed.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use onyx_types::{ErrorCode, Fault};

use super::ConnectionLimits;
use super::admission::{Admission, Phase, SlotKind};
use crate::Problem;

/// The state of a connection, which is in the extensions of each of its requests.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    admission: Arc<Admission>,
    /// What the connection counts as. It changes only while the admission's state is locked.
    standing: Mutex<CountedAs>,
    /// Whether the connection has signed in. Then the admission never closes it.
    is_known: AtomicBool,
    is_closed: AtomicBool,
    is_settled: AtomicBool,
    is_writing: AtomicBool,
    /// Bytes that may still be read before sign-in.
    allowance: AtomicUsize,
    task: AtomicWaker,
}

/// What a connection counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedAs {
    /// The connection of the user who owns the home, which is not counted.
    LocalUser,
    Guest {
        key: u64,
        place: SlotKind,
    },
    SignedIn,
    Closed,
}

impl ConnectionSlot {
    pub(super) fn new(admission: Arc<Admission>) -> Self {
        Self {
            admission,
            standing: Mutex::new(CountedAs::Closed),
            is_known: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            is_settled: AtomicBool::new(false),
            is_writing: AtomicBool::new(false),
            allowance: AtomicUsize::new(usize::MAX),
            task: AtomicWaker::new(),
        }
    }

    pub(crate) fn limits(&self) -> ConnectionLimits {
        self.admission.limits()
    }

    /// Whether a person has signed in on the connection, or it is the owner's own.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    pub(crate) fn is_in_reserve(&self) -> bool {
        matches!(self.standing(), CountedAs::Guest { place: SlotKind::Reserve, .. })
    }

    /// Notes a valid credential. From now on the connection counts among those with sign-in; it is
    /// an error if there is no place left.
    pub(crate) fn sign_in(&self) -> Result<(), Problem> {
        if self.is_known() {
            return Ok(());
        }
        let mut state = self.admission.state();
        let CountedAs::Guest { key, .. } = self.standing() else { return Ok(()) };
        if state.signed_in >= self.limits().signed_in() {
            return Err(no_room());
        }
        state.leave(key);
        state.signed_in += 1;
        self.stand(CountedAs::SignedIn);
        Ok(())
    }

    /// Limits how many bytes are read before sign-in.
    pub(crate) fn allow(&self, bytes: usize) {
        self.allowance.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn answering(&self) {
        self.turn_to(Phase::Answering);
    }

    pub(super) fn waiting(&self) {
        self.turn_to(Phase::Waiting);
    }

    fn turn_to(&self, phase: Phase) {
        if self.is_known() {
            return;
        }
        let mut state = self.admission.state();
        if let CountedAs::Guest { key, .. } = self.standing() {
            state.turn_to(key, phase);
        }
    }

    /// Notes that the connection's task has run, so that what its client has sent so far was
    /// received.
    pub(super) fn settle(&self) {
        if self.is_settled.load(Ordering::Relaxed) {
            return;
        }
        if !self.is_settled.swap(true, Ordering::Relaxed) {
            self.admission.one_more_settled(&mut self.admission.state());
        }
    }

    pub(super) fn is_writing(&self) -> bool {
        self.is_writing.load(Ordering::Relaxed)
    }

    /// Records whether there are bytes that the client has not read.
    pub(super) fn set_writing(&self, is_writing: bool) {
        self.is_writing.store(is_writing, Ordering::Relaxed);
    }

    /// Records that bytes were read; returns whether more may be read.
    pub(super) fn spend(&self, bytes: usize) -> bool {
        let left = self.allowance.load(Ordering::Relaxed);
        if left == usize::MAX || self.is_known() {
            return true;
        }
        self.allowance.store(left.saturating_sub(bytes), Ordering::Relaxed);
        bytes <= left
    }

    /// Whether the connection must close. If not, `context` is woken when it must.
    pub(super) fn poll_closed(&self, context: &Context<'_>) -> Poll<()> {
        if self.is_known() {
            return Poll::Pending;
        }
        self.task.register(context.waker());
        if self.is_closed.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }

    pub(super) async fn closed(&self) {
        poll_fn(|context| self.poll_closed(context)).await;
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.task.wake();
    }

    pub(super) fn stand(&self, standing: CountedAs) {
        let is_known = matches!(standing, CountedAs::LocalUser | CountedAs::SignedIn);
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
        self.is_known.store(is_known, Ordering::Release);
    }

    fn standing(&self) -> CountedAs {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for too many connections with sign-in.
fn no_room() -> Problem {
    Fault::new(ErrorCode::Overloaded, "the limit of open connections is reached")
        .with_hint("Try again after the time in Retry-After, or raise `gateway.connections.max`.")
        .into()
}

/// The open socket holds this; the place is free when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenSlot(Arc<ConnectionSlot>);

impl OpenSlot {
    pub(super) fn new(slot: Arc<ConnectionSlot>) -> Self {
        Self(slot)
    }

    pub(crate) fn share(&self) -> Arc<ConnectionSlot> {
        Arc::clone(&self.0)
    }
}

impl std::ops::Deref for OpenSlot {
    type Target = ConnectionSlot;

    fn deref(&self) -> &ConnectionSlot {
        &self.0
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.settle();
        let slot = &self.0;
        let mut state = slot.admission.state();
        match slot.standing() {
            CountedAs::LocalUser => {}
            CountedAs::Guest { key, .. } => drop(state.leave(key)),
            CountedAs::SignedIn => state.signed_in -= 1,
            CountedAs::Closed => slot.admission.one_more_settled(&mut state),
        }
        slot.stand(CountedAs::LocalUser);
    }
}
