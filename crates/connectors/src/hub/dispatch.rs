//! Hands updates to their handlers: in order within a conversation, side by side across them, and
//! what cannot wait at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{InboxUpdate, StoreError, UpdateFailure};
use onyx_types::{Cancel, Fault};
use tokio::task::JoinSet;

use super::context::AccountContext;
use crate::answers::{Command, Handled, handle, plain_part};
use crate::answers_destination;
use crate::connector::Incoming;

const PAGE: u32 = 512;
const MOST_AT_ONCE: usize = 64;
/// So often is an update tried before a person has to look at it.
const MOST_ATTEMPTS: u32 = 6;
const LOOK_AGAIN: Duration = Duration::from_secs(5);
const LATER: Duration = Duration::from_millis(500);

pub(super) async fn dispatch(context: Arc<AccountContext>, stop: Cancel) {
    let mut dispatcher = Dispatcher { context, at_work: HashSet::new(), tasks: JoinSet::new() };
    while !stop.is_cancelled() {
        let context = Arc::clone(&dispatcher.context);
        let woken = context.incoming.notified();
        let wait = dispatcher.start_ready().await.unwrap_or_else(|error| {
            tracing::warn!(account = %context.key(), %error, "the inbox cannot be read");
            LOOK_AGAIN
        });
        tokio::select! {
            () = woken => {}
            Some(done) = dispatcher.tasks.join_next() => {
                if let Ok(id) = done {
                    dispatcher.at_work.remove(&id);
                }
            }
            () = context.clock.sleep(wait) => {}
            () = stop.cancelled() => {}
        }
    }
    // Runs go on without us; their answers are fetched when the account is back.
    dispatcher.tasks.shutdown().await;
}

struct Dispatcher {
    context: Arc<AccountContext>,
    at_work: HashSet<i64>,
    tasks: JoinSet<i64>,
}

impl Dispatcher {
    async fn start_ready(&mut self) -> Result<Duration, StoreError> {
        let mut wait = LOOK_AGAIN;
        let mut taken = HashSet::new();
        let now = self.context.clock.wall();
        for update in self.context.ledger.open_updates(self.context.key(), PAGE).await? {
            let Lane { conversation, is_urgent } = lane(&update);
            let is_free = is_urgent || taken.insert(conversation);
            if self.at_work.contains(&update.id) || !is_free {
                continue;
            }
            if update.not_before > now {
                let millis = update.not_before.as_millis() - now.as_millis();
                wait = wait.min(Duration::from_millis(millis.unsigned_abs().max(1)));
                continue;
            }
            if self.tasks.len() >= MOST_AT_ONCE {
                break;
            }
            let (id, context) = (update.id, Arc::clone(&self.context));
            self.at_work.insert(id);
            self.tasks.spawn(async move {
                attend(&context, id).await;
                id
            });
        }
        Ok(wait)
    }
}

/// Which line an update waits in.
struct Lane {
    conversation: (String, String),
    is_urgent: bool,
}

fn lane(update: &InboxUpdate) -> Lane {
    let incoming: Option<Incoming> = serde_json::from_str(&update.body).ok();
    let is_urgent = incoming.as_ref().is_some_and(|incoming| {
        incoming.press.is_some()
            || Command::parse(&incoming.text).is_some_and(|command| command.is_urgent())
    });
    let thread = incoming.map(|incoming| incoming.thread).unwrap_or_default();
    Lane { conversation: (update.peer.peer.clone(), thread), is_urgent }
}

async fn attend(context: &Arc<AccountContext>, id: i64) {
    let update = match context.ledger.begin_update(id).await {
        Ok(Some(update)) => update,
        Ok(None) => return,
        Err(error) => {
            return tracing::warn!(account = %context.key(), %error, "an update cannot be begun");
        }
    };
    let now = context.clock.wall();
    let (failure, fault) = match handle(context, &update).await {
        Handled::Done => return,
        Handled::Later(fault) => (UpdateFailure::Later(now.saturating_add(LATER)), fault),
        Handled::Failed(fault) if update.attempts >= MOST_ATTEMPTS => (UpdateFailure::Dead, fault),
        Handled::Failed(fault) => {
            let wait = Duration::from_millis(250).saturating_mul(1 << update.attempts.min(8));
            (UpdateFailure::Again(now.saturating_add(wait)), fault)
        }
    };
    if failure == UpdateFailure::Dead {
        give_up(context, &update, &fault).await;
    }
    if let Err(error) = context.ledger.fail_update(id, failure, &fault.message).await {
        tracing::error!(account = %context.key(), %error, "a failed update could not be noted");
    }
}

/// Both sides are told: who wrote, and who can do something about it.
async fn give_up(context: &AccountContext, update: &InboxUpdate, fault: &Fault) {
    context.tell_owner(format!(
        "A message over {} could not be answered: {}",
        context.key(),
        fault.message
    ));
    let name = format!("in:{}:dead", update.id);
    let to = answers_destination(&update.peer, &name);
    let text = "⚠ I could not answer this message. The owner of this Onyx was told.";
    let said = match plain_part(&context.connector.traits(), to, text) {
        Ok(part) => context.queue(vec![part]).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = said {
        tracing::error!(account = %context.key(), %fault, "nobody could be told of a dead letter");
    }
}
