//! The running processes: bounded in number, and each ends when it has not been used for a while. A
//! process of the CLI takes some 290 MB.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_types::ModelRequest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::conversation::{Conversation, Identity, Input};

#[derive(Debug)]
pub(super) struct Pool {
    parked: Arc<Mutex<ParkedConversations>>,
    room: Arc<Semaphore>,
    idle: Duration,
}

/// The parked processes; the one that was parked first comes first.
#[derive(Debug, Default)]
struct ParkedConversations {
    conversations: Vec<(u64, Conversation)>,
    count: u64,
}

impl Pool {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self { parked: Arc::default(), room: Arc::new(Semaphore::new(most.max(1))), idle }
    }

    /// Takes out the conversation that this request continues.
    pub(super) fn take(
        &self,
        identity: &Identity,
        request: &ModelRequest,
    ) -> Option<(Conversation, Input)> {
        let mut parked = lock(&self.parked);
        let found =
            parked.conversations.iter().enumerate().find_map(|(place, (_, held))| {
                Some((place, held.continued_by(identity, request)?))
            });
        let (place, input) = found?;
        let (_, conversation) = parked.conversations.remove(place);
        Some((conversation, input))
    }

    /// Waits for room for one more process. The process that was idle longest is ended for it; if
    /// all are at work, one of them must end first.
    pub(super) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
            return Some(permit);
        }
        let oldest = {
            let mut parked = lock(&self.parked);
            (!parked.conversations.is_empty()).then(|| parked.conversations.remove(0))
        };
        drop(oldest);
        // The pool never closes the semaphore; if it were closed, no process would be started.
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    pub(super) fn park(&self, conversation: Conversation) {
        let number = {
            let mut parked = lock(&self.parked);
            parked.count += 1;
            let number = parked.count;
            parked.conversations.push((number, conversation));
            number
        };
        let (idle, shared) = (self.idle, Arc::downgrade(&self.parked));
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            if let Some(parked) = shared.upgrade() {
                lock(&parked).conversations.retain(|(other, _)| *other != number);
            }
        });
    }

    pub(super) fn processes(&self) -> Vec<u32> {
        let parked = lock(&self.parked);
        parked.conversations.iter().filter_map(|(_, held)| held.process()).collect()
    }
}

fn lock(parked: &Mutex<ParkedConversations>) -> MutexGuard<'_, ParkedConversations> {
    parked.lock().unwrap_or_else(PoisonError::into_inner)
}
