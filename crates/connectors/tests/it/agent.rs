//! An agent for tests: it answers every message at its own speed, remembers its runs as a log does,
//! and counts how often it was asked the same thing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onyx_connectors::{AgentPort, Decision, RunEvents, RunFate, StartRun, StartedRun};
use onyx_types::{
    AgentId, AsksFor, DraftId, Envelope, ErrorCode, Event, Fault, LaneId, PersonId, Preview, RunId,
    RunStatus, SessionId, Timestamp, TurnId, Usage,
};
use tokio::sync::watch;

/// What the agent says to a message.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// Each piece comes by itself.
    pub(crate) pieces: Vec<String>,
    pub(crate) between: Duration,
    pub(crate) proposes: Option<(DraftId, String)>,
}

impl Reply {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self { pieces: vec![text.into()], between: Duration::ZERO, proposes: None }
    }
}

type Answer = Box<dyn Fn(&StartRun) -> Reply + Send + Sync>;

/// Shared by all processes of a test, as a home is.
pub(crate) struct TestAgent {
    answer: Answer,
    runs: Mutex<HashMap<RunId, Recorded>>,
    pub(crate) asked: Mutex<Vec<StartRun>>,
    pub(crate) decisions: Mutex<Vec<Decision>>,
    pub(crate) told: Mutex<Vec<String>>,
    pub(crate) stopped: Mutex<Vec<SessionId>>,
    /// What lies in everybody's vault.
    pub(crate) files: Mutex<HashMap<String, Vec<u8>>>,
}

#[derive(Clone)]
struct Recorded {
    session: SessionId,
    events: watch::Receiver<Vec<Arc<Envelope>>>,
}

pub(crate) fn owner() -> PersonId {
    "owner".parse().unwrap()
}

impl TestAgent {
    pub(crate) fn new(answer: impl Fn(&StartRun) -> Reply + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            answer: Box::new(answer),
            runs: Mutex::default(),
            asked: Mutex::default(),
            decisions: Mutex::default(),
            told: Mutex::default(),
            stopped: Mutex::default(),
            files: Mutex::default(),
        })
    }

    /// Answers each message by its own words.
    pub(crate) fn echo() -> Arc<Self> {
        Self::new(|request| Reply::words(format!("You said: {}", request.text)))
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.text.clone()).collect()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    fn events(request: &StartRun, session: SessionId, reply: &Reply) -> Vec<Event> {
        let agent = request.agent.clone();
        let turn_id = TurnId::from_uuid(request.run.as_uuid());
        let mut events = vec![Event::Start {
            session_id: session,
            agents: vec![agent.clone()],
            model: "test/model".to_owned(),
            action: None,
        }];
        for text in &reply.pieces {
            let (agent, text) = (agent.clone(), text.clone());
            events.push(Event::TextDelta { turn_id, agent, text });
        }
        if let Some((draft_id, summary)) = &reply.proposes {
            events.push(Event::Draft {
                draft_id: *draft_id,
                tool: "write_file".to_owned(),
                summary: summary.clone(),
                preview: Preview::Diff {
                    path: "a.md".to_owned(),
                    unified: "+new <line>".to_owned(),
                },
                asks_for: AsksFor::Approval,
            });
        }
        events.push(Event::TextComplete { turn_id, agent, text: reply.pieces.concat() });
        events.push(Event::Done {
            session_id: session,
            status: RunStatus::Done,
            assistant_turn_ids: vec![turn_id],
            usage: Usage::default(),
        });
        events
    }
}

struct Reader {
    events: watch::Receiver<Vec<Arc<Envelope>>>,
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
        let reply = (self.answer)(&request);
        let session =
            request.session.unwrap_or_else(|| SessionId::from_uuid(request.run.as_uuid()));
        let (sender, events) = watch::channel(Vec::new());
        {
            let mut runs = self.runs.lock().unwrap();
            let recorded = Recorded { session, events: events.clone() };
            if runs.insert(request.run, recorded).is_some() {
                return Err(Fault::new(ErrorCode::Internal, "this run was there already"));
            }
        }
        self.asked.lock().unwrap().push(request.clone());
        let told = Self::events(&request, session, &reply);
        let (run_id, between) = (request.run, reply.between);
        // The run goes on whatever becomes of who asked for it, as real ones do in one process.
        std::thread::spawn(move || {
            for (seq, event) in told.into_iter().enumerate() {
                if !between.is_zero() && seq > 0 {
                    std::thread::sleep(between);
                }
                let envelope =
                    Envelope { seq: seq as u64 + 1, run_id, lane: LaneId::default(), event };
                sender.send_modify(|all| all.push(Arc::new(envelope)));
            }
        });
        Ok(StartedRun { session, events: Box::new(Reader { events, next: 0 }) })
    }

    async fn fate(&self, _: &PersonId, run: RunId) -> Result<RunFate, Fault> {
        let known = self.runs.lock().unwrap().get(&run).cloned();
        Ok(match known {
            None => RunFate::Unknown,
            Some(Recorded { session, events }) => {
                RunFate::Told { session, events: Box::new(Reader { events, next: 0 }) }
            }
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
    DraftId::from_uuid(onyx_types::Mint::new(7).uuid(Timestamp::from_millis(1)))
}
