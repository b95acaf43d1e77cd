//! Passes updates to their handlers: in order within a conversation, at the same time for different
//! conversations, and at once if they are urgent. A message that comes while a run works in its
//! conversation is handed to that run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{InboxUpdate, PeerKind, StoreError, UpdateFailure};
use onyx_types::{Cancel, Fault};
use tokio::task::{Id, JoinError, JoinSet};

use crate::answers::{Command, HandleResult, handle};
use crate::connector::Incoming;
use crate::context::{AccountContext, Conversation};
use crate::outbox::{main_chat, plain_part};

const PAGE: u32 = 512;
const MOST_AT_ONCE: usize = 64;
/// How often an update is tried before a person must decide about it.
const MOST_ATTEMPTS: u32 = 6;
const LOOK_AGAIN: Duration = Duration::from_secs(5);
const LATER: Duration = Duration::from_millis(500);

pub(super) async fn dispatch(context: Arc<AccountContext>, stop: Cancel) {
    let mut dispatcher = Dispatcher {
        context: Arc::clone(&context),
        at_work: HashSet::new(),
        orders: HashMap::new(),
        updates: HashMap::new(),
        tasks: JoinSet::new(),
    };
    while !stop.is_cancelled() {
        let woken = context.incoming.notified();
        let wait = dispatcher.start_ready().await.unwrap_or_else(|error| {
            tracing::warn!(account = %context.key(), %error, "the inbox of the account could not be read");
            LOOK_AGAIN
        });
        tokio::select! {
            () = woken => {}
            Some(done) = dispatcher.tasks.join_next_with_id() => dispatcher.ended(done),
            () = context.clock.sleep(wait) => {}
            () = stop.cancelled() => {}
        }
    }
    // The runs continue without this task; their answers are fetched when the account is started
    // again.
    dispatcher.tasks.shutdown().await;
}

struct Dispatcher {
    context: Arc<AccountContext>,
    /// Updates that a task is handling.
    at_work: HashSet<i64>,
    /// The order of each update that was open at the last look. It is kept so that the body is
    /// parsed only once.
    orders: HashMap<i64, UpdateOrder>,
    /// The update that each task handles, so that it is known even if the task panics.
    updates: HashMap<Id, i64>,
    tasks: JoinSet<()>,
}

impl Dispatcher {
    /// Notes all tasks that have ended before the ledger is read again, so that many messages need
    /// only one read.
    fn ended(&mut self, first: Result<(Id, ()), JoinError>) {
        let mut next = Some(first);
        while let Some(done) = next {
            let task = match &done {
                Ok((task, ())) => *task,
                Err(error) => error.id(),
            };
            if let Some(update) = self.updates.remove(&task) {
                self.at_work.remove(&update);
            }
            next = self.tasks.try_join_next_with_id();
        }
    }

    async fn start_ready(&mut self) -> Result<Duration, StoreError> {
        let mut wait = LOOK_AGAIN;
        let now = self.context.clock.wall();
        let open = self.context.ledger.open_updates(self.context.key(), PAGE).await?;
        let taking_words = self.context.taking_words();
        let mut orders = HashMap::with_capacity(open.len());
        let mut queues: HashMap<Conversation, Queue> = HashMap::new();
        for update in open {
            let order = self.orders.remove(&update.id).unwrap_or_else(|| UpdateOrder::of(&update));
            let queue = queues.entry(order.conversation.clone()).or_default();
            let may_start = queue.lets(order.urgency) && !self.at_work.contains(&update.id);
            if order.urgency != Urgency::Urgent {
                let takes_words = taking_words.contains(&update.id);
                *queue = if takes_words { queue.and_works() } else { Queue::Stands };
            }
            orders.insert(update.id, order);
            // An update that another gateway handles is left alone; this gateway takes it over if
            // the other one dies.
            if !may_start || update.is_elsewhere {
                continue;
            }
            if update.not_before > now {
                let millis = update.not_before.as_millis() - now.as_millis();
                wait = wait.min(Duration::from_millis(millis.unsigned_abs().max(1)));
                continue;
            }
            if self.tasks.len() < MOST_AT_ONCE {
                self.attend_to(update.id);
            }
        }
        self.orders = orders;
        Ok(wait)
    }

    fn attend_to(&mut self, update: i64) {
        let context = Arc::clone(&self.context);
        self.at_work.insert(update);
        let task = self.tasks.spawn(async move { attend(&context, update).await });
        self.updates.insert(task.id(), update);
    }
}

/// How long an update waits for those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    /// The update waits for no other.
    Urgent,
    /// The update waits until the runs of those before it accept messages.
    Words,
    /// The update waits until everything before it is done.
    InTurn,
}

/// The state of the updates that came before in the same conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Empty,
    /// Each of the earlier updates has a run that accepts further messages.
    Works,
    /// At least one of the earlier updates has to be handled first.
    Stands,
}

impl Queue {
    fn lets(self, urgency: Urgency) -> bool {
        match (urgency, self) {
            (Urgency::Urgent, _) | (_, Self::Empty) | (Urgency::Words, Self::Works) => true,
            (Urgency::InTurn, Self::Works) | (_, Self::Stands) => false,
        }
    }

    fn and_works(self) -> Self {
        match self {
            Self::Empty | Self::Works => Self::Works,
            Self::Stands => Self::Stands,
        }
    }
}

/// The conversation of an update, and how urgent the update is.
struct UpdateOrder {
    conversation: Conversation,
    urgency: Urgency,
}

impl UpdateOrder {
    fn of(update: &InboxUpdate) -> Self {
        let incoming: Option<Incoming> = serde_json::from_str(&update.body).ok();
        let urgency = incoming.as_ref().map_or(Urgency::InTurn, urgency);
        let thread = incoming.map(|incoming| incoming.thread).unwrap_or_default();
        Self { conversation: (update.peer.peer.clone(), thread), urgency }
    }
}

fn urgency(incoming: &Incoming) -> Urgency {
    if incoming.press.is_some() {
        return Urgency::Urgent;
    }
    match Command::parse(&incoming.text) {
        Some(command) if command.is_urgent() => Urgency::Urgent,
        Some(_) => Urgency::InTurn,
        // In a group other people write too, but a run accepts messages only from the person who
        // started it.
        None if incoming.kind == PeerKind::Group => Urgency::InTurn,
        None => Urgency::Words,
    }
}

async fn attend(context: &Arc<AccountContext>, id: i64) {
    let update = match context.ledger.begin_update(id).await {
        Ok(Some(update)) => update,
        Ok(None) => return,
        Err(error) => {
            return tracing::warn!(account = %context.key(), %error, "an update could not be started");
        }
    };
    let now = context.clock.wall();
    let (failure, fault) = match handle(context, &update).await {
        HandleResult::Done => return,
        HandleResult::Later(fault) => (UpdateFailure::Later(now.saturating_add(LATER)), fault),
        HandleResult::Failed(fault) if update.attempts >= MOST_ATTEMPTS => {
            (UpdateFailure::Dead, fault)
        }
        HandleResult::Failed(fault) => {
            let wait = Duration::from_millis(250).saturating_mul(1 << update.attempts.min(8));
            (UpdateFailure::Again(now.saturating_add(wait)), fault)
        }
    };
    if failure == UpdateFailure::Dead {
        give_up(context, &update, &fault).await;
    }
    if let Err(error) = context.ledger.fail_update(id, failure, &fault.message).await {
        tracing::error!(account = %context.key(), %error, "the failure of an update could not be saved");
    }
}

/// Informs both the person who wrote and the owner, because the owner may be able to fix the
/// problem.
async fn give_up(context: &AccountContext, update: &InboxUpdate, fault: &Fault) {
    context.home.tell(format!(
        "A message over {} could not be answered: {}",
        context.key(),
        fault.message
    ));
    let name = format!("in:{}:dead", update.id);
    let to = main_chat(&update.peer, &name);
    let text = "⚠ I could not answer this message. The owner of this Onyx was notified.";
    let queued = match plain_part(&context.connector.traits(), to, text) {
        Ok(part) => context.queue(vec![part]).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = queued {
        tracing::error!(account = %context.key(), %fault, "the sender of a failed message could not be notified");
    }
}
