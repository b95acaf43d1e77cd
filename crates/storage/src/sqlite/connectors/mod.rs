//! The ledger of connectors: incoming updates, outgoing messages, and the peers they belong to.

mod inbox;
mod mail;
mod outbox;
mod peers;

use async_trait::async_trait;
use onyx_types::{DraftId, PersonId, RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    AccountKey, ConnectorLedger, ConversationRow, DeadLetter, InboxUpdate, LetterKind, Mail,
    NewPart, NewUpdate, OutboxPart, PeerChange, PeerKey, PeerRow, QueueFigures, SendEnd,
    StoreError, UpdateFailure,
};

use super::convert::count;
use super::ledger::SqliteLedger;

#[async_trait]
impl ConnectorLedger for SqliteLedger {
    async fn cursor(&self, account: &AccountKey) -> Result<Option<String>, StoreError> {
        let account = account.clone();
        self.readers.read(move |connection| inbox::cursor(connection, &account)).await
    }

    async fn store_updates(
        &self,
        account: &AccountKey,
        updates: Vec<NewUpdate>,
        cursor: Option<String>,
        at: Timestamp,
    ) -> Result<usize, StoreError> {
        let account = account.clone();
        let store = move |connection: &Connection| {
            inbox::store(connection, &account, &updates, cursor.as_deref(), at)
        };
        self.writer.write(store).await
    }

    async fn open_updates(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<InboxUpdate>, StoreError> {
        let account = account.clone();
        self.readers.read(move |connection| inbox::open(connection, &account, limit)).await
    }

    async fn begin_update(&self, id: i64) -> Result<Option<InboxUpdate>, StoreError> {
        self.writer.write(move |connection| inbox::begin(connection, id)).await
    }

    async fn promise_run(
        &self,
        id: i64,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<(PersonId, RunId)>, StoreError> {
        let person = person.clone();
        self.writer.write(move |connection| inbox::promise(connection, id, &person, run)).await
    }

    async fn set_growing(&self, id: i64, message: &str) -> Result<(), StoreError> {
        let message = message.to_owned();
        let set = move |connection: &Connection| {
            connection
                .prepare_cached("UPDATE connector_inbox SET growing = ?2 WHERE id = ?1")?
                .execute(params![id, message])?;
            Ok(())
        };
        self.writer.write(set).await
    }

    async fn finish_update(
        &self,
        id: i64,
        parts: Vec<NewPart>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let finish = move |connection: &Connection| {
            let is_over = inbox::finish(connection, id)?;
            if is_over {
                outbox::queue(connection, &parts, at)?;
            }
            Ok(is_over)
        };
        self.writer.write(finish).await
    }

    async fn fail_update(
        &self,
        id: i64,
        failure: UpdateFailure,
        why: &str,
    ) -> Result<(), StoreError> {
        let why = why.to_owned();
        self.writer.write(move |connection| inbox::fail(connection, id, failure, &why)).await
    }

    async fn queue_parts(&self, parts: Vec<NewPart>, at: Timestamp) -> Result<(), StoreError> {
        self.writer.write(move |connection| outbox::queue(connection, &parts, at)).await
    }

    async fn next_parts(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<OutboxPart>, StoreError> {
        let account = account.clone();
        self.readers.read(move |connection| outbox::heads(connection, &account, limit)).await
    }

    async fn is_clear(&self, peer: &PeerKey) -> Result<bool, StoreError> {
        let peer = peer.clone();
        self.readers.read(move |connection| outbox::is_clear(connection, &peer)).await
    }

    async fn begin_send(&self, id: i64) -> Result<bool, StoreError> {
        self.writer.write(move |connection| outbox::begin(connection, id)).await
    }

    async fn end_send(&self, id: i64, end: SendEnd) -> Result<(), StoreError> {
        self.writer.write(move |connection| outbox::end(connection, id, &end)).await
    }

    async fn settle_sends(&self, account: &AccountKey) -> Result<u64, StoreError> {
        let account = account.clone();
        self.writer.write(move |connection| outbox::settle(connection, &account)).await
    }

    async fn figures(&self, account: &AccountKey) -> Result<QueueFigures, StoreError> {
        let account = account.clone();
        self.readers.read(move |connection| figures(connection, &account)).await
    }

    async fn dead_letters(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        let account = account.clone();
        let read = move |connection: &Connection| {
            let mut letters: Vec<_> = inbox::dead(connection, &account, limit)?
                .into_iter()
                .map(DeadLetter::In)
                .chain(outbox::dead(connection, &account, limit)?.into_iter().map(DeadLetter::Out))
                .collect();
            letters.sort_by_key(|letter| match letter {
                DeadLetter::In(update) => std::cmp::Reverse(update.received_at),
                DeadLetter::Out(part) => std::cmp::Reverse(part.created_at),
            });
            letters.truncate(limit as usize);
            Ok(letters)
        };
        self.readers.read(read).await
    }

    async fn retry_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<bool, StoreError> {
        let account = account.clone();
        let retry = move |connection: &Connection| match kind {
            LetterKind::In => inbox::revive(connection, &account, id),
            LetterKind::Out => outbox::revive(connection, &account, id),
        };
        self.writer.write(retry).await
    }

    async fn drop_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<bool, StoreError> {
        let account = account.clone();
        let drop = move |connection: &Connection| match kind {
            LetterKind::In => inbox::give_up(connection, &account, id),
            LetterKind::Out => outbox::give_up(connection, &account, id),
        };
        self.writer.write(drop).await
    }

    async fn put_mail(
        &self,
        peer: &PeerKey,
        key: &str,
        text: &str,
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        let (peer, key, text) = (peer.clone(), key.to_owned(), text.to_owned());
        self.writer.write(move |connection| mail::put(connection, &peer, &key, &text, at)).await
    }

    async fn mail_after(
        &self,
        peer: &PeerKey,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError> {
        let peer = peer.clone();
        self.readers.read(move |connection| mail::after(connection, &peer, after, limit)).await
    }

    async fn forget_before(&self, account: &AccountKey, at: Timestamp) -> Result<(), StoreError> {
        let account = account.clone();
        let forget = move |connection: &Connection| {
            inbox::forget(connection, &account, at)?;
            mail::forget(connection, &account, at)?;
            outbox::forget(connection, &account, at)
        };
        self.writer.write(forget).await
    }

    async fn peer(&self, key: &PeerKey) -> Result<Option<PeerRow>, StoreError> {
        let key = key.clone();
        self.readers.read(move |connection| peers::one(connection, &key)).await
    }

    async fn peers(&self, account: &AccountKey) -> Result<Vec<PeerRow>, StoreError> {
        let account = account.clone();
        self.readers.read(move |connection| peers::all(connection, &account)).await
    }

    async fn put_peer(
        &self,
        change: PeerChange,
        most_waiting: u64,
    ) -> Result<Option<PeerRow>, StoreError> {
        self.writer.write(move |connection| peers::put(connection, &change, most_waiting)).await
    }

    async fn remove_peer(&self, key: &PeerKey) -> Result<(), StoreError> {
        let key = key.clone();
        self.writer.write(move |connection| peers::remove(connection, &key)).await
    }

    async fn conversation(&self, peer: i64, thread: &str) -> Result<ConversationRow, StoreError> {
        let thread = thread.to_owned();
        self.readers.read(move |connection| peers::conversation(connection, peer, &thread)).await
    }

    async fn put_conversation(
        &self,
        peer: i64,
        thread: &str,
        row: ConversationRow,
    ) -> Result<(), StoreError> {
        let thread = thread.to_owned();
        let put =
            move |connection: &Connection| peers::put_conversation(connection, peer, &thread, &row);
        self.writer.write(put).await
    }

    async fn number_proposal(&self, peer: i64, draft: DraftId) -> Result<u64, StoreError> {
        self.writer.write(move |connection| peers::number(connection, peer, draft)).await
    }

    async fn proposal(&self, peer: i64, number: u64) -> Result<Option<DraftId>, StoreError> {
        self.readers.read(move |connection| peers::proposal(connection, peer, number)).await
    }
}

fn figures(connection: &Connection, account: &AccountKey) -> Result<QueueFigures, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT
           (SELECT count(*) FROM connector_inbox
             WHERE network = ?1 AND account = ?2 AND state IN ('new', 'working')),
           (SELECT count(*) FROM connector_outbox
             WHERE network = ?1 AND account = ?2 AND state IN ('queued', 'sending')),
           (SELECT count(*) FROM connector_inbox
             WHERE network = ?1 AND account = ?2 AND state = 'dead')
           + (SELECT count(*) FROM connector_outbox
             WHERE network = ?1 AND account = ?2 AND state IN ('dead', 'unknown'))",
    )?;
    let found = statement
        .query_row(params![account.network, account.account], |row| {
            Ok(QueueFigures {
                incoming: count(row, 0)?,
                outgoing: count(row, 1)?,
                dead: count(row, 2)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}
