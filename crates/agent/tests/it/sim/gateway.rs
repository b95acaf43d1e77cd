//! One gateway process with its stores, its agent and its clients. Dropping it simulates a crash:
//! all its tasks end in the middle of their work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onyx_agent::{
    AgentOptions, AgentServices, AgentsSettings, DryRun, EventReader, ForkPoint, Roster, RunInput,
    RunRequest, RunTerms, SendOutcome, SessionPatch, SessionRef, StopTarget, Titles,
};
use onyx_storage::{Area, Delivery};
use onyx_test_support::{LeasePlace, MemoryDisk};
use onyx_tools::{Masker, Services, Toolbox};
use onyx_types::{
    Attendance, Cancel, Clock, ErrorCode, Event, Fault, LaneOrder, Limits, PersonId, RunId,
    SessionId, SessionOrigin, StatusCode, ToolEffect, TurnId, UserContent,
};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::book::{UnusualEvent, Viewer};
use super::junction::{Junction, Process, Track};
use super::model::SimModel;
use super::tool::SimTool;

pub(super) fn person() -> PersonId {
    "ana".parse().unwrap()
}

pub(super) struct Gateway {
    pub(super) process: Process,
    /// Whether the process is stopped, as if the machine had suspended it.
    pub(super) frozen: bool,
    runtime: Runtime,
    agent: AgentServices,
    junction: Arc<Junction>,
    /// Set once the runs of earlier processes are closed. Before that no request is served.
    ready: Arc<AtomicBool>,
    clients: Vec<AbortHandle>,
}

impl Gateway {
    pub(super) fn start(
        disk: &MemoryDisk,
        junction: &Arc<Junction>,
        process: Process,
        place: LeasePlace,
        window: Option<u32>,
    ) -> Self {
        let track = Track { junction: Arc::clone(junction), process, leases: place };
        let clock: Arc<dyn Clock> = Arc::new(junction.clock.clone());
        let store = disk.open(Arc::clone(&clock), Arc::new(track.clone()), place);
        let services = Services {
            ledger: Arc::clone(&store.ledger),
            drafts: Arc::clone(&store.drafts),
            artifacts: onyx_tools::Artifacts::new(store.files.objects(&Area::Shared).unwrap()),
            masker: Masker::default(),
        };
        let tools: Vec<Arc<dyn onyx_tools::Tool>> = vec![
            Arc::new(SimTool::new("look", ToolEffect::Read, track.clone())),
            Arc::new(SimTool::new("note", ToolEffect::Write, track.clone())),
        ];
        let toolbox = Arc::new(Toolbox::new(tools, services).unwrap());
        let settings: AgentsSettings = serde_json::from_value(json!({"list": [
            {"id": "main", "default": true, "tier": "act"}, {"id": "other", "tier": "act"},
        ]}))
        .unwrap();
        let limits = Limits { max_run_seconds: 60, max_steps: 6, ..Limits::default() };
        let roster = Roster::resolve(&settings, &limits, &toolbox).unwrap().0;
        let seed = junction.chance.draw();
        let options = AgentOptions { max_runs: 16, seed, fence_secret: [9; 32] };
        let models = Arc::new(SimModel { track, window });
        let agent = AgentServices::new(store, toolbox, models, roster, clock, options);
        if junction.chance.percent(30) {
            agent.set_titles(Titles::Model);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let gateway = Self {
            process,
            frozen: false,
            runtime,
            agent,
            junction: Arc::clone(junction),
            ready: Arc::default(),
            clients: Vec::new(),
        };
        gateway.look_after_runs();
        gateway
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.frozen && self.ready.load(Ordering::Relaxed)
    }

    pub(super) fn runs_at_work(&self) -> usize {
        self.agent.runs.count()
    }

    /// Runs all tasks until each of them waits for something.
    pub(super) fn settle(&self) {
        if !self.frozen {
            self.runtime.block_on(async {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            });
        }
    }

    fn look_after_runs(&self) {
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        let ready = Arc::clone(&self.ready);
        self.runtime.spawn(async move {
            match agent.recover().await {
                Ok(0) => {}
                Ok(_) => junction.count(UnusualEvent::Recovery),
                Err(fault) => {
                    let mut book = junction.book.lock().unwrap();
                    book.violated(format!("recovery gave up: {fault:?}"));
                }
            }
            ready.store(true, Ordering::Relaxed);
            agent.tend(&Cancel::new()).await;
        });
    }

    /// Sends a message, in an existing session or a new one.
    pub(super) fn send(&mut self, session: Option<SessionId>, delivery: Delivery) {
        let text = self.junction.book.lock().unwrap().fresh("words");
        self.junction.book.lock().unwrap().said.insert(text.clone(), None);
        let input = RunInput::New(UserContent::Text(text.clone()));
        let request = self.request(session, input);
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        let process = self.process;
        self.client(async move {
            match agent.runs.send(request, delivery).await {
                Ok(SendOutcome::Started(handle)) => {
                    let started = (handle.session_id, handle.run_id);
                    junction.book.lock().unwrap().said.insert(text, Some(started));
                    watch(&junction, process, started, 0, handle.events).await;
                }
                Ok(SendOutcome::Queued { turn, .. }) => {
                    let mut book = junction.book.lock().unwrap();
                    let session = session.expect("only a session that exists is at work");
                    book.queued.push((session, turn));
                    book.count(match delivery {
                        Delivery::Steer => UnusualEvent::Steer,
                        Delivery::FollowUp | Delivery::OnRequest => UnusualEvent::FollowUp,
                    });
                }
                Err(fault) => refused(&junction, "send", &fault),
            }
        });
    }

    /// Asks for another answer to a message, in the same session or in a fork.
    pub(super) fn answer_again(
        &mut self,
        session: SessionId,
        input: RunInput,
        event: UnusualEvent,
    ) {
        let request = self.request(Some(session), input);
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        let process = self.process;
        self.client(async move {
            match agent.runs.start(request).await {
                Ok(handle) => {
                    junction.count(event);
                    let started = (handle.session_id, handle.run_id);
                    watch(&junction, process, started, 0, handle.events).await;
                }
                Err(fault) => refused(&junction, "answer again", &fault),
            }
        });
    }

    pub(super) fn fork(&mut self, session: SessionId, turn: TurnId) {
        let point = if self.junction.chance.percent(50) {
            ForkPoint::Through(turn)
        } else {
            ForkPoint::Before(turn)
        };
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        self.client(async move {
            match agent.sessions.fork(&person(), session, point).await {
                Ok(fork) => {
                    let mut book = junction.book.lock().unwrap();
                    book.saw_session(fork);
                    book.count(UnusualEvent::Fork);
                }
                Err(fault) => refused(&junction, "fork", &fault),
            }
        });
    }

    /// Lets both agents answer in parallel from the next message on.
    pub(super) fn answer_in_parallel(&mut self, session: SessionId) {
        let agents = ["main", "other"].map(|name| name.parse().unwrap());
        let patch = SessionPatch {
            agents: Some(agents.into()),
            mode: Some(LaneOrder::Parallel),
            ..SessionPatch::default()
        };
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        // The change may take effect even if its answer is lost.
        junction.book.lock().unwrap().parallel.insert(session);
        self.client(async move {
            match agent.sessions.patch(&person(), session, patch).await {
                Ok(_) => junction.count(UnusualEvent::ParallelLanes),
                Err(fault) => refused(&junction, "patch", &fault),
            }
        });
    }

    pub(super) fn delete(&mut self, session: SessionId, turns: BTreeSet<TurnId>) {
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        junction.book.lock().unwrap().may_be_gone.insert(session);
        self.client(async move {
            match agent.sessions.delete(&person(), session).await {
                Ok(()) => {
                    junction.book.lock().unwrap().saw_deletion(session, turns);
                    junction.count(UnusualEvent::Deletion);
                }
                Err(fault) => refused(&junction, "delete", &fault),
            }
        });
    }

    pub(super) fn undo(&mut self, run: RunId) {
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        self.client(async move {
            match agent.undo.run(&person(), run).await {
                Ok(_) => junction.count(UnusualEvent::Undo),
                Err(fault) => refused(&junction, "undo", &fault),
            }
        });
    }

    pub(super) fn stop(&mut self, session: SessionId) {
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        self.client(async move {
            match agent.runs.stop(&person(), StopTarget::Session(session)).await {
                Ok(true) => junction.count(UnusualEvent::Cancel),
                Ok(false) => {}
                Err(fault) => refused(&junction, "stop", &fault),
            }
        });
    }

    /// Reconnects a client to a run.
    pub(super) fn rejoin(&mut self, run: RunId, session: SessionId, after: u64) {
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        let process = self.process;
        self.client(async move {
            match agent.runs.events(&person(), run, after).await {
                Ok(events) => {
                    junction.count(UnusualEvent::Rejoin);
                    watch(&junction, process, (session, run), after, events).await;
                }
                Err(fault) => refused(&junction, "rejoin", &fault),
            }
        });
    }

    /// Reads the newest turns, like a person who opens the session at any moment.
    pub(super) fn read(&mut self, session: SessionId) {
        let (agent, junction) = (self.agent.clone(), Arc::clone(&self.junction));
        self.client(async move {
            match agent.sessions.turns(&person(), session, None, 20).await {
                Ok(page) => {
                    let turns = page.turns.iter().map(|turn| turn.id).collect();
                    junction.book.lock().unwrap().read.push((session, turns));
                }
                Err(fault) => refused(&junction, "read", &fault),
            }
        });
    }

    /// Drops one client's connection in the middle of its request.
    pub(super) fn lose_a_client(&mut self) {
        self.clients.retain(|client| !client.is_finished());
        if !self.clients.is_empty() {
            let at = self.junction.chance.below(self.clients.len());
            self.clients.swap_remove(at).abort();
            self.junction.count(UnusualEvent::ClientGone);
        }
    }

    fn client(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.clients.push(self.runtime.spawn(work).abort_handle());
    }

    fn request(&self, session: Option<SessionId>, input: RunInput) -> RunRequest {
        let several = session.is_none() && self.junction.chance.percent(25);
        if several {
            self.junction.count(UnusualEvent::SeveralAgents);
        }
        let names: &[&str] = if several { &["main", "other"] } else { &[] };
        let agents = names.iter().map(|name| name.parse().unwrap()).collect();
        RunRequest {
            person: person(),
            session: session.map_or(
                SessionRef::New { origin: SessionOrigin::Chat, agents },
                SessionRef::Existing,
            ),
            input,
            view: None,
            model: None,
            terms: RunTerms::default(),
            attendance: Attendance::Unattended,
            dry_run: DryRun::Off,
        }
    }
}

/// Accepts a refusal with one of these codes; any other is noted as a violation.
fn refused(junction: &Junction, what: &str, fault: &Fault) {
    let honest = matches!(
        fault.code,
        ErrorCode::SessionBusy
            | ErrorCode::NotFound
            | ErrorCode::Overloaded
            | ErrorCode::StorageFull
            | ErrorCode::StorageFailed
            | ErrorCode::StorageUnavailable
    );
    if !honest {
        junction.book.lock().unwrap().violated(format!("{what} was refused: {fault:?}"));
    }
}

async fn watch(
    junction: &Junction,
    process: Process,
    (session, run): (SessionId, RunId),
    after: u64,
    mut events: EventReader,
) {
    let viewer = {
        let mut book = junction.book.lock().unwrap();
        book.begins(session, process);
        book.viewers.push(Viewer { run, session, after, events: Vec::new(), closed: false });
        book.viewers.len() - 1
    };
    while let Some(envelope) = events.next().await {
        let mut book = junction.book.lock().unwrap();
        match &envelope.event {
            Event::Status { code: StatusCode::Compaction, .. } => {
                book.count(UnusualEvent::Compaction)
            }
            Event::Error { code: ErrorCode::SessionBusy, .. } => {
                book.count(UnusualEvent::LeaseLost)
            }
            _ => {}
        }
        let told = (envelope.seq, envelope.lane, envelope.event.clone());
        book.viewers[viewer].events.push(told);
    }
    let mut book = junction.book.lock().unwrap();
    book.viewers[viewer].closed = true;
    book.ends(session, process);
}
