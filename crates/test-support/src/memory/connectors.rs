//! The store of connectors, which the simulation does not have: a test that uses it is wrong.

use async_trait::async_trait;
use onyx_storage::{
    AccountKey, ConnectorLedger, ConversationRow, DeadLetter, InboxUpdate, LetterKind, Mail,
    NewPart, NewUpdate, OutboxPart, PeerChange, PeerKey, PeerRow, QueueFigures, SendEnd,
    StoreError, UpdateFailure,
};
use onyx_types::{DraftId, PersonId, RunId, Timestamp};

pub(super) struct NoConnectors;

fn refused<T>() -> Result<T, StoreError> {
    Err(StoreError::Refused("stores in memory keep nothing for connectors".to_owned()))
}

#[async_trait]
impl ConnectorLedger for NoConnectors {
    async fn cursor(&self, _: &AccountKey) -> Result<Option<String>, StoreError> {
        refused()
    }

    async fn store_updates(
        &self,
        _: &AccountKey,
        _: Vec<NewUpdate>,
        _: Option<String>,
        _: Timestamp,
    ) -> Result<usize, StoreError> {
        refused()
    }

    async fn open_updates(&self, _: &AccountKey, _: u32) -> Result<Vec<InboxUpdate>, StoreError> {
        refused()
    }

    async fn begin_update(&self, _: i64) -> Result<Option<InboxUpdate>, StoreError> {
        refused()
    }

    async fn promise_run(
        &self,
        _: i64,
        _: &PersonId,
        _: RunId,
    ) -> Result<Option<(PersonId, RunId)>, StoreError> {
        refused()
    }

    async fn set_growing(&self, _: i64, _: &str) -> Result<(), StoreError> {
        refused()
    }

    async fn finish_update(
        &self,
        _: i64,
        _: Vec<NewPart>,
        _: Timestamp,
    ) -> Result<bool, StoreError> {
        refused()
    }

    async fn fail_update(&self, _: i64, _: UpdateFailure, _: &str) -> Result<(), StoreError> {
        refused()
    }

    async fn queue_parts(&self, _: Vec<NewPart>, _: Timestamp) -> Result<(), StoreError> {
        refused()
    }

    async fn next_parts(&self, _: &AccountKey, _: u32) -> Result<Vec<OutboxPart>, StoreError> {
        refused()
    }

    async fn is_clear(&self, _: &PeerKey) -> Result<bool, StoreError> {
        refused()
    }

    async fn begin_send(&self, _: i64) -> Result<bool, StoreError> {
        refused()
    }

    async fn end_send(&self, _: i64, _: SendEnd) -> Result<(), StoreError> {
        refused()
    }

    async fn settle_sends(&self, _: &AccountKey) -> Result<u64, StoreError> {
        refused()
    }

    async fn figures(&self, _: &AccountKey) -> Result<QueueFigures, StoreError> {
        refused()
    }

    async fn dead_letters(&self, _: &AccountKey, _: u32) -> Result<Vec<DeadLetter>, StoreError> {
        refused()
    }

    async fn retry_letter(
        &self,
        _: &AccountKey,
        _: LetterKind,
        _: i64,
    ) -> Result<bool, StoreError> {
        refused()
    }

    async fn drop_letter(&self, _: &AccountKey, _: LetterKind, _: i64) -> Result<bool, StoreError> {
        refused()
    }

    async fn put_mail(
        &self,
        _: &PeerKey,
        _: &str,
        _: &str,
        _: Timestamp,
    ) -> Result<i64, StoreError> {
        refused()
    }

    async fn mail_after(&self, _: &PeerKey, _: i64, _: u32) -> Result<Vec<Mail>, StoreError> {
        refused()
    }

    async fn forget_before(&self, _: &AccountKey, _: Timestamp) -> Result<(), StoreError> {
        refused()
    }

    async fn peer(&self, _: &PeerKey) -> Result<Option<PeerRow>, StoreError> {
        refused()
    }

    async fn peers(&self, _: &AccountKey) -> Result<Vec<PeerRow>, StoreError> {
        refused()
    }

    async fn put_peer(&self, _: PeerChange, _: u64) -> Result<Option<PeerRow>, StoreError> {
        refused()
    }

    async fn remove_peer(&self, _: &PeerKey) -> Result<(), StoreError> {
        refused()
    }

    async fn conversation(&self, _: i64, _: &str) -> Result<ConversationRow, StoreError> {
        refused()
    }

    async fn put_conversation(
        &self,
        _: i64,
        _: &str,
        _: ConversationRow,
    ) -> Result<(), StoreError> {
        refused()
    }

    async fn number_proposal(&self, _: i64, _: DraftId) -> Result<u64, StoreError> {
        refused()
    }

    async fn proposal(&self, _: i64, _: u64) -> Result<Option<DraftId>, StoreError> {
        refused()
    }
}
