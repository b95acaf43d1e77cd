//! The ledger of connectors: incoming updates, outgoing messages, and the peers they belong to.

mod inbox;
mod mail;
mod outbox;
mod peers;

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{DraftId, PersonId, RunId, Timestamp};

use crate::{
    AccountKey, ConnectorLedger, ConversationRow, DeadLetter, InboxUpdate, LetterKind, Mail,
    NewPart, NewUpdate, OutboxPart, PeerChange, PeerKey, PeerRow, QueueFigures, SendEnd,
    StoreError, UpdateFailure,
};

use super::connect::Database;
use super::convert::count;
use super::gateway::Gateway;
use super::query::{execute, row};
use super::transaction::transact;

#[derive(Clone, Debug)]
pub(crate) struct PostgresConnectors {
    database: Database,
    gateway: Arc<Gateway>,
}

/// The gateway that works on a row, and its incarnation when it began.
#[derive(Clone, Copy, Debug)]
struct RowOwner<'a> {
    gateway: &'a str,
    incarnation: i64,
}

impl PostgresConnectors {
    pub(crate) fn new(database: Database, gateway: Arc<Gateway>) -> Self {
        Self { database, gateway }
    }

    fn owner(&self, incarnation: i64) -> RowOwner<'_> {
        RowOwner { gateway: self.gateway.id(), incarnation }
    }

    /// The owner to write into a row that this gateway begins to work on.
    async fn beginner(&self) -> Result<RowOwner<'_>, StoreError> {
        Ok(self.owner(self.gateway.alive_or_anew().await?))
    }

    /// The owner to compare with a row when work on it ends. If another gateway has taken the row
    /// over, they differ.
    fn ender(&self) -> Result<RowOwner<'_>, StoreError> {
        Ok(self.owner(self.gateway.incarnation()?))
    }
}

#[async_trait]
impl ConnectorLedger for PostgresConnectors {
    async fn cursor(&self, account: &AccountKey) -> Result<Option<String>, StoreError> {
        inbox::cursor(&self.database.client().await?, account).await
    }

    async fn store_updates(
        &self,
        account: &AccountKey,
        updates: Vec<NewUpdate>,
        cursor: Option<String>,
        at: Timestamp,
    ) -> Result<usize, StoreError> {
        transact!(self.database, transaction => {
            inbox::store(&transaction, account, &updates, cursor.as_deref(), at).await
        })
    }

    async fn open_updates(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<InboxUpdate>, StoreError> {
        let owner = self.ender()?;
        inbox::open(&self.database.client().await?, account, owner, limit).await
    }

    async fn begin_update(&self, id: i64) -> Result<Option<InboxUpdate>, StoreError> {
        let owner = self.beginner().await?;
        inbox::begin(&self.database.client().await?, id, owner).await
    }

    async fn promise_run(
        &self,
        id: i64,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<(PersonId, RunId)>, StoreError> {
        let owner = self.ender()?;
        inbox::promise(&self.database.client().await?, id, owner, person, run).await
    }

    async fn set_growing(&self, id: i64, message: &str) -> Result<(), StoreError> {
        let owner = self.ender()?;
        inbox::set_growing(&self.database.client().await?, id, owner, message).await
    }

    async fn finish_update(
        &self,
        id: i64,
        parts: Vec<NewPart>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let owner = self.ender()?;
        transact!(self.database, transaction => {
            let is_over = inbox::finish(&transaction, id, owner).await?;
            if is_over {
                outbox::queue(&transaction, &parts, at).await?;
            }
            Ok(is_over)
        })
    }

    async fn fail_update(
        &self,
        id: i64,
        failure: UpdateFailure,
        why: &str,
    ) -> Result<(), StoreError> {
        let owner = self.ender()?;
        inbox::fail(&self.database.client().await?, id, owner, failure, why).await
    }

    async fn queue_parts(&self, parts: Vec<NewPart>, at: Timestamp) -> Result<(), StoreError> {
        transact!(self.database, transaction => { outbox::queue(&transaction, &parts, at).await })
    }

    async fn next_parts(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<OutboxPart>, StoreError> {
        outbox::heads(&self.database.client().await?, account, limit).await
    }

    async fn is_clear(&self, peer: &PeerKey) -> Result<bool, StoreError> {
        outbox::is_clear(&self.database.client().await?, peer).await
    }

    async fn begin_send(&self, id: i64) -> Result<bool, StoreError> {
        let owner = self.beginner().await?;
        outbox::begin(&self.database.client().await?, id, owner).await
    }

    async fn end_send(&self, id: i64, end: SendEnd) -> Result<(), StoreError> {
        let owner = self.ender()?;
        outbox::end(&self.database.client().await?, id, owner, &end).await
    }

    async fn settle_sends(&self, account: &AccountKey) -> Result<u64, StoreError> {
        let owner = self.ender()?;
        transact!(self.database, transaction => {
            outbox::settle(&transaction, account, Some(owner)).await
        })
    }

    async fn settle_lost_sends(&self, account: &AccountKey) -> Result<u64, StoreError> {
        transact!(self.database, transaction => {
            outbox::settle(&transaction, account, None).await
        })
    }

    fn incarnation(&self) -> Result<i64, StoreError> {
        self.gateway.alive()
    }

    async fn figures(&self, account: &AccountKey) -> Result<QueueFigures, StoreError> {
        let client = self.database.client().await?;
        let figures = row(
            &client,
            "SELECT
               (SELECT count(*) FROM connector_inbox
                 WHERE network = $1 AND account = $2 AND state IN ('new', 'working')),
               (SELECT count(*) FROM connector_outbox
                 WHERE network = $1 AND account = $2 AND state IN ('queued', 'sending')),
               (SELECT count(*) FROM connector_inbox
                 WHERE network = $1 AND account = $2 AND state = 'dead')
               + (SELECT count(*) FROM connector_outbox
                 WHERE network = $1 AND account = $2 AND state IN ('dead', 'unknown'))",
            &[&account.network, &account.account],
        )
        .await?;
        Ok(QueueFigures {
            incoming: count(&figures, 0)?,
            outgoing: count(&figures, 1)?,
            dead: count(&figures, 2)?,
        })
    }

    async fn dead_letters(
        &self,
        account: &AccountKey,
        limit: u32,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        let client = self.database.client().await?;
        let came = inbox::dead(&client, account, limit).await?.into_iter().map(DeadLetter::In);
        let went = outbox::dead(&client, account, limit).await?.into_iter().map(DeadLetter::Out);
        let mut letters: Vec<_> = came.chain(went).collect();
        letters.sort_by_key(|letter| match letter {
            DeadLetter::In(update) => std::cmp::Reverse(update.received_at),
            DeadLetter::Out(part) => std::cmp::Reverse(part.created_at),
        });
        letters.truncate(limit as usize);
        Ok(letters)
    }

    async fn retry_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        match kind {
            LetterKind::In => inbox::revive(&client, account, id).await,
            LetterKind::Out => outbox::revive(&client, account, id).await,
        }
    }

    async fn drop_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        match kind {
            LetterKind::In => inbox::give_up(&client, account, id).await,
            LetterKind::Out => outbox::give_up(&client, account, id).await,
        }
    }

    async fn put_mail(
        &self,
        peer: &PeerKey,
        key: &str,
        text: &str,
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        transact!(self.database, transaction => {
            mail::put(&transaction, peer, key, text, at).await
        })
    }

    async fn mail_after(
        &self,
        peer: &PeerKey,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError> {
        mail::after(&self.database.client().await?, peer, after, limit).await
    }

    async fn forget_before(&self, account: &AccountKey, at: Timestamp) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            for statement in [inbox::FORGET, mail::FORGET, outbox::FORGET] {
                let given = at.as_millis();
                execute(&transaction, statement, &[&account.network, &account.account, &given])
                    .await?;
            }
            Ok(())
        })
    }

    async fn peer(&self, key: &PeerKey) -> Result<Option<PeerRow>, StoreError> {
        peers::one(&self.database.client().await?, key).await
    }

    async fn peers(&self, account: &AccountKey) -> Result<Vec<PeerRow>, StoreError> {
        peers::all(&self.database.client().await?, account).await
    }

    async fn put_peer(
        &self,
        change: PeerChange,
        most_waiting: u64,
    ) -> Result<Option<PeerRow>, StoreError> {
        transact!(self.database, transaction => {
            peers::put(&transaction, &change, most_waiting).await
        })
    }

    async fn remove_peer(&self, key: &PeerKey) -> Result<(), StoreError> {
        transact!(self.database, transaction => { peers::remove(&transaction, key).await })
    }

    async fn conversation(&self, peer: i64, thread: &str) -> Result<ConversationRow, StoreError> {
        peers::conversation(&self.database.client().await?, peer, thread).await
    }

    async fn put_conversation(
        &self,
        peer: i64,
        thread: &str,
        row: ConversationRow,
    ) -> Result<(), StoreError> {
        peers::put_conversation(&self.database.client().await?, peer, thread, &row).await
    }

    async fn number_proposal(&self, peer: i64, draft: DraftId) -> Result<u64, StoreError> {
        transact!(self.database, transaction => { peers::number(&transaction, peer, draft).await })
    }

    async fn proposal(&self, peer: i64, number: u64) -> Result<Option<DraftId>, StoreError> {
        peers::proposal(&self.database.client().await?, peer, number).await
    }
}
