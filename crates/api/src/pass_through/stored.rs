//! Responses and conversations that clients refer to by id: kept in memory for a day, a bounded
//! number for each person.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onyx_types::{PersonId, Timestamp};
use serde_json::Value;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The most entries for each person; the oldest are dropped first.
const MOST: usize = 256;

/// The stored responses and conversations of all people.
#[derive(Debug, Default)]
pub(crate) struct Stored(Mutex<BTreeMap<PersonId, StoredThreads>>);

#[derive(Debug, Default)]
struct StoredThreads {
    responses: VecDeque<StoredResponse>,
    conversations: VecDeque<StoredConversation>,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredResponse {
    pub(crate) at: Timestamp,
    pub(crate) id: String,
    /// The whole conversation before the answer, as items.
    pub(crate) input: Vec<Value>,
    pub(crate) body: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredConversation {
    pub(crate) at: Timestamp,
    pub(crate) id: String,
    pub(crate) metadata: Value,
    pub(crate) items: Vec<Value>,
}

impl Stored {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<PersonId, StoredThreads>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn response(
        &self,
        person: &PersonId,
        id: &str,
        now: Timestamp,
    ) -> Option<StoredResponse> {
        let kept = self.kept();
        let found = kept.get(person)?.responses.iter().find(|response| response.id == id)?;
        is_fresh(found.at, now).then(|| found.clone())
    }

    pub(crate) fn conversation(
        &self,
        person: &PersonId,
        id: &str,
        now: Timestamp,
    ) -> Option<StoredConversation> {
        let kept = self.kept();
        let found = kept.get(person)?.conversations.iter().find(|one| one.id == id)?;
        is_fresh(found.at, now).then(|| found.clone())
    }

    pub(crate) fn forget_response(&self, person: &PersonId, id: &str) -> bool {
        let mut kept = self.kept();
        let Some(kept) = kept.get_mut(person) else { return false };
        let before = kept.responses.len();
        kept.responses.retain(|response| response.id != id);
        kept.responses.len() < before
    }

    pub(crate) fn forget_conversation(&self, person: &PersonId, id: &str) -> bool {
        let mut kept = self.kept();
        let Some(kept) = kept.get_mut(person) else { return false };
        let before = kept.conversations.len();
        kept.conversations.retain(|conversation| conversation.id != id);
        kept.conversations.len() < before
    }

    /// Adds a conversation, or replaces the one with the same id.
    pub(crate) fn put_conversation(&self, person: &PersonId, conversation: StoredConversation) {
        let mut kept = self.kept();
        let kept = kept.entry(person.clone()).or_default();
        kept.conversations.retain(|one| one.id != conversation.id);
        kept.conversations.push_back(conversation);
        while kept.conversations.len() > MOST {
            kept.conversations.pop_front();
        }
    }

    pub(crate) fn put_response(&self, person: &PersonId, response: StoredResponse) {
        let mut kept = self.kept();
        let kept = kept.entry(person.clone()).or_default();
        kept.responses.push_back(response);
        while kept.responses.len() > MOST {
            kept.responses.pop_front();
        }
    }
}

fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    now.as_millis() - at.as_millis() < DAY_MS
}
