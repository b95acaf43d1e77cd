//! One schedule: a seed decides each next event. At the end all processes come to rest and the
//! result is checked.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use onyx_agent::RunInput;
use onyx_storage::{Delivery, Store, TitleSource};
use onyx_test_support::{LeasePlace, MemoryDisk, OpenTurnstile};
use onyx_types::{Clock as _, SessionId, SessionKey, Turn, TurnBody};

use super::book::{Counts, UnusualEvent};
use super::chance::Chance;
use super::check;
use super::gateway::{Gateway, person};
use super::junction::{Junction, Process};

pub(super) struct Outcome {
    pub(super) violations: Vec<String>,
    pub(super) counts: Counts,
    pub(super) steps: usize,
    /// The list of events; it is the same for the same schedule.
    pub(super) trace: Vec<String>,
}

/// The events that a schedule can choose.
#[derive(Clone, Copy, Debug)]
enum Action {
    Release,
    Moment,
    LongTime,
    Send,
    Stop,
    Fork,
    Regenerate,
    AskAgain,
    Rejoin,
    LoseClient,
    Crash,
    Freeze,
    Thaw,
    FillDisk,
    Parallel,
    Delete,
    Undo,
    Deliver,
    Read,
}

const ACTIONS: &[(usize, Action)] = &[
    (100, Action::Release),
    (24, Action::Moment),
    (4, Action::LongTime),
    (16, Action::Send),
    (4, Action::Stop),
    (2, Action::Fork),
    (2, Action::Regenerate),
    (2, Action::AskAgain),
    (4, Action::Rejoin),
    (3, Action::LoseClient),
    (3, Action::Crash),
    (3, Action::Freeze),
    (2, Action::Thaw),
    (2, Action::FillDisk),
    (2, Action::Parallel),
    (1, Action::Delete),
    (2, Action::Undo),
    (4, Action::Deliver),
    (6, Action::Read),
];

const LEASE_LIFE: Duration = Duration::from_secs(30);
const MOST_SESSIONS: usize = 3;

struct World {
    chance: Chance,
    junction: Arc<Junction>,
    disk: MemoryDisk,
    /// A store for the checks, whose reads never wait or fail.
    peek: Store,
    place: LeasePlace,
    window: Option<u32>,
    /// The gateways; `None` after a crash until the gateway is started again.
    gateways: Vec<Option<Gateway>>,
    started: Process,
    disk_full: bool,
    actions: Vec<(Duration, Action)>,
}

pub(super) fn run(seed: u64, most_steps: usize) -> Outcome {
    let mut world = World::new(seed);
    let steps = (25 + world.chance.below(125)).min(most_steps);
    for _ in 0..steps {
        world.step();
    }
    world.come_to_rest();
    world.last_words();
    world.judge();
    let trace = world.trace();
    let mut book = world.junction.book.lock().unwrap();
    Outcome {
        violations: std::mem::take(&mut book.violations),
        counts: std::mem::take(&mut book.counts),
        steps,
        trace,
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let chance = Chance::new(seed);
        let junction = Junction::new(chance.clone());
        let disk = MemoryDisk::new();
        let place = if chance.percent(40) { LeasePlace::Process } else { LeasePlace::Disk };
        let gateways = match place {
            LeasePlace::Process => 1,
            LeasePlace::Disk => 2,
        };
        let window = chance.percent(40).then(|| 700 + chance.below(1_500) as u32);
        let clock = Arc::new(junction.clock.clone());
        let peek = disk.open(clock, Arc::new(OpenTurnstile), place);
        let mut world = Self {
            chance,
            junction,
            disk,
            peek,
            place,
            window,
            gateways: (0..gateways).map(|_| None).collect(),
            started: 0,
            disk_full: false,
            actions: Vec::new(),
        };
        for at in 0..gateways {
            world.start(at);
        }
        world.settle();
        world
    }

    fn start(&mut self, at: usize) {
        self.started += 1;
        let fresh =
            Gateway::start(&self.disk, &self.junction, self.started, self.place, self.window);
        self.gateways[at] = Some(fresh);
    }

    fn step(&mut self) {
        if self.chance.percent(20)
            && let Some(at) = self.gateways.iter().position(Option::is_none)
        {
            self.start(at);
        }
        let action = self.chance.weighted(ACTIONS);
        self.actions.push((self.junction.clock.now().mono, action));
        self.perform(action);
        self.settle();
        self.look_at_notes();
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Release => self.release(),
            Action::Moment => {
                let millis = 1 + self.chance.below(400) as u64;
                self.pass_time(Duration::from_millis(millis));
            }
            Action::LongTime => {
                let seconds = 1 + self.chance.below(12) as u64;
                self.pass_time(Duration::from_secs(seconds));
            }
            Action::Send => self.send(),
            Action::Stop => self.with_session(|gateway, session| gateway.stop(session)),
            Action::Fork => self.with_turn(
                |_| true,
                |gateway, session, turn| {
                    gateway.fork(session, turn.id);
                },
            ),
            Action::Regenerate => self.with_turn(is_text, |gateway, session, turn| {
                gateway.answer_again(
                    session,
                    RunInput::Regenerate(turn.id),
                    UnusualEvent::Regenerate,
                );
            }),
            Action::AskAgain => self.with_turn(is_question, |gateway, session, turn| {
                gateway.answer_again(session, RunInput::Stored(turn.id), UnusualEvent::AskedAgain);
            }),
            Action::Rejoin => self.rejoin(),
            Action::Parallel => {
                self.with_session(|gateway, session| gateway.answer_in_parallel(session));
            }
            Action::Delete => self.delete(),
            Action::Undo => self.undo(),
            // What was sent to the database and not answered arrives there late.
            Action::Deliver => self.disk.deliver_late(),
            Action::Read => self.with_session(|gateway, session| gateway.read(session)),
            Action::LoseClient => {
                if let Some(gateway) = self.ready_gateway() {
                    gateway.lose_a_client();
                }
            }
            Action::Crash => {
                let at = self.chance.below(self.gateways.len());
                self.crash(at);
            }
            Action::Freeze => self.freeze(),
            Action::Thaw => self.thaw(),
            Action::FillDisk => {
                self.disk_full = !self.disk_full;
                self.junction.set_disk_full(self.disk_full);
            }
        }
    }

    fn release(&mut self) {
        let running = self.running();
        self.junction.release_one(&running, self.place == LeasePlace::Process);
    }

    fn send(&mut self) {
        let delivery = if self.chance.percent(60) { Delivery::Steer } else { Delivery::FollowUp };
        let sessions = self.sessions();
        let known = sessions.len() >= MOST_SESSIONS || self.chance.percent(75);
        let session = if known { self.chance.pick(&sessions).copied() } else { None };
        if let Some(gateway) = self.ready_gateway() {
            gateway.send(session, delivery);
        }
    }

    fn rejoin(&mut self) {
        let seen: Vec<_> = {
            let book = self.junction.book.lock().unwrap();
            book.viewers
                .iter()
                .map(|viewer| {
                    (viewer.run, viewer.session, viewer.after + viewer.events.len() as u64)
                })
                .collect()
        };
        let Some((run, session, told)) = self.chance.pick(&seen).copied() else { return };
        let after = self.chance.below(told as usize + 1) as u64;
        if let Some(gateway) = self.ready_gateway() {
            gateway.rejoin(run, session, after);
        }
    }

    fn delete(&mut self) {
        let session = self.chance.pick(&self.sessions()).copied();
        let turns = session.map(|session| self.log(session)).unwrap_or_default();
        let turns = turns.into_iter().map(|turn| turn.id).collect();
        if let (Some(session), Some(gateway)) = (session, self.ready_gateway()) {
            gateway.delete(session, turns);
        }
    }

    fn undo(&mut self) {
        let runs: Vec<_> = {
            let book = self.junction.book.lock().unwrap();
            book.viewers.iter().map(|viewer| viewer.run).collect()
        };
        if let (Some(run), Some(gateway)) = (self.chance.pick(&runs).copied(), self.ready_gateway())
        {
            gateway.undo(run);
        }
    }

    fn crash(&mut self, at: usize) {
        let Some(gateway) = self.gateways[at].take() else { return };
        self.junction.count(UnusualEvent::Crash);
        let process = gateway.process;
        self.disk.tear(self.chance.draw());
        drop(gateway);
        self.junction.forget(process);
        self.disk.settle();
        self.junction.book.lock().unwrap().frozen.retain(|frozen| *frozen != process);
    }

    /// Freezes a gateway, mostly for longer than its leases last, and mostly while another gateway
    /// takes over its sessions.
    fn freeze(&mut self) {
        let at = self.chance.below(self.gateways.len());
        let Some(gateway) = &mut self.gateways[at] else { return };
        gateway.frozen = true;
        self.junction.count(UnusualEvent::Freeze);
        let process = gateway.process;
        let sessions = self.junction.book.lock().unwrap().freeze(process);
        if self.chance.percent(60) {
            self.pass_time(LEASE_LIFE + Duration::from_secs(1));
        }
        if let (Some(session), Some(gateway)) =
            (self.chance.pick(&sessions).copied(), self.ready_gateway())
        {
            gateway.send(Some(session), Delivery::Steer);
        }
    }

    fn thaw(&mut self) {
        for gateway in self.gateways.iter_mut().flatten() {
            gateway.frozen = false;
        }
        self.junction.book.lock().unwrap().frozen.clear();
    }

    fn pass_time(&mut self, duration: Duration) {
        const AT_ONCE: Duration = Duration::from_secs(4);
        if duration >= Duration::from_secs(1) && self.junction.is_anybody_waiting(&self.running()) {
            self.junction.count(UnusualEvent::SlowStore);
        }
        let mut left = duration;
        while !left.is_zero() {
            let now = left.min(AT_ONCE);
            self.junction.clock.advance(now);
            self.settle();
            left -= now;
        }
    }

    fn settle(&self) {
        for gateway in self.gateways.iter().flatten() {
            gateway.settle();
        }
    }

    fn running(&self) -> Vec<Process> {
        let running = self.gateways.iter().flatten().filter(|gateway| !gateway.frozen);
        running.map(|gateway| gateway.process).collect()
    }

    fn ready_gateway(&mut self) -> Option<&mut Gateway> {
        let ready: Vec<usize> = (0..self.gateways.len())
            .filter(|at| self.gateways[*at].as_ref().is_some_and(Gateway::is_ready))
            .collect();
        let at = *self.chance.pick(&ready)?;
        self.gateways[at].as_mut()
    }

    fn sessions(&self) -> Vec<SessionId> {
        self.junction.book.lock().unwrap().sessions.clone()
    }

    fn with_session(&mut self, act: impl FnOnce(&mut Gateway, SessionId)) {
        let session = self.chance.pick(&self.sessions()).copied();
        if let (Some(session), Some(gateway)) = (session, self.ready_gateway()) {
            act(gateway, session);
        }
    }

    fn with_turn(
        &mut self,
        fits: impl Fn(&Turn) -> bool,
        act: impl FnOnce(&mut Gateway, SessionId, &Turn),
    ) {
        let sessions = self.sessions();
        let Some(session) = self.chance.pick(&sessions).copied() else { return };
        // Forks of forks add no new cases, so their number is limited.
        if sessions.len() > MOST_SESSIONS * 2 {
            return;
        }
        let turns: Vec<Turn> = self.log(session).into_iter().filter(fits).collect();
        let turn = self.chance.pick(&turns).cloned();
        if let (Some(turn), Some(gateway)) = (turn, self.ready_gateway()) {
            act(gateway, session, &turn);
        }
    }

    fn log(&self, session: SessionId) -> Vec<Turn> {
        let Some(key) = self.key(session) else { return Vec::new() };
        now(self.peek.turns.tail(&key, None, usize::MAX)).turns
    }

    fn key(&self, session: SessionId) -> Option<SessionKey> {
        let meta = now(self.peek.ledger.session(&person(), session))?;
        Some(SessionKey { person: person(), agent: meta.agent, session })
    }

    /// Checks that saved streaming text gets into the log in all cases.
    fn look_at_notes(&self) {
        for session in self.sessions() {
            let Some(key) = self.key(session) else { continue };
            let notes = now(self.peek.turns.live(&key));
            let mut book = self.junction.book.lock().unwrap();
            for note in notes {
                book.noted.insert((session, note.turn), note.text);
            }
        }
    }

    fn come_to_rest(&mut self) {
        self.junction.calm_down();
        self.disk_full = false;
        self.thaw();
        self.rest();
        // After a failed sync a session stays read-only until its process ends.
        let crash = self.chance.percent(50)
            || self.junction.book.lock().unwrap().counts.contains_key(&UnusualEvent::FailedSync);
        if self.place == LeasePlace::Process && !crash {
            self.last_words();
        }
        if crash {
            for at in 0..self.gateways.len() {
                self.crash(at);
            }
        }
        self.rest();
        // What dead processes held is free after this time, and their runs are closed then.
        self.pass_time(LEASE_LIFE * 2 + Duration::from_secs(5));
        self.rest();
        // Even now a statement of a process that is long gone may arrive.
        self.disk.deliver_late();
    }

    fn rest(&mut self) {
        for at in 0..self.gateways.len() {
            if self.gateways[at].is_none() {
                self.start(at);
            }
        }
        for _ in 0..60 {
            let running = self.running();
            loop {
                self.settle();
                if !self.junction.release_one(&running, false) {
                    break;
                }
            }
            let quiet = |gateway: &Gateway| gateway.is_ready() && gateway.runs_at_work() == 0;
            if self.gateways.iter().flatten().all(quiet) {
                return;
            }
            self.pass_time(Duration::from_secs(4));
        }
        self.junction.book.lock().unwrap().violated("the gateways do not come to rest");
    }

    /// Every session accepts another message, and no client has to wait for it.
    fn last_words(&mut self) {
        for session in self.sessions() {
            if self.key(session).is_none() {
                continue;
            }
            let before = self.junction.book.lock().unwrap().viewers.len();
            if let Some(gateway) = self.ready_gateway() {
                gateway.send(Some(session), Delivery::Steer);
            }
            self.rest();
            let mut book = self.junction.book.lock().unwrap();
            if book.viewers.len() == before {
                book.violated(format!("session {session} takes no further message"));
            }
        }
    }

    /// The events and the contents of the logs, to find the reason of a failure.
    fn trace(&self) -> Vec<String> {
        let actions = self.actions.iter().map(|(at, action)| format!("{at:?} {action:?}"));
        let mut trace: Vec<String> = actions.collect();
        for session in self.sessions() {
            trace.extend(self.log(session).into_iter().map(|turn| {
                let run = turn.run.map(|run| run.to_string()).unwrap_or_default();
                format!("{session} {run} {} {}", turn.id, turn.body.kind())
            }));
        }
        trace
    }

    fn judge(&mut self) {
        let titled = self.sessions().into_iter().any(|session| {
            let meta = now(self.peek.ledger.session(&person(), session));
            meta.is_some_and(|meta| meta.titled_by == TitleSource::Model)
        });
        if titled {
            self.junction.count(UnusualEvent::Titled);
        }
        let found = check::everything(&self.peek, &self.junction.book.lock().unwrap());
        let commits = self.disk.commit_counts();
        let mut book = self.junction.book.lock().unwrap();
        book.count_all(UnusualEvent::LostAnswer, commits.unanswered);
        book.count_all(UnusualEvent::LateCommit, commits.landed_late);
        book.count_all(UnusualEvent::ShutOutCommit, commits.shut_out);
        book.count_all(UnusualEvent::StaleRead, commits.stale_reads);
        book.violations.extend(found);
        if self.disk.stale_appends() > 0 {
            book.violated("an append with an old fence landed");
        }
    }
}

fn is_text(turn: &Turn) -> bool {
    matches!(turn.body, TurnBody::AssistantText(_))
}

fn is_question(turn: &Turn) -> bool {
    matches!(turn.body, TurnBody::User(_))
}

/// Polls a future of a store that never waits.
pub(super) fn now<T>(answer: impl Future<Output = Result<T, onyx_storage::StoreError>>) -> T {
    answer.now_or_never().expect("it never waits").expect("it never fails")
}
