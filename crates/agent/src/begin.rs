//! How a run begins: what it needs is read and decided, then its row, its question and its first
//! steps are written together, and a task goes on from there.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use onyx_storage::{BeginIn, BeginRun, Lease, SessionChange, StoreError, title_of};
use onyx_types::{
    AgentId, Cancel, ErrorCode, Event, Fault, LaneId, Limits, Mint, RunId, RunStatus, Scope,
    SessionId, SessionKey, SessionOrigin, Usage,
};
use tokio::sync::mpsc;

use crate::RunManager;
use crate::actions::RunReport;
use crate::client::{ClientInput, ClientTurn};
use crate::decisions::Decisions;
use crate::driver::{Driver, UnderWay};
use crate::feed::Feed;
use crate::held::HeldLease;
use crate::live_text::LiveNotes;
use crate::manager::{LiveRun, MOST_WAITING, RunHandle};
use crate::notices::Happened;
use crate::place::Place;
use crate::request::{RunInput, RunRequest, RunTerms};
use crate::roster::Roster;
use crate::seats::Seat;
use crate::sessions::no_such_session;
use crate::step::{Speaker, UserInput};
use crate::titles::{Naming, Titles};

/// A run of which nothing is written yet.
pub(crate) struct Ready {
    begin: BeginRun,
    /// Of a new session.
    keep: Option<(SessionOrigin, Vec<AgentId>)>,
    live: LiveRun,
    driver: Box<Driver>,
    naming: Option<Naming>,
    handle: RunHandle,
}

impl RunManager {
    /// Reads and decides; nothing is written yet.
    pub(crate) async fn make_ready(
        &self,
        request: RunRequest,
        retrieve: Vec<Scope>,
        roster: &Roster,
        place: Place,
        lease: &Lease,
        (seat, notice): (Seat, Option<Event>),
    ) -> Result<Ready, Fault> {
        let inner = &self.inner;
        match inner.index.get() {
            Some(index) if place.is_new => index.session_begins(&place.key.person),
            Some(_) | None => {}
        }
        if !place.is_new {
            self.close_leftover_runs(lease).await?;
        }
        self.note_conversations(&place.key.person, place.is_new).await?;
        let now = inner.clock.now();
        let (run, fresh_turn, seed) = {
            let mut mint = self.mint();
            (mint.run(now.wall), mint.turn(now.wall), mint.fork_seed())
        };
        let mut leading = match place.is_new {
            true => Vec::new(),
            false => self.waiting(&place.key).await?,
        };
        let inbox = leading.iter().filter_map(|words| words.turn).collect();
        let decisions = match place.is_new {
            true => Vec::new(),
            false => self.untold_decisions(&place.key).await?,
        };
        let repeat = request.clone();
        let view = request.view.clone();
        let mut client = ClientInput::default();
        let (input_turn, input) = match request.input {
            RunInput::New(content) => {
                let by = speaker(&request.terms);
                let words = UserInput::new(inner.masked_words(content), by);
                (fresh_turn, Some(UserInput { view: request.view, ..words }))
            }
            // Found before the session was held: it may have been deleted meanwhile.
            RunInput::Stored(turn) | RunInput::Regenerate(turn) => {
                (self.question_of(&place.key, turn).await?.id, None)
            }
            RunInput::Queued(message) => {
                let is_it = |words: &UserInput| words.turn == Some(message) && !words.withdrawn;
                let at = leading.iter().position(is_it);
                // Somebody was quicker: that run has it, or it was taken back.
                let at = at.ok_or_else(|| Fault::plain(ErrorCode::SessionBusy))?;
                let words = leading.remove(at);
                leading.truncate(at);
                (message, Some(words))
            }
            RunInput::Waiting => {
                let at = leading.iter().rposition(|words| !words.withdrawn).ok_or_else(|| {
                    Fault::new(ErrorCode::InvalidRequest, "No words are waiting for an answer.")
                })?;
                let words = leading.remove(at);
                (words.turn.unwrap_or(fresh_turn), Some(words))
            }
            RunInput::Client(sent) => {
                client = *sent;
                client.mask(|text| inner.masked(text), |words| inner.masked_words(words));
                let words = client.turns.pop_if(|turn| matches!(turn, ClientTurn::User(_)));
                let words = words.and_then(|turn| match turn {
                    ClientTurn::User(content) => Some(content),
                    ClientTurn::Assistant(_)
                    | ClientTurn::ToolCall(_)
                    | ClientTurn::ToolResult { .. } => None,
                });
                let words = words.map(|content| UserInput {
                    view: request.view,
                    ..UserInput::new(content, Speaker::Person)
                });
                (fresh_turn, words)
            }
        };
        let limits = bounded(roster.limits(), &request.terms);
        let depth = request.terms.delegated.as_ref().map_or(0, |parent| parent.depth);
        let root = request.terms.delegated.as_ref().map_or(run, |parent| parent.root);
        let text = input.as_ref().map(|words| words.content.text()).unwrap_or_default();
        let title = title_of(&text);
        let report = request.terms.action.map(|name| RunReport::new(run, name, text, now.wall));
        let agents: Vec<_> = place.agents.iter().map(|agent| agent.id.clone()).collect();
        let home = self.home_of(&place.key.person, place.root, place.origin).await?;
        let retrieve = match &home {
            Some(home) if retrieve.is_empty() => home.retrieval(agents.iter()),
            Some(_) | None => retrieve,
        };
        let prepared = crate::sources::prepare(
            inner,
            crate::sources::Preparation {
                run,
                input_turn,
                input,
                leading,
                decisions,
                retrieve,
                home,
                view,
                key: place.key.clone(),
                agents: place.agents,
                order: place.order,
                model: request.model,
                client,
                is_new: place.is_new,
                mint: Mint::new(seed),
                limits: limits.clone(),
                depth,
                root,
            },
        )
        .await?;
        let begin = BeginRun {
            run,
            key: place.key.clone(),
            input_turn,
            started_at: now.wall,
            session: match place.is_new {
                true => BeginIn::New(place.origin),
                false => BeginIn::Existing,
            },
        };
        let keep = place.is_new.then_some((place.origin, agents));
        let feed = Feed::new(run);
        let cancel = Cancel::new();
        let (whisper, heard) = mpsc::channel(MOST_WAITING);
        let handle = RunHandle {
            run_id: run,
            session_id: place.key.session,
            events: feed.read_after(0),
            cancel: cancel.clone(),
        };
        let live = LiveRun {
            key: place.key,
            begun: now.mono,
            feed: Arc::clone(&feed),
            cancel: cancel.clone(),
            whisper,
            granted: prepared.granted.clone(),
            request: repeat,
            steered: false,
            kept: Vec::new(),
        };
        let namer = prepared.actors.first().and_then(|actor| actor.model.clone());
        let naming = namer
            .filter(|_| place.nameless && is_named(place.origin) && depth == 0)
            .filter(|_| self.titles() == Titles::Model)
            .map(|model| Naming { key: lease.key.clone(), model });
        let lanes = prepared.actors.len();
        let driver = Box::new(Driver {
            run,
            state: prepared.state,
            lanes: prepared.actors,
            store: inner.store.clone(),
            toolbox: Arc::clone(&inner.toolbox),
            models: Arc::clone(&inner.models),
            limits,
            clock: Arc::clone(&inner.clock),
            feed,
            lease: lease.clone(),
            seat: Some(seat),
            cancel,
            heard,
            inbox,
            decisions: Decisions::new(
                lease.key.clone(),
                Arc::clone(&inner.store.drafts),
                Arc::clone(&inner.clock),
                inner.notices.clone(),
            ),
            live_text: LiveNotes::new(prepared.model),
            attendance: request.attendance,
            execution: match request.dry_run {
                crate::DryRun::Off => onyx_tools::Execution::Real,
                crate::DryRun::On => onyx_tools::Execution::DryRun,
            },
            title,
            report,
            notice,
            spent: request.terms.delegated.map(|parent| parent.spent),
            log: None,
            under_way: UnderWay::new(lanes),
            opened: false,
        });
        Ok(Ready { begin, keep, live, driver, naming, handle })
    }

    /// From the ledger's row to the run at work, and where the store keeps such steps together, to
    /// the question in the log.
    pub(crate) async fn begin(&self, ready: Ready, lease: HeldLease) -> Result<RunHandle, Fault> {
        let Ready { begin, keep, live, driver, naming, handle } = ready;
        let manager = self.clone();
        let steps = async move {
            if let Err(fault) = manager.note_begin(begin, keep).await {
                lease.release().await;
                return Err(fault);
            }
            lease.hand_over();
            let (run, person, session) = (driver.run, live.key.person.clone(), live.key.session);
            manager.live().insert(run, live);
            manager.tell(&person, session, Happened::RunStarted(run));
            manager.work(driver, naming).await;
            Ok(handle)
        };
        self.inner.store.steps.follow(Box::pin(steps)).await
    }

    async fn note_begin(
        &self,
        begin: BeginRun,
        keep: Option<(SessionOrigin, Vec<AgentId>)>,
    ) -> Result<(), Fault> {
        let key = begin.key.clone();
        self.inner.store.ledger.begin_run(begin).await.map_err(|error| match error {
            StoreError::AlreadyRun => {
                Fault::new(ErrorCode::SessionBusy, "This message is being answered, or was.")
                    .with_hint("Ask for another answer to get a second one.")
            }
            StoreError::NotFound => no_such_session(key.session),
            other => other.into(),
        })?;
        match keep {
            Some((origin, agents)) => self.keep_new(&key, origin, agents).await,
            None => Ok(()),
        }
    }

    /// What the log of a new session will not say, as far as there is such a thing.
    async fn keep_new(
        &self,
        key: &SessionKey,
        origin: SessionOrigin,
        agents: Vec<AgentId>,
    ) -> Result<(), Fault> {
        if origin == SessionOrigin::Chat && agents.len() == 1 {
            return Ok(());
        }
        let change = SessionChange { agents: Some(agents), ..SessionChange::default() };
        self.change_session(&key.person, key.session, &change).await.map(drop)
    }

    /// Opens the run here if it can, and leaves the rest of it to a task. A fault in our own code
    /// must not leave a session locked or a client waiting.
    async fn work(&self, driver: Box<Driver>, naming: Option<Naming>) {
        let (run, lease, feed) = (driver.run, driver.lease.clone(), Arc::clone(&driver.feed));
        let opened = match self.inner.store.steps.are_kept_together() {
            true => AssertUnwindSafe(driver.open()).catch_unwind().await,
            // A caller that goes away here must not take the run along.
            false => Ok(driver),
        };
        self.go_on(opened, run, lease, feed, naming);
    }

    fn go_on(
        &self,
        opened: std::thread::Result<Box<Driver>>,
        run: RunId,
        lease: Lease,
        feed: Arc<Feed>,
        naming: Option<Naming>,
    ) {
        let manager = self.clone();
        tokio::spawn(Box::pin(async move {
            let ended = match opened {
                Ok(driver) => AssertUnwindSafe(driver.run()).catch_unwind().await,
                Err(panic) => Err(panic),
            };
            match ended {
                Ok((history, log)) => {
                    manager.pause("run.over").await;
                    if let Some(naming) = naming {
                        manager.name_session(naming, &history);
                    }
                    manager.inner.recent.keep(lease.key, history, log);
                }
                Err(_) => {
                    tracing::error!(%run, "the run's driver panicked");
                    manager.release(&lease).await;
                    feed.tell(LaneId::default(), Event::error(&Fault::plain(ErrorCode::Internal)));
                    feed.tell(LaneId::default(), failed(lease.key.session));
                    feed.close();
                }
            }
            manager.retire(run).await;
        }));
    }
}

/// Conversations of passing clients and with the persona editor are in no list that needs a name.
fn is_named(origin: SessionOrigin) -> bool {
    !matches!(origin, SessionOrigin::Api | SessionOrigin::AgentEditor)
}

fn bounded(limits: &Limits, terms: &RunTerms) -> Limits {
    let mut limits = limits.clone();
    limits.max_steps = terms.max_steps.unwrap_or(u32::MAX).min(limits.max_steps);
    if let Some(left) = terms.delegated.as_ref().and_then(|parent| parent.cost_left) {
        limits.max_cost = if limits.max_cost > 0.0 { left.min(limits.max_cost) } else { left };
    }
    limits
}

fn speaker(terms: &RunTerms) -> Speaker {
    match &terms.delegated {
        Some(parent) => Speaker::Agent(parent.by.clone(), parent.taint),
        None => Speaker::Person,
    }
}

fn failed(session: SessionId) -> Event {
    Event::Done {
        session_id: session,
        status: RunStatus::Error,
        assistant_turn_ids: Vec::new(),
        usage: Usage::default(),
    }
}
