//! Notifies the owner over the other networks when a network stops working.

use onyx_storage::{PeerKind, PeerState};
use onyx_types::Fault;

use super::Shared;
use super::account::RunningAccount;
use super::health::AccountState;
use crate::outbox::{main_chat, plain_part};

impl Shared {
    /// Notifies the owner in the private chats of the other accounts that work.
    pub(super) async fn tell_elsewhere(&self, not_over: &onyx_storage::AccountKey, text: &str) {
        for account in self.running() {
            if account.key() != not_over
                && let Err(fault) = self.write_to_owner(&account, text).await
            {
                tracing::warn!(account = %account.key(), %fault, "the owner could not be notified in this chat");
            }
        }
    }

    async fn write_to_owner(&self, account: &RunningAccount, text: &str) -> Result<(), Fault> {
        if account.status().await?.state != AccountState::Listening {
            return Ok(());
        }
        let setup = &self.home.setup;
        let owner = setup.port.owner()?;
        let context = &account.context;
        for peer in setup.ledger.peers(account.key()).await? {
            let is_owner = peer.kind == PeerKind::Person
                && peer.state == PeerState::Paired
                && peer.person.as_ref() == Some(&owner);
            if is_owner {
                let name = format!("notice:{}:{}", peer.id, setup.clock.wall().as_millis());
                let to = main_chat(&peer.key, &name);
                let part = plain_part(&context.connector.traits(), to, text)?;
                context.queue(vec![part]).await?;
            }
        }
        Ok(())
    }
}
