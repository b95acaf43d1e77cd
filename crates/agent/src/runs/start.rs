//! How a run starts: one task takes a request through the three phases, begins the run and drives
//! it to its end.
//!
//! This is the only place that handles a caller who disconnects. Until the run is in the ledger, the
//! preparation is dropped with the caller and the session is free. From then on the run continues
//! without its caller, unless the caller was to get an `OwnedRun`: dropping that stops the run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use onyx_storage::{Area, Lease, ObjectKey, SessionChange, StoreError};
use onyx_tools::ToolCx;
use onyx_types::{
    AgentId, ErrorCode, Event, Fault, LaneId, RunId, RunStatus, Scope, SessionId, SessionKey,
    SessionOrigin, Usage,
};
use tokio::sync::oneshot;

use super::Runs;
use super::context::{NewSession, Run, load_context};
use super::hooks::after_run;
use super::live::RunContact;
use super::opening::open_session;
use super::owned::{OwnedRun, RunHandle};
use super::plan::resolve_input;
use super::request::RunRequest;
use crate::drive::Driver;
use crate::feed::Feed;
use crate::notices::NoticeKind;
use crate::sessions::{LeaseGuard, SessionToName, no_such_session};

/// A run whose question is in the log, or whose driver panicked on the way there.
struct BegunRun {
    run: RunId,
    lease: Lease,
    feed: Arc<Feed>,
    to_name: Option<SessionToName>,
    /// Whether the run's client may tell its answer again.
    is_of_client: bool,
    foreign: Option<(Vec<(Area, ObjectKey)>, ToolCx)>,
    driver: std::thread::Result<Box<Driver>>,
}

impl Runs {
    /// Starts a run that continues without its caller.
    pub async fn start(&self, request: RunRequest) -> Result<RunHandle, Fault> {
        self.spawn(request, Vec::new()).await
    }

    /// The message gets beside it what is found for it in these scopes, as untrusted context. They
    /// are made from the space that the session belongs to, never from a payload.
    pub async fn start_with_context(
        &self,
        request: RunRequest,
        scopes: Vec<Scope>,
    ) -> Result<RunHandle, Fault> {
        self.spawn(request, scopes).await
    }

    /// Starts a run that is stopped when its caller goes away.
    pub async fn start_owned(&self, request: RunRequest) -> Result<OwnedRun, Fault> {
        self.spawn(request, Vec::new()).await
    }

    async fn spawn<T>(&self, request: RunRequest, scopes: Vec<Scope>) -> Result<T, Fault>
    where
        T: From<RunHandle> + Send + 'static,
    {
        let (reply, begun) = oneshot::channel();
        // The task is in a box, because a task's future is moved several times.
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
                let contact = &run.live.contact;
                let handle = RunHandle {
                    run_id: contact.run,
                    session_id: contact.key.session,
                    events: contact.feed.read_after(0),
                    cancel: contact.cancel.clone(),
                };
                self.begin(run, lease).await.map(|begun| (begun, handle))
            }
            Err(fault) => Err(fault),
        };
        match begun {
            Ok((begun, handle)) => {
                // Where the caller has gone, dropping what it was to get decides what becomes of
                // the run.
                drop(reply.send(Ok(T::from(handle))));
                self.drive(begun).await;
            }
            // A caller that has gone needs no reason.
            Err(fault) => drop(reply.send(Err(fault))),
        }
    }

    /// The three phases: resolve input, open session, load context.
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
                // Released before the fault is reported, because the caller may try again at once.
                lease.release().await;
                Err(fault)
            }
        }
    }

    /// Writes the ledger's row and the question, and lists the run among those at work. The store
    /// does these steps on one thread where it can: each hand-over would cost more than the step.
    async fn begin(&self, run: Run, lease: LeaseGuard) -> Result<BegunRun, Fault> {
        let runs = self.clone();
        let steps = async move {
            let Run { new_session, live, driver, to_name, foreign } = run;
            let origin = new_session.as_ref().map(|new| new.origin);
            let is_of_client = origin == Some(SessionOrigin::Api);
            if let Some(new) = new_session
                && let Err(fault) = runs.begin_session(new).await
            {
                lease.release().await;
                return Err(fault);
            }
            let lease = lease.hand_over();
            let contact = live.contact.clone();
            runs.shared.live.add(live);
            runs.shared.namer.pause("run.listed").await;
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
            let (run, feed) = (contact.run, contact.feed);
            Ok(BegunRun { run, lease, feed, to_name, is_of_client, foreign, driver })
        };
        self.shared.drive.steps.follow(Box::pin(steps)).await
    }

    /// A run that could not begin: its session is free again, and messages that arrived meanwhile get a run of their own.
    async fn give_up(&self, contact: &RunContact) {
        contact.feed.close();
        let Some(refused) = self.shared.live.remove(contact.run) else { return };
        self.shared.retired.notify_waiters();
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

    /// Keeps on disk what the log of a new session will not say, as far as there is such a thing.
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

    /// Drives the run to its end. A panic of our own code leaves no session locked and no client
    /// waiting.
    async fn drive(&self, begun: BegunRun) {
        let BegunRun { run, lease, feed, to_name, is_of_client, foreign, driver } = begun;
        if let Some((files, cx)) = foreign {
            self.ask_about(&files, &cx).await;
        }
        let ended = match driver {
            Ok(driver) => AssertUnwindSafe(driver.run()).catch_unwind().await,
            Err(panic) => Err(panic),
        };
        match ended {
            Ok((history, log)) => {
                self.shared.namer.pause("run.over").await;
                if let Some(to_name) = to_name {
                    self.shared.namer.name(to_name, &history);
                }
                if is_of_client {
                    self.shared.given.remember(&lease.key.person, run, &history);
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

    /// Files that would steer agents and are not the person's wait for them in the Inbox.
    async fn ask_about(&self, files: &[(Area, ObjectKey)], cx: &ToolCx) {
        match self.shared.drive.toolbox.propose_acceptance(files, cx).await {
            Ok(drafts) => {
                for draft in drafts {
                    let (person, session) = (&cx.key.person, cx.key.session);
                    self.shared.notices.tell(person, session, NoticeKind::Draft(draft));
                }
            }
            // The files stay evidence all the same, and the next run asks again.
            Err(error) => {
                tracing::warn!(%error, "the person could not be asked to accept foreign instructions")
            }
        }
    }

    /// Moves a run from those at work to those that may still be read.
    async fn retire(&self, run: RunId) {
        let Some(RunContact { key, feed, .. }) = self.shared.live.get(run) else { return };
        let now = self.shared.drive.clock.now().mono;
        // The feed is kept before the run leaves those at work, so that whoever asks for its events
        // finds them at any moment.
        self.finished().keep(run, key.person, feed, now);
        let Some(ended) = self.shared.live.remove(run) else { return };
        self.shared.retired.notify_waiters();
        let key = ended.contact.key;
        let last = ended.contact.feed.last();
        if let Some((status, usage)) = last.and_then(|last| super::figures::ending(&last.event)) {
            after_run(&self.shared, &key, run, status);
            self.shared.counters.add(status, &usage, now.saturating_sub(ended.begun));
            let (session, agent) = (key.session, &key.agent);
            tracing::info!(
                %run, %session, %agent, status = status.as_str(),
                input = usage.input, output = usage.output, "a run ended"
            );
        }
        self.shared.notices.tell(&key.person, key.session, NoticeKind::RunEnded(run));
        // Words that came after the last moment in which the run could take them.
        if ended.expects_words && !ended.contact.cancel.is_cancelled() {
            self.answer_waiting(key, ended.follow_up).await;
        }
    }
}

/// Why a run did not start, for the caller.
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
