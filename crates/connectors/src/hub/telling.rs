//! What the owner is told: in the app, and of a dead network also over one that works.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use onyx_storage::{PeerKind, PeerState};
use onyx_types::{Fault, Timestamp};

use super::Shared;
use super::account::RunningAccount;
use super::health::AccountState;
use crate::answers::plain_part;
use crate::answers_destination;

/// Older ones are forgotten.
const MOST: usize = 50;

/// Something that the owner was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerNotice {
    pub at: Timestamp,
    pub text: String,
}

#[derive(Default)]
pub(super) struct OwnerNotices(Mutex<VecDeque<OwnerNotice>>);

impl OwnerNotices {
    fn add(&self, notice: OwnerNotice) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back(notice);
    }

    /// Newest first.
    pub(super) fn all(&self) -> Vec<OwnerNotice> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().cloned().collect()
    }
}

impl Shared {
    pub(super) fn tell(&self, text: String) {
        let at = self.ground.clock.wall();
        self.notices.add(OwnerNotice { at, text: text.clone() });
        self.ground.port.tell_owner(text);
    }

    /// Also to the owner's private chats on other accounts that are well.
    pub(super) async fn tell_elsewhere(&self, not_over: &onyx_storage::AccountKey, text: &str) {
        for account in self.running() {
            if account.key() != not_over
                && let Err(fault) = self.write_to_owner(&account, text).await
            {
                tracing::warn!(account = %account.key(), %fault, "the owner could not be told here");
            }
        }
    }

    async fn write_to_owner(&self, account: &RunningAccount, text: &str) -> Result<(), Fault> {
        if account.status().await?.state != AccountState::Listening {
            return Ok(());
        }
        let owner = self.ground.port.owner()?;
        let context = &account.context;
        for peer in self.ground.ledger.peers(account.key()).await? {
            let is_owner = peer.kind == PeerKind::Person
                && peer.state == PeerState::Paired
                && peer.person.as_ref() == Some(&owner);
            if is_owner {
                let name = format!("notice:{}:{}", peer.id, self.ground.clock.wall().as_millis());
                let to = answers_destination(&peer.key, &name);
                let part = plain_part(&context.connector.traits(), to, text)?;
                context.queue(vec![part]).await?;
            }
        }
        Ok(())
    }
}
