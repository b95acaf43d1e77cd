//! The running imports. An import enters the register before its record says that it is running,
//! and leaves it after its record says how it ended, so that register and record never contradict
//! each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::{Cancel, SourceId};
use tokio::sync::watch;

use crate::{Progress, SourceState};

#[derive(Default)]
pub(crate) struct Register(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    running: HashMap<SourceId, Running>,
    /// A counter of imports that began or ended.
    changes: u64,
}

struct Running {
    /// Distinguishes this import from earlier and later ones of the same source.
    number: u64,
    progress: watch::Receiver<Progress>,
    stop: Cancel,
    /// Whether another import was requested meanwhile. A document may have changed that this import
    /// has already read.
    again: bool,
}

/// The state of the register at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterState {
    pub(crate) is_running: bool,
    changes: u64,
}

impl Register {
    /// Asks for the right to import a source; `None` if an import is running, which is then
    /// repeated.
    pub(crate) fn ask(self: &Arc<Self>, id: SourceId) -> Option<Work> {
        let mut entries = self.lock();
        if let Some(running) = entries.running.get_mut(&id) {
            running.again = true;
            return None;
        }
        entries.changes += 1;
        let number = entries.changes;
        let (progress, receiver) = watch::channel(beginning());
        let stop = Cancel::new();
        let running = Running { number, progress: receiver, stop: stop.clone(), again: false };
        entries.running.insert(id, running);
        Some(Work { register: Arc::clone(self), id, number, progress, stop })
    }

    /// Takes the right to work on a source. A running import is stopped first.
    pub(crate) async fn take_over(self: &Arc<Self>, id: SourceId) -> Work {
        loop {
            if let Some(work) = self.ask(id) {
                return work;
            }
            let ending = self.lock().running.get(&id).map(|running| {
                running.stop.cancel();
                running.progress.clone()
            });
            if let Some(mut ending) = ending {
                // The sender is dropped when the import ends.
                while ending.changed().await.is_ok() {}
            }
        }
    }

    pub(crate) fn look(&self, id: SourceId) -> RegisterState {
        let entries = self.lock();
        RegisterState { is_running: entries.running.contains_key(&id), changes: entries.changes }
    }

    pub(crate) fn progress(&self, id: SourceId) -> Option<watch::Receiver<Progress>> {
        self.lock().running.get(&id).map(|running| running.progress.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn beginning() -> Progress {
    Progress { state: SourceState::Importing, done: 0, failed: 0, total: None, current: None }
}

/// The right to work on one source. When it is dropped the source leaves the register.
pub(crate) struct Work {
    register: Arc<Register>,
    id: SourceId,
    number: u64,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) stop: Cancel,
}

impl Work {
    /// Called when the record says how the import ended. Returns `false` if another import was
    /// requested, which must then begin.
    pub(crate) fn is_over(&self) -> bool {
        let mut entries = self.register.lock();
        match entries.running.get_mut(&self.id) {
            Some(running) if running.again && !self.stop.is_cancelled() => {
                running.again = false;
                self.progress.send_replace(beginning());
                false
            }
            _ => {
                self.leave(&mut entries);
                true
            }
        }
    }

    /// Notifies readers of the progress that the import ended. The source has left the register
    /// before that.
    pub(crate) fn tell_end(&self, state: SourceState) {
        self.progress.send_modify(|progress| {
            progress.state = state;
            progress.current = None;
        });
    }

    fn leave(&self, entries: &mut Entries) {
        let is_ours = |running: &Running| running.number == self.number;
        if entries.running.get(&self.id).is_some_and(is_ours) {
            entries.running.remove(&self.id);
            entries.changes += 1;
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.leave(&mut self.register.lock());
    }
}
