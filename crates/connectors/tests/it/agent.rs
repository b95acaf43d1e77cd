//! An agent for tests. It answers every message at a chosen speed, remembers its runs as the log of
//! a real home does, and records every request.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onyx_connectors::{AgentPort, Decision, Privacy, PromisedRun, RunEvents, StartRun, StartedRun};
use onyx_types::{
    AgentId, AsksFor, DraftId, Envelope, ErrorCode, Event, Fault, LaneId, PersonId, Preview, RunId,
    RunStatus, SessionId, Timestamp, TurnId, Usage,
};
use tokio::sync::watch;

/// What the agent says to a message.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The pieces of the answer, which come one after the other.
    pub(crate) pieces: Vec<String>,
    pub(crate) between: Duration,
    pub(crate) proposes: Option<(DraftId, String)>,
}

impl Reply {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self { pieces: vec![text.into()], between: Duration::ZERO, proposes: None }
    }
}

type Answer = Arc<dyn Fn(&StartRun) -> Reply + Send + Sync>;

/// The agent, which all processes of a test share, as they would share a home.
pub(crate) struct TestAgent {
    answer: Answer,
    runs: Mutex<HashMap<RunId, Recorded>>,
    words: Arc<Mutex<Words>>,
    /// Whether runs accept messages while they work; otherwise each message gets a run of its own.
    steers: AtomicBool,
    /// While this is set, no run gets past its first answer.
    held: Arc<AtomicBool>,
    pub(crate) asked: Mutex<Vec<StartRun>>,
    pub(crate) decisions: Mutex<Vec<Decision>>,
    pub(crate) told: Mutex<Vec<String>>,
    pub(crate) stopped: Mutex<Vec<SessionId>>,
    /// The files that are in every person's vault.
    pub(crate) files: Mutex<HashMap<String, Vec<u8>>>,
}

/// Messages that came while a run was at work in their session.
#[derive(Default)]
struct Words {
    at_work: HashMap<SessionId, RunId>,
    waiting: HashMap<SessionId, Vec<StartRun>>,
    /// The messages that were read, named by the runs that were promised to them.
    read: HashSet<RunId>,
}

impl Words {
    /// Takes what the run of a session reads next. If there is nothing, the run is over.
    fn read_or_end(&mut self, session: SessionId) -> Vec<StartRun> {
        let waiting = self.waiting.remove(&session).unwrap_or_default();
        self.read.extend(waiting.iter().map(|request| request.run));
        if waiting.is_empty() {
            self.at_work.remove(&session);
        }
        waiting
    }

    fn waits(&self, run: RunId) -> bool {
        self.waiting.values().flatten().any(|request| request.run == run)
    }
}

#[derive(Clone)]
struct Recorded {
    session: SessionId,
    events: watch::Receiver<Told>,
}

pub(crate) fn owner() -> PersonId {
    "owner".parse().unwrap()
}

impl TestAgent {
    pub(crate) fn new(answer: impl Fn(&StartRun) -> Reply + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            answer: Arc::new(answer),
            runs: Mutex::default(),
            words: Arc::default(),
            steers: AtomicBool::new(false),
            held: Arc::default(),
            asked: Mutex::default(),
            decisions: Mutex::default(),
            told: Mutex::default(),
            stopped: Mutex::default(),
            files: Mutex::default(),
        })
    }

    /// An agent that answers each message by repeating its text.
    pub(crate) fn echo() -> Arc<Self> {
        Self::new(|request| Reply::words(format!("You said: {}", request.text)))
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.text.clone()).collect()
    }

    /// Lets runs accept messages while they work from now on.
    pub(crate) fn steer(&self) {
        self.steers.store(true, Ordering::Release);
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.held.store(is_held, Ordering::Release);
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.lock().unwrap().len()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Starts a run, which continues even if its caller goes away, as real runs do within a
    /// process.
    fn run(&self, request: StartRun, session: SessionId, sender: watch::Sender<Told>) {
        let (answer, words) = (Arc::clone(&self.answer), Arc::clone(&self.words));
        let held = Arc::clone(&self.held);
        std::thread::spawn(move || {
            let run = request.run;
            let tell = |event: Event| {
                sender.send_modify(|all| {
                    let (seq, lane) = (all.len() as u64 + 1, LaneId::default());
                    all.push(Arc::new(Envelope { seq, run_id: run, lane, event }));
                });
            };
            let agent = request.agent.clone();
            let turn_id = TurnId::from_uuid(run.as_uuid());
            tell(Event::Start {
                session_id: session,
                agents: vec![agent.clone()],
                model: "test/model".to_owned(),
                action: None,
            });
            let (mut whole, mut to_read) = (String::new(), vec![request]);
            while !to_read.is_empty() {
                for request in to_read {
                    let mut reply = answer(&request);
                    if !whole.is_empty() {
                        reply.pieces.insert(0, "\n\n".to_owned());
                    }
                    for text in reply.pieces {
                        std::thread::sleep(reply.between);
                        whole.push_str(&text);
                        tell(Event::TextDelta { turn_id, agent: agent.clone(), text });
                    }
                    if let Some((draft, summary)) = &reply.proposes {
                        tell(proposal(*draft, summary));
                    }
                    std::thread::sleep(reply.between);
                }
                while held.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                to_read = words.lock().unwrap().read_or_end(session);
            }
            tell(Event::TextComplete { turn_id, agent, text: whole });
            tell(Event::Done {
                session_id: session,
                status: RunStatus::Done,
                assistant_turn_ids: vec![turn_id],
                usage: Usage::default(),
            });
        });
    }
}

fn proposal(draft_id: DraftId, summary: &str) -> Event {
    Event::Draft {
        draft_id,
        tool: "write_file".to_owned(),
        summary: summary.to_owned(),
        preview: Preview::diff("a.md", "+new <line>"),
        asks_for: AsksFor::Approval,
    }
}

type Told = Vec<Arc<Envelope>>;

struct Reader {
    events: watch::Receiver<Told>,
    next: usize,
}

#[async_trait]
impl RunEvents for Reader {
    async fn next(&mut self) -> Option<Arc<Envelope>> {
        loop {
            let found = self.events.borrow_and_update().get(self.next).cloned();
            if found.is_some() {
                self.next += 1;
                return found;
            }
            self.events.changed().await.ok()?;
        }
    }
}

#[async_trait]
impl AgentPort for TestAgent {
    async fn start(&self, request: StartRun) -> Result<StartedRun, Fault> {
        let session =
            request.session.unwrap_or_else(|| SessionId::from_uuid(request.run.as_uuid()));
        let mut words = self.words.lock().unwrap();
        if self.steers.load(Ordering::Acquire)
            && request.privacy == Privacy::Private
            && let Some(run) = words.at_work.get(&session).copied()
        {
            words.waiting.entry(session).or_default().push(request.clone());
            self.asked.lock().unwrap().push(request);
            return Ok(StartedRun::Joined { run });
        }
        let (sender, events) = watch::channel(Vec::new());
        let recorded = Recorded { session, events: events.clone() };
        if self.runs.lock().unwrap().insert(request.run, recorded).is_some() {
            return Err(Fault::new(ErrorCode::Internal, "this run was there already"));
        }
        words.at_work.insert(session, request.run);
        self.asked.lock().unwrap().push(request.clone());
        self.run(request, session, sender);
        Ok(StartedRun::Own { session, events: Box::new(Reader { events, next: 0 }) })
    }

    async fn promised_run(
        &self,
        _: &PersonId,
        _: Option<SessionId>,
        run: RunId,
    ) -> Result<PromisedRun, Fault> {
        let known = self.runs.lock().unwrap().get(&run).cloned();
        if let Some(Recorded { session, events }) = known {
            let events = Box::new(Reader { events, next: 0 });
            return Ok(PromisedRun::Found { run, session, events });
        }
        let words = self.words.lock().unwrap();
        Ok(if words.read.contains(&run) {
            PromisedRun::Read
        } else if words.waits(run) {
            PromisedRun::Waits
        } else {
            PromisedRun::Unknown
        })
    }

    async fn stop(&self, _: &PersonId, session: SessionId) -> Result<bool, Fault> {
        self.stopped.lock().unwrap().push(session);
        Ok(true)
    }

    async fn undo(&self, _: &PersonId, _: SessionId) -> Result<String, Fault> {
        Ok("Restored a.md.".to_owned())
    }

    async fn decide(&self, decision: Decision) -> Result<String, Fault> {
        let mut decisions = self.decisions.lock().unwrap();
        if decisions.iter().any(|before| before.draft == decision.draft) {
            return Err(Fault::plain(ErrorCode::DraftDecided));
        }
        decisions.push(decision);
        Ok("Approved.".to_owned())
    }

    async fn status(
        &self,
        _: &PersonId,
        _: Option<SessionId>,
        agent: &AgentId,
    ) -> Result<String, Fault> {
        Ok(format!("{agent} is here."))
    }

    fn agents(&self) -> Vec<AgentId> {
        vec!["main".parse().unwrap(), "research".parse().unwrap()]
    }

    fn default_agent(&self) -> AgentId {
        "main".parse().unwrap()
    }

    fn owner(&self) -> Result<PersonId, Fault> {
        Ok(owner())
    }

    fn link(&self) -> Option<String> {
        Some("https://onyx.example".to_owned())
    }

    async fn file(&self, _: &PersonId, path: &str, largest: u64) -> Result<Option<Vec<u8>>, Fault> {
        let files = self.files.lock().unwrap();
        Ok(files.get(path).filter(|bytes| bytes.len() as u64 <= largest).cloned())
    }

    fn tell_owner(&self, text: String) {
        self.told.lock().unwrap().push(text);
    }
}

pub(crate) fn a_draft() -> DraftId {
    DraftId::from_uuid(onyx_types::IdGenerator::new(7).uuid(Timestamp::from_millis(1)))
}
