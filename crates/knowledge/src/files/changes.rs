//! Takes reports of written files and passes them on to the backlog, so that the files are indexed,
//! and to one listener outside this crate.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::SourceKey;
use onyx_types::PersonId;
use tokio::sync::Notify;

use crate::backlog::Backlog;
use crate::files::places::place_of;

/// The files in which something was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WrittenPlace {
    /// The files of an agent, which are not indexed.
    Agents,
    /// Indexed files: those of a person, or the shared ones.
    Files(Option<PersonId>),
}

pub(crate) struct FileChanges {
    backlog: Arc<Backlog>,
    /// What was written since the listener last asked.
    touched: Mutex<BTreeSet<WrittenPlace>>,
    wake_listener: Notify,
}

impl FileChanges {
    pub(crate) fn new(backlog: Arc<Backlog>) -> Self {
        Self { backlog, touched: Mutex::default(), wake_listener: Notify::new() }
    }

    /// Notes that a file of a person or a shared file was written.
    pub(crate) fn file_changed(&self, key: SourceKey) {
        if place_of(&key).is_some() {
            self.touch(WrittenPlace::Files(key.person.clone()));
            self.backlog.add_file(key);
        }
    }

    /// Notes that whole folders of a person appeared or disappeared.
    pub(crate) fn folders_changed(&self, person: PersonId) {
        self.backlog.add_person(person);
    }

    /// Notes that anything may have changed.
    pub(crate) fn everything_changed(&self) {
        self.backlog.add_everything();
    }

    pub(crate) fn touch(&self, what: WrittenPlace) {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
        self.wake_listener.notify_one();
    }

    /// Waits until something was written since the last call, and returns it. Only one listener may
    /// call this.
    pub(crate) async fn touched(&self) -> BTreeSet<WrittenPlace> {
        loop {
            let touched = {
                let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *touched)
            };
            if !touched.is_empty() {
                return touched;
            }
            self.wake_listener.notified().await;
        }
    }
}
