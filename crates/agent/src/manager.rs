//! Starts, stops and finds runs. At most one run works on a session at a time.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use onyx_knowledge::Index;
use onyx_storage::{Delivery, Lease, Store, StoreError};
use onyx_tools::{Granted, LiveOutput, Toolbox};
use onyx_types::{
    Cancel, Clock, DraftId, ErrorCode, Fault, Mint, Model, Pauses, PersonId, RunId, Scope,
    SessionId, SessionKey, ToolUseId, TurnId, UserContent, UserPart,
};
use tokio::sync::{Notify, Semaphore, broadcast, mpsc};

use crate::driver::{LEASE_LIFE, Whisper};
use crate::feed::{EventReader, Feed, Outline};
use crate::finished::{Finished, Found};
use crate::held::HeldLease;
use crate::models::Models;
use crate::notices::{Happened, MOST_UNHEARD, Notice};
use crate::place::check_input;
use crate::request::{RunInput, RunRequest, StopTarget};
use crate::roster::Roster;
use crate::seats::Seats;
use crate::step::{DecidedDraft, UserInput};
use crate::titles::{MOST_AT_ONCE, Titles};

/// Shared by every surface; cheap to clone.
#[derive(Clone)]
pub struct RunManager {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: ManagerOptions,
    roster: RwLock<Arc<Roster>>,
    mint: Mutex<Mint>,
    seats: Arc<Seats>,
    live: Mutex<HashMap<RunId, LiveRun>>,
    finished: Mutex<Finished>,
    pub(crate) tally: crate::figures::Tally,
    pub(crate) snapshots: crate::snapshots::Snapshots,
    pub(crate) recent: crate::recent::RecentTurns,
    /// Drafts that this process is applying.
    pub(crate) applying: Mutex<BTreeSet<DraftId>>,
    /// Held while a session's settings change.
    pub(crate) settings: tokio::sync::Mutex<()>,
    /// Held while a persona's conversation is looked for or begun.
    pub(crate) editors: tokio::sync::Mutex<()>,
    /// Held while a space's companion is looked for or begun.
    pub(crate) homes: tokio::sync::Mutex<()>,
    pub(crate) promised: crate::queue::Promised,
    /// Held while a message is kept that its sender may repeat.
    pub(crate) posting: tokio::sync::Mutex<()>,
    pub(crate) notices: broadcast::Sender<Notice>,
    /// Who is known to have more than one conversation.
    pub(crate) conversing: Mutex<BTreeSet<PersonId>>,
    titles: RwLock<Titles>,
    pub(crate) index: OnceLock<Index>,
    /// One permit for each session that is being named.
    pub(crate) naming: Arc<Semaphore>,
    /// A run was moved from those at work to those that may still be read.
    retired: Notify,
    pauses: RwLock<Pauses>,
}

impl Inner {
    /// Known secrets go to no model and into no log.
    pub(crate) fn masked(&self, text: String) -> String {
        match self.toolbox.mask(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    pub(crate) fn masked_words(&self, content: UserContent) -> UserContent {
        match content {
            UserContent::Text(text) => UserContent::Text(self.masked(text)),
            UserContent::Parts(parts) => {
                let part = |part| match part {
                    UserPart::Text { text } => UserPart::Text { text: self.masked(text) },
                    other @ (UserPart::Image { .. } | UserPart::File { .. }) => other,
                };
                UserContent::Parts(parts.into_iter().map(part).collect())
            }
        }
    }

    pub(crate) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Clone, Debug)]
pub struct ManagerOptions {
    /// Runs at work at once; beyond it a request is told to come back later.
    pub max_runs: usize,
    /// Seeds ids; unpredictable in production.
    pub seed: u64,
    /// Makes the fences of untrusted blocks unguessable.
    pub fence_secret: [u8; 32],
}

pub(crate) struct LiveRun {
    pub(crate) key: SessionKey,
    pub(crate) begun: Duration,
    pub(crate) feed: Arc<Feed>,
    pub(crate) cancel: Cancel,
    pub(crate) whisper: mpsc::Sender<Whisper>,
    pub(crate) granted: Granted,
    pub(crate) request: RunRequest,
    pub(crate) steered: bool,
    /// Models that its tools used: what they cost is open until the run is booked.
    pub(crate) kept: Vec<Arc<dyn Model>>,
}

/// A run at work, as somebody who wants to add words sees it.
pub(crate) struct AtWork {
    pub(crate) run: RunId,
    pub(crate) key: SessionKey,
    pub(crate) cancel: Cancel,
    whisper: mpsc::Sender<Whisper>,
}

impl AtWork {
    /// Where a call of the run shows what it says while it works.
    pub(crate) fn live_output(&self, call: ToolUseId) -> LiveOutput {
        let (sender, mut chunks) = mpsc::channel(MOST_WAITING);
        let whisper = self.whisper.clone();
        tokio::spawn(async move {
            while let Some(chunk) = chunks.recv().await {
                // It may be lost, the result holds the whole; people's words must find room.
                if whisper.capacity() > MOST_WAITING / 2 {
                    let _ = whisper.try_send(Whisper::Output(call.clone(), chunk));
                }
            }
        });
        LiveOutput::to(sender)
    }

    pub(crate) fn tell(&self, delivery: Delivery, words: UserInput) {
        // A run that is over, or has its hands full, takes nothing: the words are in the inbox and
        // are looked for at its end.
        let _ = self.whisper.try_send(Whisper::Words(delivery, words));
    }

    pub(crate) fn tell_decision(&self, decided: DecidedDraft) {
        // A run that takes nothing leaves it to the session's next one.
        let _ = self.whisper.try_send(Whisper::Decided(decided));
    }
}

/// A started run.
#[derive(Debug)]
pub struct RunHandle {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub events: EventReader,
    pub(crate) cancel: Cancel,
}

/// Stops one run; for surfaces whose client may go away.
#[derive(Clone, Debug)]
pub struct Canceller(Cancel);

impl Canceller {
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl RunHandle {
    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancel.clone())
    }
}

/// Words handed to a run that it has not looked at yet.
pub(crate) const MOST_WAITING: usize = 64;
/// How long the end of the process waits for sessions that are being named.
const NAME_PATIENCE: Duration = Duration::from_secs(2);
/// How long `stop` waits for a run to write its end.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

impl RunManager {
    pub fn new(
        store: Store,
        toolbox: Arc<Toolbox>,
        models: Arc<dyn Models>,
        roster: Roster,
        clock: Arc<dyn Clock>,
        options: ManagerOptions,
    ) -> Self {
        let mint = Mutex::new(Mint::new(options.seed));
        let seats = Seats::new(options.max_runs);
        let inner = Inner {
            store,
            toolbox,
            models,
            clock,
            options,
            roster: RwLock::new(Arc::new(roster)),
            mint,
            seats,
            live: Mutex::default(),
            finished: Mutex::default(),
            tally: crate::figures::Tally::default(),
            snapshots: crate::snapshots::Snapshots::default(),
            recent: crate::recent::RecentTurns::default(),
            applying: Mutex::default(),
            settings: tokio::sync::Mutex::default(),
            editors: tokio::sync::Mutex::default(),
            homes: tokio::sync::Mutex::default(),
            promised: crate::queue::Promised::default(),
            posting: tokio::sync::Mutex::default(),
            notices: broadcast::Sender::new(MOST_UNHEARD),
            conversing: Mutex::default(),
            titles: RwLock::default(),
            index: OnceLock::new(),
            naming: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            retired: Notify::new(),
            pauses: RwLock::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// For tests that hold its background work up.
    pub fn set_pauses(&self, pauses: Pauses) {
        *self.inner.pauses.write().unwrap_or_else(PoisonError::into_inner) = pauses;
    }

    pub(crate) async fn pause(&self, point: &'static str) {
        let pauses = self.inner.pauses.read().unwrap_or_else(PoisonError::into_inner).clone();
        pauses.at(point).await;
    }

    /// Runs that have started keep the agents they started with.
    pub fn set_roster(&self, roster: Roster) {
        *self.inner.roster.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roster);
    }

    pub fn roster(&self) -> Arc<Roster> {
        self.inner.roster()
    }

    pub fn set_max_runs(&self, most: usize) {
        self.inner.seats.set_most(most);
    }

    /// From the next run on. Without it, sessions are named by their first words.
    pub fn set_titles(&self, titles: Titles) {
        *self.inner.titles.write().unwrap_or_else(PoisonError::into_inner) = titles;
    }

    pub(crate) fn titles(&self) -> Titles {
        *self.inner.titles.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs are answered from, once there is one.
    pub fn set_index(&self, index: Index) {
        // A second one would be of the same home.
        let _ = self.inner.index.set(index);
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.inner.clock)
    }

    /// The day on which spending counts now (UTC).
    pub fn today(&self) -> String {
        self.inner.clock.wall().utc_date()
    }

    /// The sessions of a person that are being worked on, and by which runs. A run whose end was
    /// told is none of them, though it may still be tidying up.
    pub fn runs_of(&self, person: &PersonId) -> Vec<(SessionId, RunId)> {
        let live = self.live();
        live.iter()
            .filter(|(_, run)| run.key.person == *person && !run.feed.is_done())
            .map(|(id, run)| (run.key.session, *id))
            .collect()
    }

    /// With those that told their end and are tidying up.
    pub fn runs_at_work(&self) -> usize {
        self.live().len()
    }

    pub async fn start(&self, request: RunRequest) -> Result<RunHandle, Fault> {
        self.start_with_context(request, Vec::new()).await
    }

    /// The message gets beside it what is found for it in these scopes, as untrusted context. They
    /// are made from where the session lives, never from a payload.
    pub async fn start_with_context(
        &self,
        request: RunRequest,
        scopes: Vec<Scope>,
    ) -> Result<RunHandle, Fault> {
        let roster = self.roster();
        let request = self.resolve_input(request).await?;
        check_input(&request.input, roster.limits().max_prompt_bytes)?;
        let seat = self.inner.seats.take().ok_or_else(|| Fault::plain(ErrorCode::Overloaded))?;
        let place = self.place(&request, &roster).await?;
        let wanted = place.agents.iter().filter_map(|agent| agent.model.primary.as_deref());
        let models = request.model.as_deref().into_iter().chain(wanted);
        let notice = self.runtime_notice(&request.person, models).await?;
        let lease = self.lease(&place.key).await?;
        match self.make_ready(request, scopes, &roster, place, &lease, (seat, notice)).await {
            Ok(ready) => self.begin(ready, lease).await,
            Err(fault) => {
                lease.release().await;
                Err(fault)
            }
        }
    }

    /// Moves a run from those at work to those that may still be read.
    pub(crate) async fn retire(&self, run: RunId) {
        let now = self.inner.clock.now().mono;
        let Some((person, feed)) =
            self.live().get(&run).map(|live| (live.key.person.clone(), Arc::clone(&live.feed)))
        else {
            return;
        };
        // Before it is gone from those at work: who asks for its events finds them at any moment.
        self.finished().keep(run, person, feed, now);
        let Some(ended) = self.live().remove(&run) else { return };
        self.inner.retired.notify_waiters();
        let ending = ended.feed.last().and_then(|last| crate::figures::ending(&last.event));
        if let Some((status, usage)) = ending {
            self.inner.tally.add(status, &usage, now.saturating_sub(ended.begun));
            let (session, agent) = (ended.key.session, &ended.key.agent);
            tracing::info!(
                %run, %session, %agent, status = status.as_str(),
                input = usage.input, output = usage.output, "a run ended"
            );
        }
        self.tell(&ended.key.person, ended.key.session, Happened::RunEnded(run));
        // Words that came after the last moment in which the run could take them.
        if ended.steered && !ended.cancel.is_cancelled() {
            Box::pin(self.answer_waiting(ended.key, &ended.request)).await;
        }
    }

    /// From now on its end looks for words that it did not take.
    pub(crate) fn expect_words(&self, run: RunId) {
        if let Some(live) = self.live().get_mut(&run) {
            live.steered = true;
        }
    }

    /// What the model costs counts as open until the run is booked.
    pub(crate) fn keep_model(&self, run: RunId, model: Arc<dyn Model>) {
        if let Some(live) = self.live().get_mut(&run) {
            live.kept.push(model);
        }
    }

    /// The run that works on a session. One whose end was told does no more: the session is free.
    pub(crate) fn at_work(&self, person: &PersonId, session: SessionId) -> Option<AtWork> {
        let live = self.live();
        let (run, found) = live.iter().find(|(_, live)| {
            live.key.session == session && live.key.person == *person && !live.feed.is_done()
        })?;
        Some(AtWork {
            run: *run,
            key: found.key.clone(),
            cancel: found.cancel.clone(),
            whisper: found.whisper.clone(),
        })
    }

    /// The run that answers a message and has not told its end.
    pub fn run_answering(&self, person: &PersonId, message: TurnId) -> Option<RunId> {
        let live = self.live();
        let answers = |input: &RunInput| match input {
            RunInput::Queued(turn) | RunInput::Stored(turn) => *turn == message,
            RunInput::New(_)
            | RunInput::Regenerate(_)
            | RunInput::Waiting
            | RunInput::Client(_) => false,
        };
        let found = live.iter().find(|(_, live)| {
            live.key.person == *person && answers(&live.request.input) && !live.feed.is_done()
        });
        found.map(|(run, _)| *run)
    }

    /// What a person allowed a run at work.
    pub(crate) fn granted_of(&self, run: RunId) -> Option<Granted> {
        self.live().get(&run).map(|live| live.granted.clone())
    }

    /// What a run tells, from after a sequence number on: no gap, no repeat.
    pub async fn events(
        &self,
        person: &PersonId,
        run: RunId,
        after: u64,
    ) -> Result<EventReader, Fault> {
        let at_work = self
            .live()
            .get(&run)
            .filter(|live| live.key.person == *person)
            .map(|live| Arc::clone(&live.feed));
        let now = self.inner.clock.now().mono;
        let found = at_work.map(Found::Whole).or_else(|| self.finished().find(person, run, now));
        let feed = match found {
            Some(Found::Whole(feed)) => Some(feed),
            Some(Found::Outline(outline)) => self.filled(person, run, &outline).await?,
            None => None,
        };
        match feed {
            Some(feed) => Ok(feed.read_after(after)),
            None => Err(self.no_feed(person, run).await?),
        }
    }

    /// `None`: it is no run of this person's, or its log has lost what it said.
    async fn filled(
        &self,
        person: &PersonId,
        run: RunId,
        outline: &Outline,
    ) -> Result<Option<Arc<Feed>>, Fault> {
        let Some(session) = self.session_of(person, run).await? else { return Ok(None) };
        let logged = self.replay(person, session, run).await?;
        Ok(outline.filled(run, &logged))
    }

    async fn no_feed(&self, person: &PersonId, run: RunId) -> Result<Fault, Fault> {
        let known = self.inner.store.ledger.run(person, run).await?.is_some();
        let message = if known {
            format!(
                "The events of run {run} are no longer kept; its session's history has the answer."
            )
        } else {
            format!("There is no run {run}.")
        };
        Ok(Fault::new(ErrorCode::NotFound, message))
    }

    /// Stops a run and waits until its end is written. `false`: nothing was running.
    pub async fn stop(&self, person: &PersonId, target: StopTarget) -> Result<bool, Fault> {
        let found = {
            let live = self.live();
            live.iter()
                .filter(|(_, run)| run.key.person == *person && !run.feed.is_done())
                .find(|(id, run)| match target {
                    StopTarget::Session(session) => run.key.session == session,
                    StopTarget::Run(run) => **id == run,
                })
                .map(|(_, run)| (Arc::clone(&run.feed), run.cancel.clone()))
        };
        let Some((feed, cancel)) = found else {
            return Ok(false);
        };
        cancel.cancel();
        // Its end is certain; only how soon is not, and the caller need not wait for a slow disk.
        let _ = self.inner.clock.within(STOP_PATIENCE, drained(feed.read_after(0))).await;
        Ok(true)
    }

    /// Lets runs finish for a while, then stops them; returns when none is left or time is up.
    pub async fn drain(&self, patience: Duration) {
        let feeds: Vec<_> = self.live().values().map(|run| Arc::clone(&run.feed)).collect();
        let runs: Vec<RunId> = self.live().keys().copied().collect();
        let all = async {
            futures::future::join_all(feeds.iter().map(|feed| drained(feed.read_after(0)))).await;
            self.retired(&runs).await;
        };
        if self.inner.clock.within(patience, all).await.is_some() {
            return self.names_made(NAME_PATIENCE).await;
        }
        for run in self.live().values() {
            run.cancel.cancel();
        }
        let rest = futures::future::join_all(feeds.iter().map(|feed| drained(feed.read_after(0))));
        if self.inner.clock.within(STOP_PATIENCE, rest).await.is_none() {
            tracing::warn!("some runs did not end in time; they are closed at the next start");
        }
    }

    /// Waits until nothing of these runs is left to do: one that has told its end may be about to
    /// have its session named.
    async fn retired(&self, runs: &[RunId]) {
        loop {
            let mut one_more = std::pin::pin!(self.inner.retired.notified());
            one_more.as_mut().enable();
            if !runs.iter().any(|run| self.live().contains_key(run)) {
                return;
            }
            one_more.await;
        }
    }

    pub(crate) async fn lease(&self, key: &SessionKey) -> Result<HeldLease, Fault> {
        let acquired = self.inner.store.leases.acquire(key, LEASE_LIFE).await;
        let lease = acquired.map_err(|error| match error {
            StoreError::Busy => Fault::plain(ErrorCode::SessionBusy),
            other => other.into(),
        })?;
        Ok(HeldLease::new(self.clone(), lease))
    }

    pub(crate) async fn release(&self, lease: &Lease) {
        if let Err(error) = self.inner.store.leases.release(lease).await {
            tracing::warn!(session = %lease.key.session, %error, "a lease could not be released");
        }
    }

    pub(crate) fn mint(&self) -> std::sync::MutexGuard<'_, Mint> {
        self.inner.mint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self) -> std::sync::MutexGuard<'_, Finished> {
        self.inner.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn live(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, LiveRun>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn drained(mut events: EventReader) {
    while events.next().await.is_some() {}
}
