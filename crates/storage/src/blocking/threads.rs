//! Threads that wait for the disk. The thread that worked last works next, because its data is
//! still in the processor's caches; threads that stay idle end.
//!
//! A turn in a fresh session cost 1.86 ms of CPU before (15 November 2026, c32927c6), and 0.70 ms
//! with it (16 November 2026, a66fec7; `make bench` on two cores, `docs/bench/latest.json`). A
//! runtime for each core and the steps of a run on one thread came between the two measurements as
//! well. What the pool gains by itself over tokio's has not been measured.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock;

/// How long a thread without work waits before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) trait Work: Send {
    fn work(&mut self);

    /// Reports the result. This happens after the thread counts as free, because the caller may
    /// send more work at once.
    fn tell(self: Box<Self>);
}

/// The pool of threads. Dropping it waits for work in progress.
#[derive(Debug, Default)]
pub(super) struct Threads(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    rest: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The idle threads. The last in the list is the one that worked last.
    idle: Vec<Arc<WorkSlot>>,
    busy: usize,
    /// Whether somebody waits until no thread is busy.
    ending: bool,
}

/// The place where a thread finds its next work.
#[derive(Default)]
struct WorkSlot {
    work: Mutex<Option<Box<dyn Work>>>,
    came: Condvar,
}

impl std::fmt::Debug for WorkSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkSlot").finish_non_exhaustive()
    }
}

thread_local! {
    static IS_OURS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Threads {
    /// Starts the work on a thread; returns it with an error if no thread can be started.
    pub(super) fn start(&self, work: Box<dyn Work>) -> Result<(), (Box<dyn Work>, io::Error)> {
        let idle = {
            let mut state = lock(&self.0.state);
            state.busy += 1;
            state.idle.pop()
        };
        if let Some(slot) = idle {
            slot.put(work);
            return Ok(());
        }
        let slot = Arc::new(WorkSlot { work: Mutex::new(Some(work)), came: Condvar::new() });
        let (shared, place) = (Arc::clone(&self.0), Arc::clone(&slot));
        let thread = std::thread::Builder::new().name("onyx-disk".to_owned());
        match thread.spawn(move || shared.serve(&place)) {
            Ok(_) => Ok(()),
            Err(error) => {
                lock(&self.0.state).busy -= 1;
                let work = lock(&slot.work).take();
                // No other thread has seen the slot, so the work is still in it.
                work.map_or(Ok(()), |work| Err((work, error)))
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if IS_OURS.get() {
            return;
        }
        let mut state = lock(&self.0.state);
        state.ending = true;
        while state.busy > 0 {
            state = self.0.rest.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    fn serve(&self, slot: &Arc<WorkSlot>) {
        IS_OURS.set(true);
        while let Some(mut work) = self.next(slot) {
            work.work();
            {
                let mut state = lock(&self.state);
                state.busy -= 1;
                state.idle.push(Arc::clone(slot));
                if state.ending && state.busy == 0 {
                    self.rest.notify_all();
                }
            }
            work.tell();
        }
    }

    fn next(&self, slot: &Arc<WorkSlot>) -> Option<Box<dyn Work>> {
        if let Some(work) = slot.take_within(PATIENCE) {
            return Some(work);
        }
        let mut state = lock(&self.state);
        let place = state.idle.iter().position(|idle| Arc::ptr_eq(idle, slot));
        match place {
            Some(place) => {
                state.idle.remove(place);
                None
            }
            // Another caller has just chosen this slot and is about to put work into it.
            None => {
                drop(state);
                slot.take_within(Duration::MAX)
            }
        }
    }
}

impl WorkSlot {
    fn put(&self, work: Box<dyn Work>) {
        *lock(&self.work) = Some(work);
        self.came.notify_one();
    }

    fn take_within(&self, patience: Duration) -> Option<Box<dyn Work>> {
        let waited =
            self.came.wait_timeout_while(lock(&self.work), patience, |work| work.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}
