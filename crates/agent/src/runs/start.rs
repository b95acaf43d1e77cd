//! Starts runs: one task takes a request through the three phases, begins the run and drives it to
//! its end.
//!
//! This is the only place that handles a caller who disconnects. Until the run is in the ledger,
//! the preparation is dropped with the caller and the session is free. From then on the run
//! continues without its caller, unless the caller was to get an `OwnedRun`, which stops the run
//! when it is dropped.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use onyx_storage::{Lease, SessionChange, StoreError};
use onyx_types::{
    AgentId, ErrorCode, Event, Fault, LaneId, RunId, RunStatus, Scope, SessionId, SessionKey,
    SessionOrigin, Usage,
};
use tokio::sync::oneshot;

use super::Runs;
use super::context::{BesideRun, FilesToAccept, NewSession, Run, load_context};
use super::hooks::after_run;
use super::live::RunContact;
use super::opening::open_session;
use super::owned::{OwnedRun, RunHandle};
use super::plan::resolve_input;
use super::request::RunRequest;
use crate::drive::Driver;
use crate::notices::NoticeKind;
use crate::sessions::{LeaseGuard, no_such_session};

/// A run whose question is in the log, or whose driver panicked before that.
struct BegunRun {
    contact: RunContact,
    lease: Lease,
    beside: BesideRun,
    driver: std::thread::Result<Box<Driver>>,
}

impl Runs {
    /// Starts a run that continues without its caller.
    pub async fn start(&self, request: RunRequest) -> Result<RunHandle, Fault> {
        self.spawn(request, Vec::new()).await
    }

    /// Starts a run whose message gets untrusted context from these scopes. The caller must derive
    /// the scopes from the space that the session belongs to, never from a payload.
    pub async fn start_with_context(
        &self,
        request: RunRequest,
        scopes: Vec<Scope>,
    ) -> Result<RunHandle, Fault> {
        self.spawn(request, scopes).await
    }

    /// Starts a run that is stopped when its caller disconnects.
    pub async fn start_owned(&self, request: RunRequest) -> Result<OwnedRun, Fault> {
        self.spawn(request, Vec::new()).await
    }

    async fn spawn<T>(&self, request: RunRequest, scopes: Vec<Scope>) -> Result<T, Fault>
    where
        T: From<RunHandle> + Send + 'static,
    {
        let (reply, begun) = oneshot::channel();
        // The future is boxed, because spawning a task moves it several times.
        tokio::spawn(Box::pin(self.clone().run_to_end(request, scopes, reply)));
        begun.await.unwrap_or_else(|_| Err(Fault::plain(ErrorCode::Internal)))
    }

    async fn run_to_end<T: From<RunHandle>>(
        self,
        request: RunRequest,
        scopes: Vec<Scope>,
        mut reply: oneshot::Sender<Result<T, Fault>>,
    ) {
        let prepared = tokio::select! {
            biased;
            () = reply.closed() => return,
            prepared = Box::pin(self.prepare(request, scopes)) => prepared,
        };
        let begun = match prepared {
            Ok((run, lease)) => {
                let handle = RunHandle::of(&run.live.contact);
                self.begin(run, lease).await.map(|begun| (begun, handle))
            }
            Err(fault) => Err(fault),
        };
        match begun {
            Ok((begun, handle)) => {
                // If the caller is gone, the handle is dropped here. Dropping an `OwnedRun` stops
                // the run; a `RunHandle` lets it continue.
                drop(reply.send(Ok(T::from(handle))));
                self.drive(begun).await;
            }
            // If the caller is gone, nobody needs the reason.
            Err(fault) => drop(reply.send(Err(fault))),
        }
    }

    /// Takes the request through the three phases: resolve input, open session, load context.
    async fn prepare(
        &self,
        request: RunRequest,
        scopes: Vec<Scope>,
    ) -> Result<(Run, LeaseGuard), Fault> {
        let runs = &*self.shared;
        let mut plan = resolve_input(runs, request, scopes).await?;
        let lease = runs.sessions.acquire_lease(&plan.session.key).await?;
        let loaded = async {
            let opened = open_session(runs, &mut plan, &lease).await?;
            load_context(runs, plan, opened, &lease).await
        };
        match loaded.await {
            Ok(run) => Ok((run, lease)),
            Err(fault) => {
                // The lease is released before the fault is reported, because the caller may try
                // again at once.
                lease.release().await;
                Err(fault)
            }
        }
    }

    /// Writes the ledger's row and the question, and lists the run among those at work. Where the
    /// store can, it does these steps on one thread, because each hand-over would cost more than
    /// the step.
    async fn begin(&self, run: Run, lease: LeaseGuard) -> Result<BegunRun, Fault> {
        let runs = self.clone();
        let steps = async move {
            let Run { new_session, live, driver, beside } = run;
            if let Some(new) = new_session
                && let Err(fault) = runs.begin_session(new).await
            {
                lease.release().await;
                return Err(fault);
            }
            let lease = lease.hand_over();
            let contact = live.contact.clone();
            runs.shared.table.live.add(live);
            runs.shared.pauses.at("run.listed").await;
            let driver = match AssertUnwindSafe(driver.open()).catch_unwind().await {
                Ok(Ok(driver)) => Ok(driver),
                Ok(Err(error)) => {
                    runs.give_up(&contact).await;
                    return Err(not_begun(error, lease.key.session));
                }
                Err(panic) => Err(panic),
            };
            let (person, session) = (&contact.key.person, contact.key.session);
            runs.shared.notices.tell(person, session, NoticeKind::RunStarted(contact.run));
            Ok(BegunRun { contact, lease, beside, driver })
        };
        self.shared.drive.steps.follow(Box::pin(steps)).await
    }

    /// Frees the session of a run that could not begin. Messages that arrived meanwhile get a run
    /// of their own.
    async fn give_up(&self, contact: &RunContact) {
        contact.feed.close();
        let Some(refused) = self.shared.table.remove(contact.run) else { return };
        if refused.expects_words {
            self.answer_waiting(refused.contact.key, refused.follow_up).await;
        }
    }

    /// Makes the rows of a session and of its first run.
    async fn begin_session(&self, new: NewSession) -> Result<(), Fault> {
        let NewSession { row, origin, agents } = new;
        let key = row.key.clone();
        let begun = self.shared.drive.ledger.begin_run(row).await;
        begun.map_err(|error| not_begun(error, key.session))?;
        self.keep_new_session(&key, origin, agents).await
    }

    /// Stores on disk what the log of a new session will not say, such as who answers in it.
    async fn keep_new_session(
        &self,
        key: &SessionKey,
        origin: SessionOrigin,
        agents: Vec<AgentId>,
    ) -> Result<(), Fault> {
        if origin == SessionOrigin::Chat && agents.len() == 1 {
            return Ok(());
        }
        let change = SessionChange { agents: Some(agents), ..SessionChange::default() };
        self.shared.sessions.change(&key.person, key.session, &change).await.map(drop)
    }

    /// Drives the run to its end. If our code panics, the session is still freed and its clients
    /// get an end.
    async fn drive(&self, begun: BegunRun) {
        let BegunRun { contact: RunContact { run, feed, .. }, lease, beside, driver } = begun;
        if let Some(foreign) = beside.foreign {
            self.ask_about(&foreign).await;
        }
        let ended = match driver {
            Ok(driver) => AssertUnwindSafe(driver.run()).catch_unwind().await,
            Err(panic) => Err(panic),
        };
        match ended {
            Ok((history, log)) => {
                self.shared.pauses.at("run.over").await;
                if let Some(to_name) = beside.to_name {
                    self.shared.namer.name(to_name, &history);
                }
                self.shared.context.histories.keep(lease.key, history, log);
            }
            Err(_) => {
                tracing::error!(%run, "the run's driver panicked");
                if let Err(error) = self.shared.drive.leases.release(&lease).await {
                    tracing::warn!(%run, %error, "the session's lease could not be released");
                }
                feed.tell(LaneId::default(), Event::error(&Fault::plain(ErrorCode::Internal)));
                feed.tell(LaneId::default(), failed(lease.key.session));
                feed.close();
            }
        }
        self.retire(run).await;
    }

    /// Asks the person in the Inbox about foreign files that would give agents instructions.
    async fn ask_about(&self, foreign: &FilesToAccept) {
        let FilesToAccept { files, cx } = foreign;
        match self.shared.drive.toolbox.propose_acceptance(files, cx).await {
            Ok(drafts) => {
                for draft in drafts {
                    let (person, session) = (&cx.key.person, cx.key.session);
                    self.shared.notices.tell(person, session, NoticeKind::Draft(draft));
                }
            }
            // The files count as evidence all the same, and the next run asks again.
            Err(error) => {
                tracing::warn!(%error, "the person could not be asked to accept foreign instructions")
            }
        }
    }

    /// Moves a run from those at work to those whose feed is kept.
    async fn retire(&self, run: RunId) {
        let now = self.shared.drive.clock.now().mono;
        let Some(ended) = self.shared.table.retire(run, now) else { return };
        let key = ended.contact.key;
        let last = ended.contact.feed.last();
        if let Some((status, usage)) = last.and_then(|last| super::figures::ending(&last.event)) {
            after_run(&self.shared, &key, run, status);
            let took = now.saturating_sub(ended.begun);
            self.shared.table.count_end(status, &usage, took);
            let (session, agent) = (key.session, &key.agent);
            tracing::info!(
                %run, %session, %agent, status = status.as_str(),
                input = usage.input, output = usage.output, "a run ended"
            );
        }
        self.shared.notices.tell(&key.person, key.session, NoticeKind::RunEnded(run));
        // Some messages came too late for the run to take them, so they get a follow-up run.
        if ended.expects_words && !ended.contact.cancel.is_cancelled() {
            self.answer_waiting(key, ended.follow_up).await;
        }
    }
}

/// The error that tells the caller why a run did not start.
fn not_begun(error: StoreError, session: SessionId) -> Fault {
    match error {
        StoreError::AlreadyRun => Fault::new(
            ErrorCode::SessionBusy,
            "This message is already answered or being answered.",
        )
        .with_hint("Ask for another answer to get a second one."),
        StoreError::NotFound => no_such_session(session),
        other => other.into(),
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
