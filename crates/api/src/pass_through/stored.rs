//! Responses and conversations that clients refer to by id: kept for a day, a bounded number for
//! each person, and known at every gateway.

use std::time::Duration;

use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};
use onyx_types::{ErrorCode, Fault, PersonId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// The room for each person and kind; the oldest are dropped first. A response holds the whole
/// conversation before it.
const ROOM: ShortLivedRoom = ShortLivedRoom { entries: 256, bytes: 64 * 1024 * 1024 };

/// The stored responses and conversations of a person.
pub(crate) struct StoredResponses<'a> {
    store: &'a dyn ShortLived,
    person: &'a PersonId,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredResponse {
    pub(crate) id: String,
    /// The whole conversation before the answer, as items.
    pub(crate) input: Vec<Value>,
    pub(crate) body: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredConversation {
    /// When the client created it.
    pub(crate) at: Timestamp,
    pub(crate) id: String,
    pub(crate) metadata: Value,
    pub(crate) items: Vec<Value>,
}

impl<'a> StoredResponses<'a> {
    pub(crate) fn of(store: &'a dyn ShortLived, person: &'a PersonId) -> Self {
        Self { store, person }
    }

    pub(crate) async fn response(&self, id: &str) -> Result<Option<StoredResponse>, Fault> {
        self.read(ShortLivedKind::Response, id).await
    }

    pub(crate) async fn conversation(&self, id: &str) -> Result<Option<StoredConversation>, Fault> {
        self.read(ShortLivedKind::Conversation, id).await
    }

    /// `false`: there was none.
    pub(crate) async fn forget_response(&self, id: &str) -> Result<bool, Fault> {
        self.forget(ShortLivedKind::Response, id).await
    }

    /// `false`: there was none.
    pub(crate) async fn forget_conversation(&self, id: &str) -> Result<bool, Fault> {
        self.forget(ShortLivedKind::Conversation, id).await
    }

    /// Adds a conversation, or replaces the one with the same id.
    pub(crate) async fn put_conversation(
        &self,
        conversation: &StoredConversation,
    ) -> Result<(), Fault> {
        self.write(ShortLivedKind::Conversation, &conversation.id, conversation).await
    }

    pub(crate) async fn put_response(&self, response: &StoredResponse) -> Result<(), Fault> {
        self.write(ShortLivedKind::Response, &response.id, response).await
    }

    async fn read<T: DeserializeOwned>(
        &self,
        kind: ShortLivedKind,
        id: &str,
    ) -> Result<Option<T>, Fault> {
        let found = self.store.get(kind, ShortLivedEntry::key_of(self.person, id)).await?;
        let Some(found) = found else { return Ok(None) };
        serde_json::from_str(&found.value).map(Some).map_err(|error| unreadable(&error))
    }

    async fn forget(&self, kind: ShortLivedKind, id: &str) -> Result<bool, Fault> {
        let taken = self.store.take(kind, ShortLivedEntry::key_of(self.person, id)).await?;
        Ok(taken.is_some())
    }

    async fn write<T: Serialize>(
        &self,
        kind: ShortLivedKind,
        id: &str,
        value: &T,
    ) -> Result<(), Fault> {
        let value = serde_json::to_string(value).map_err(|error| unreadable(&error))?;
        let entry = ShortLivedEntry::of(self.person, id, value, LASTS);
        Ok(self.store.put(kind, entry, ROOM).await?)
    }
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(ErrorCode::Internal, format!("a stored response is not understood: {error}"))
}
