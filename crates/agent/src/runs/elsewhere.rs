//! Runs of other gateways, which this gateway can read, stop and steer.
//!
//! Which gateway works on a run and how it is reached is behind a port; a single process has no
//! such port. The run's events are relayed into a feed of this gateway with the same numbers. If
//! the other gateway is gone, the rest is read from the run's log as soon as a gateway has closed
//! the run.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use onyx_storage::{Delivery, Ledger, RunRow};
use onyx_types::{
    AgentId, Clock, DraftId, Envelope, ErrorCode, Event, Fault, PersonId, RunId, SessionId,
    SessionKey, TurnId, UserTurn,
};
use serde::{Deserialize, Serialize};

use crate::drive::DriveServices;
use crate::feed::{EventReader, Feed};
use crate::sessions::{RunReplay, Sessions};

/// How often a run whose gateway is gone is checked, until a gateway has closed it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How long to wait for that. It takes less time until a gateway counts as dead and its runs are
/// closed.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The id of a gateway and where it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayAddress {
    pub id: String,
    pub url: String,
}

/// What one gateway asks another to do with a run of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum RunOrder {
    StopSession {
        session: SessionId,
    },
    StopRun {
        run: RunId,
    },
    StopAgent {
        run: RunId,
        agent: AgentId,
    },
    /// Lets a run do for its rest what a person has approved in a draft of it for the whole run.
    Allow {
        run: RunId,
        draft: DraftId,
    },
    /// Passes a message to the run at work on a session. The message is in the session's inbox
    /// already.
    Words {
        session: SessionId,
        turn: TurnId,
        delivery: Delivery,
        words: Box<UserTurn>,
    },
}

/// Reaches the other gateways.
#[async_trait]
pub trait OtherGateways: Send + Sync {
    /// The other gateway that works on a session; `None` if this gateway does, or no living one.
    async fn holder(&self, key: &SessionKey) -> Result<Option<GatewayAddress>, Fault>;

    /// The gateway that began a run; `None` if this one did, or one that is gone.
    async fn runner(&self, run: RunId) -> Result<Option<GatewayAddress>, Fault>;

    /// The run's events at that gateway after a sequence number. `NotFound` if it keeps none of
    /// them; the stream ends early when that gateway goes away.
    async fn events(
        &self,
        at: &GatewayAddress,
        person: &PersonId,
        run: RunId,
        after: u64,
    ) -> Result<BoxStream<'static, Envelope>, Fault>;

    /// Asks the gateway to carry out an order. `false` if it has no such run or session at work.
    async fn ask(
        &self,
        at: &GatewayAddress,
        person: &PersonId,
        order: &RunOrder,
    ) -> Result<bool, Fault>;
}

/// The runs of other gateways, if there are any.
pub(super) struct RunsElsewhere {
    others: OnceLock<Arc<dyn OtherGateways>>,
    sessions: Sessions,
    replay: RunReplay,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
}

impl RunsElsewhere {
    pub(super) fn new(sessions: Sessions, replay: RunReplay, drive: &DriveServices) -> Self {
        let (ledger, clock) = (Arc::clone(&drive.ledger), Arc::clone(&drive.clock));
        Self { others: OnceLock::new(), sessions, replay, ledger, clock }
    }

    pub(super) fn set(&self, others: Arc<dyn OtherGateways>) {
        // The port is set only once, because all gateways share one database.
        let _ = self.others.set(others);
    }

    pub(super) fn are_possible(&self) -> bool {
        self.others.get().is_some()
    }

    /// Whether another living gateway holds the session.
    pub(super) async fn is_held(&self, key: &SessionKey) -> Result<bool, Fault> {
        match self.others.get() {
            Some(others) => Ok(others.holder(key).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Whether another living gateway began the run.
    pub(super) async fn has_begun(&self, run: RunId) -> Result<bool, Fault> {
        match self.others.get() {
            Some(others) => Ok(others.runner(run).await?.is_some()),
            None => Ok(false),
        }
    }

    /// The open run of a session, if another gateway may work on it.
    pub(super) async fn at_work_on(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<RunId>, Fault> {
        if !self.are_possible() {
            return Ok(None);
        }
        let key = match self.sessions.key(person, session).await {
            Ok(key) => key,
            Err(fault) if fault.code == ErrorCode::NotFound => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let open = self.ledger.open_runs(&key).await?;
        Ok(open.last().map(|run| run.run))
    }

    /// The open run that answers a message, if another gateway may work on it.
    pub(super) async fn answering(
        &self,
        person: &PersonId,
        message: TurnId,
    ) -> Result<Option<RunId>, Fault> {
        if !self.are_possible() {
            return Ok(None);
        }
        let open = self.ledger.active_runs().await?;
        let is_it = |run: &&RunRow| run.key.person == *person && run.input_turn == message;
        Ok(open.iter().find(is_it).map(|run| run.run))
    }

    /// Asks the other gateway that works on the session. `false` if there is none.
    pub(super) async fn ask_holder(
        &self,
        person: &PersonId,
        session: SessionId,
        order: RunOrder,
    ) -> Result<bool, Fault> {
        let Some(others) = self.others.get() else { return Ok(false) };
        let key = match self.sessions.key(person, session).await {
            Ok(key) => key,
            Err(fault) if fault.code == ErrorCode::NotFound => return Ok(false),
            Err(fault) => return Err(fault),
        };
        match others.holder(&key).await? {
            Some(holder) => others.ask(&holder, person, &order).await,
            None => Ok(false),
        }
    }

    /// Asks the other gateway that began the run. `false` if there is none.
    pub(super) async fn ask_runner(
        &self,
        person: &PersonId,
        run: RunId,
        order: RunOrder,
    ) -> Result<bool, Fault> {
        let Some(others) = self.others.get() else { return Ok(false) };
        if self.ledger.run(person, run).await?.is_none() {
            return Ok(false);
        }
        match others.runner(run).await? {
            Some(runner) => others.ask(&runner, person, &order).await,
            None => Ok(false),
        }
    }

    /// Follows a run of another gateway. `None` if there is no such run, or its events are no
    /// longer kept.
    pub(super) async fn follow(
        self: &Arc<Self>,
        person: &PersonId,
        run: RunId,
        after: u64,
    ) -> Result<Option<EventReader>, Fault> {
        let Some(others) = self.others.get() else { return Ok(None) };
        let Some(row) = self.ledger.run(person, run).await? else { return Ok(None) };
        let stream = match others.runner(run).await? {
            None => futures::stream::empty().boxed(),
            Some(runner) => match others.events(&runner, person, run, after).await {
                Ok(stream) => stream,
                Err(fault) if fault.code == ErrorCode::NotFound => return Ok(None),
                // The gateway is going away, so the events are read from the log.
                Err(fault) if fault.code == ErrorCode::StorageUnavailable => {
                    futures::stream::empty().boxed()
                }
                Err(fault) => return Err(fault),
            },
        };
        let feed = Feed::beginning_after(run, after);
        let reader = feed.read_after(after);
        tokio::spawn(Arc::clone(self).relay(row, feed, stream));
        Ok(Some(reader))
    }

    async fn relay(
        self: Arc<Self>,
        row: RunRow,
        feed: Arc<Feed>,
        mut stream: BoxStream<'static, Envelope>,
    ) {
        while let Some(envelope) = stream.next().await {
            feed.relay(envelope);
            // Only this task holds the feed, so nobody reads it any more.
            if Arc::strong_count(&feed) == 1 {
                return;
            }
        }
        if !feed.is_done()
            && let Err(fault) = self.tell_from_log(&row, &feed).await
        {
            tracing::warn!(run = %row.run, %fault, "the events of another gateway's run cannot be read");
        }
        feed.close();
    }

    /// Reads the rest from the log after the other gateway is gone. The gateway that closes the run
    /// writes its unfinished text into the log. Texts are sent whole, so a reader who had a part of
    /// one gets all of it.
    async fn tell_from_log(&self, row: &RunRow, feed: &Feed) -> Result<(), Fault> {
        let (person, session) = (&row.key.person, row.key.session);
        let until = self.clock.now().mono + LONGEST_WAIT;
        loop {
            let found = self.ledger.run(person, row.run).await?;
            if found.is_none_or(|row| row.status.is_some()) || self.clock.now().mono >= until {
                break;
            }
            self.clock.sleep(LOOK_AGAIN).await;
        }
        for envelope in self.replay.of_run(person, session, row.run).await? {
            let is_start = matches!(envelope.event, Event::Start { .. });
            if !(is_start && feed.has_begun()) {
                feed.tell(envelope.lane, envelope.event);
            }
        }
        Ok(())
    }
}
