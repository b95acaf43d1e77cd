//! Remembers messages that a client may repeat because it did not get the first answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_types::PersonId;
use tokio::sync::OnceCell;

use super::result::SendResult;

/// How many messages are remembered. A client repeats a message within seconds of a lost
/// connection.
const KEPT: usize = 512;

type Outcome = Arc<OnceCell<SendResult>>;

/// Remembers the result of each message, by the key that its client gave it.
#[derive(Debug, Default)]
pub(super) struct SentKeys(Mutex<VecDeque<(PersonId, String, Outcome)>>);

impl SentKeys {
    /// The outcome of the message with this key. It is filled already if the message was sent
    /// before.
    pub(super) fn outcome(&self, person: &PersonId, key: &str) -> Outcome {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., known)) = kept.iter().find(|(p, k, _)| p == person && k == key) {
            return Arc::clone(known);
        }
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        let outcome = Outcome::default();
        kept.push_back((person.clone(), key.to_owned(), Arc::clone(&outcome)));
        outcome
    }
}
