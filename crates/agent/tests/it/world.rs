//! A real home and store, a real provider wire format, and a scripted model server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, mpsc};

use onyx_agent::{
    AgentOptions, AgentServices, AgentsSettings, DryRun, ModelChoice, Models, Payer, Roster,
    RunHandle, RunInput, RunRequest, RunTerms, SessionRef,
};
use onyx_providers::{ProviderSettings, Registry};
use onyx_storage::{Home, Store};
use onyx_test_support::{Answer, ManualClock, ScriptedModel, delays};
use onyx_tools::{Masker, Services, Toolbox};
use onyx_types::{
    Attendance, Clock, ErrorCode, Event, Fault, Limits, Model, ModelId, PersonId, SessionId,
    SessionOrigin, SystemClock, TokenCounter, Turn, UserContent,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) model: ScriptedModel,
    pub(crate) store: Store,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) agent: AgentServices,
}

struct FromRegistry(Registry);

impl Models for FromRegistry {
    fn resolve(&self, choice: &ModelChoice, _: Payer<'_>) -> Result<Arc<dyn Model>, Fault> {
        let id = choice.primary.as_ref().map_or("mine/some-model", ModelId::as_str);
        let refused = |error: onyx_providers::RegistryError| {
            Fault::new(ErrorCode::ModelNotFound, error.to_string())
        };
        self.0.model(id).map_err(refused)
    }

    fn is_small(&self, model: &str) -> bool {
        model == "mine/tiny"
    }

    fn token_counter(&self, model: &str) -> Arc<dyn TokenCounter> {
        self.0.token_counter(model)
    }
}

impl World {
    pub(crate) async fn new<A: Into<Answer>>(answers: impl IntoIterator<Item = A>) -> Self {
        let agents = json!({"list": [{"id": "main", "default": true, "tier": "act"}]});
        Self::with_agents(answers, agents, Limits::default()).await
    }

    pub(crate) async fn with_agents<A: Into<Answer>>(
        answers: impl IntoIterator<Item = A>,
        agents: Value,
        limits: Limits,
    ) -> Self {
        let clock = Arc::new(SystemClock::new());
        Self::open(tempfile::tempdir().unwrap(), answers, agents, limits, clock).await
    }

    /// A world whose clock is moved only by the test.
    pub(crate) async fn by_hand<A: Into<Answer>>(
        answers: impl IntoIterator<Item = A>,
    ) -> (Self, Arc<ManualClock>) {
        let agents = json!({"list": [{"id": "main", "default": true, "tier": "act"}]});
        let clock = Arc::new(ManualClock::new());
        let folder = tempfile::tempdir().unwrap();
        let world = Self::open(folder, answers, agents, Limits::default(), clock.clone()).await;
        // A file makes the person known to this home.
        world.write("people/ana/USER.md", "");
        (world, clock)
    }

    /// Starts a new process on an existing home.
    pub(crate) async fn reopen<A: Into<Answer>>(
        folder: TempDir,
        answers: impl IntoIterator<Item = A>,
    ) -> Self {
        let agents = json!({"list": [{"id": "main", "default": true, "tier": "act"}]});
        let clock = Arc::new(SystemClock::new());
        Self::open(folder, answers, agents, Limits::default(), clock).await
    }

    async fn open<A: Into<Answer>>(
        folder: TempDir,
        answers: impl IntoIterator<Item = A>,
        agents: Value,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let model = ScriptedModel::with_answers(answers).await;
        let home = Home::open(&folder.path().join("home")).unwrap();
        let store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
        let services = Services {
            ledger: Arc::clone(&store.ledger),
            drafts: Arc::clone(&store.drafts),
            artifacts: onyx_tools::Artifacts::new(
                store.files.objects(&onyx_storage::Area::Shared).unwrap(),
            ),
            masker: Masker::default(),
        };
        let skills = onyx_tools::Skills::new(
            Arc::clone(&store.files),
            Arc::clone(&store.acceptances),
            Arc::clone(&clock),
        );
        let tools = [onyx_tools::builtin_tools(), onyx_tools::skill_tools(&skills)].concat();
        let toolbox = Arc::new(Toolbox::new(tools, services).unwrap());
        let settings: ProviderSettings = serde_json::from_value(json!({
            "kind": "openai", "baseUrl": model.base_url(), "apiKey": "sk-test",
            "models": [{"id": "small", "contextWindow": 8_000}],
        }))
        .unwrap();
        let registry =
            Registry::resolve(BTreeMap::from([("mine".to_owned(), settings)]), &|_| None);
        let agent = AgentServices::new(
            store.clone(),
            Arc::clone(&toolbox),
            Arc::new(FromRegistry(registry)),
            roster(&agents, &limits, &toolbox),
            clock,
            AgentOptions { max_runs: 4, seed: 42, fence_secret: [9; 32] },
        );
        agent.set_pauses(delays());
        agent.set_skills(skills);
        Self { folder, model, store, toolbox, agent }
    }

    /// Gives these answers in order, the first one only when the returned sender is dropped. Until
    /// then it blocks a thread, so the test must have several.
    pub(crate) fn hold_answers(
        &self,
        answers: impl IntoIterator<Item = Answer>,
    ) -> mpsc::SyncSender<()> {
        let (open, gate) = mpsc::sync_channel::<()>(1);
        let held = Mutex::new((gate, answers.into_iter().collect::<VecDeque<_>>()));
        self.model.respond_with(move |_| {
            let mut held = held.lock().unwrap();
            // This fails once the sender is dropped, and from then on nothing waits.
            let _ = held.0.recv();
            held.1.pop_front().unwrap()
        });
        open
    }

    pub(crate) fn set_agents(&self, agents: &Value, limits: &Limits) {
        self.agent.set_roster(roster(agents, limits, &self.toolbox));
    }

    pub(crate) async fn start(
        &self,
        session: Option<SessionId>,
        text: &str,
    ) -> Result<RunHandle, Fault> {
        self.agent.runs.start(request(session, text)).await
    }

    /// Runs a message to its end and returns all events.
    pub(crate) async fn say(
        &self,
        session: Option<SessionId>,
        text: &str,
    ) -> (SessionId, Vec<Event>) {
        let handle = self.start(session, text).await.unwrap();
        let session = handle.session_id;
        (session, all(handle).await)
    }

    pub(crate) async fn log(&self, session: SessionId) -> Vec<Turn> {
        self.agent.sessions.turns(&ana(), session, None, 1_000).await.unwrap().turns
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("home").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("home").join(path)).ok()
    }
}

fn roster(agents: &Value, limits: &Limits, toolbox: &Toolbox) -> Roster {
    let settings: AgentsSettings = serde_json::from_value(agents.clone()).unwrap();
    Roster::resolve(&settings, limits, toolbox).unwrap().0
}

pub(crate) fn ana() -> PersonId {
    "ana".parse().unwrap()
}

pub(crate) fn request(session: Option<SessionId>, text: &str) -> RunRequest {
    RunRequest {
        person: ana(),
        session: session.map_or(
            SessionRef::New { origin: SessionOrigin::Chat, agents: Vec::new() },
            SessionRef::Existing,
        ),
        input: RunInput::New(UserContent::Text(text.to_owned())),
        view: None,
        model: None,
        terms: RunTerms::default(),
        attendance: Attendance::Unattended,
        dry_run: DryRun::Off,
    }
}

pub(crate) async fn all(mut handle: RunHandle) -> Vec<Event> {
    let mut told = Vec::new();
    let mut seq = 0;
    while let Some(envelope) = handle.events.next().await {
        seq += 1;
        assert_eq!(envelope.seq, seq, "sequence numbers have no gap");
        told.push(envelope.event.clone());
    }
    assert!(matches!(told.last(), Some(Event::Done { .. })), "done is last: {told:?}");
    told
}

pub(crate) fn error_of(told: &[Event]) -> Option<ErrorCode> {
    told.iter().find_map(|event| match event {
        Event::Error { code, .. } => Some(*code),
        _ => None,
    })
}

pub(crate) fn kinds(log: &[Turn]) -> Vec<&str> {
    log.iter().map(|turn| turn.body.kind()).collect()
}
