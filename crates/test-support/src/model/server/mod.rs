//! The scripted model server: it decides which answer a request gets, and records the requests.

mod connection;
mod request;
mod rule;

pub use request::RecordedRequest;
pub use rule::Rule;

use crate::canary;
use crate::model::answer::Answer;
use crate::model::script::{Finish, Script, Step};
use crate::model::wire::Wire;
use crate::waiting::wait_until;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

/// A model server on a real socket. Dropping it closes the listener and every connection.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    state: Arc<ModelState>,
    accepting: JoinHandle<()>,
}

/// The JSON form of a script file: answers for requests in order, and the one for all further
/// requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// The rules are tried in order once the answers are used up; the first one that matches
    /// decides.
    #[serde(default)]
    pub rules: Vec<Rule>,
    #[serde(default = "default_answer")]
    pub default: Answer,
    #[serde(default = "default_models")]
    pub models: Vec<String>,
}

/// How many requests are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    All,
    Last(usize),
    Off,
}

type Respond = dyn Fn(&RecordedRequest) -> Answer + Send + Sync;

struct ModelState {
    inner: Mutex<ModelData>,
    connections: AtomicUsize,
    received: AtomicUsize,
    answering: AtomicUsize,
    abandoned: AtomicUsize,
}

struct ModelData {
    queue: VecDeque<Answer>,
    rules: Vec<Rule>,
    respond: Option<Arc<Respond>>,
    default: Arc<Answer>,
    models: Vec<String>,
    recording: Recording,
    requests: VecDeque<RecordedRequest>,
    titles: Arc<Answer>,
    title_requests: VecDeque<RecordedRequest>,
    /// The places in which a secret was found that does not belong there.
    leaks: Vec<String>,
}

impl ScriptedModel {
    /// Starts on a free port of the loopback address. The answer is `ok` until another one is set.
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    pub async fn start_on(port: u16) -> Self {
        let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = Arc::new(ModelState::new());
        let accepting = tokio::spawn(connection::accept_all(listener, Arc::clone(&state)));
        Self { address, state, accepting }
    }

    /// Starts with the given answers queued.
    pub async fn with_answers<A: Into<Answer>>(answers: impl IntoIterator<Item = A>) -> Self {
        let server = Self::start().await;
        for answer in answers {
            server.push(answer);
        }
        server
    }

    pub fn load(&self, file: ScriptFile) {
        self.state.load(file);
    }

    /// Queues an answer for the next request.
    pub fn push(&self, answer: impl Into<Answer>) {
        self.state.inner().queue.push_back(answer.into());
    }

    /// Sets the answer for when the queue is empty.
    pub fn set_default(&self, answer: impl Into<Answer>) {
        self.state.inner().default = Arc::new(answer.into());
    }

    /// Sets a function that answers by the request when the queue is empty. It takes precedence
    /// over the default.
    pub fn respond_with<F>(&self, respond: F)
    where
        F: Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
    {
        self.state.inner().respond = Some(Arc::new(respond));
    }

    /// Sets the answer to requests for a session's title. They come after every first exchange, so
    /// they neither take from the queue nor count as requests. By default they are answered with an
    /// empty text.
    pub fn set_titles(&self, answer: impl Into<Answer>) {
        self.state.inner().titles = Arc::new(answer.into());
    }

    /// The requests for a title so far.
    pub fn title_requests(&self) -> Vec<RecordedRequest> {
        self.state.inner().title_requests.iter().cloned().collect()
    }

    pub fn set_models<T: Into<String>>(&self, models: impl IntoIterator<Item = T>) {
        self.state.inner().models = models.into_iter().map(Into::into).collect();
    }

    pub fn set_recording(&self, recording: Recording) {
        let mut inner = self.state.inner();
        inner.recording = recording;
        inner.forget_old();
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The value of `baseUrl`, `http://127.0.0.1:<port>/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The value of `baseUrl` for a wire.
    pub fn base_url_of(&self, wire: Wire) -> String {
        match wire {
            Wire::OpenAiChat | Wire::OpenAiResponses => self.base_url(),
            Wire::Anthropic | Wire::Gemini | Wire::Ollama => format!("http://{}", self.address),
        }
    }

    /// The remembered requests for an answer, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.inner().requests.iter().cloned().collect()
    }

    pub fn last_request(&self) -> RecordedRequest {
        let inner = self.state.inner();
        inner.requests.back().expect("a request was recorded").clone()
    }

    /// How many requests for an answer have come, recorded or not.
    pub fn request_count(&self) -> usize {
        self.state.received.load(Ordering::SeqCst)
    }

    /// How many connections have been accepted.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The number of answers that have begun and not ended.
    pub fn answering(&self) -> usize {
        self.state.answering.load(Ordering::SeqCst)
    }

    /// The number of answers whose client went away before their end.
    pub fn abandoned(&self) -> usize {
        self.state.abandoned.load(Ordering::SeqCst)
    }

    pub async fn wait_for_requests(&self, count: usize) {
        wait_until("requests at the scripted model", Duration::from_secs(30), || {
            self.request_count() >= count
        })
        .await;
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        // The connections belong to the accepting task's `JoinSet` and end with it.
        self.accepting.abort();
        if !std::thread::panicking() {
            let leaks = self.state.inner().leaks.clone();
            assert!(leaks.is_empty(), "a secret was sent to the model: {leaks:?}");
        }
    }
}

impl Default for ScriptFile {
    fn default() -> Self {
        Self {
            answers: Vec::new(),
            rules: Vec::new(),
            default: default_answer(),
            models: default_models(),
        }
    }
}

impl ModelState {
    fn new() -> Self {
        let file = ScriptFile::default();
        Self {
            inner: Mutex::new(ModelData {
                queue: VecDeque::new(),
                rules: Vec::new(),
                respond: None,
                default: Arc::new(file.default),
                models: file.models,
                recording: Recording::All,
                requests: VecDeque::new(),
                titles: Arc::new(Answer::script(Script::new([Step::Finish(Finish::Stop)]))),
                title_requests: VecDeque::new(),
                leaks: Vec::new(),
            }),
            connections: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
            answering: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
        }
    }

    fn inner(&self) -> MutexGuard<'_, ModelData> {
        self.inner.lock().expect("no holder of this lock panics")
    }

    fn load(&self, file: ScriptFile) {
        let mut inner = self.inner();
        inner.queue = file.answers.into();
        inner.rules = file.rules;
        inner.default = Arc::new(file.default);
        inner.models = file.models;
    }

    /// Remembers the request and picks its answer.
    fn answer(&self, request: &RecordedRequest) -> Arc<Answer> {
        if asks_for_a_title(request) {
            let mut inner = self.inner();
            inner.leaks.extend(leak_in(request));
            inner.title_requests.push_back(request.clone());
            inner.forget_old();
            return Arc::clone(&inner.titles);
        }
        let (respond, default) = {
            let mut inner = self.inner();
            inner.leaks.extend(leak_in(request));
            if inner.recording != Recording::Off {
                inner.requests.push_back(request.clone());
                inner.forget_old();
            }
            self.received.fetch_add(1, Ordering::SeqCst);
            if let Some(answer) = inner.queue.pop_front() {
                return Arc::new(answer);
            }
            if let Some(answer) = rule::first_that_fits(&mut inner.rules, &request.raw) {
                return Arc::new(answer);
            }
            (inner.respond.clone(), Arc::clone(&inner.default))
        };
        // The function runs outside the lock, because it may ask the server what it has recorded.
        respond.map_or(default, |respond| Arc::new(respond(request)))
    }
}

impl ModelData {
    fn forget_old(&mut self) {
        let keep = match self.recording {
            Recording::All => return,
            Recording::Last(count) => count,
            Recording::Off => 0,
        };
        while self.requests.len() > keep {
            self.requests.pop_front();
        }
        while self.title_requests.len() > keep {
            self.title_requests.pop_front();
        }
    }
}

impl std::fmt::Debug for ModelState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ModelState")
            .field("received", &self.received)
            .field("answering", &self.answering)
            .field("abandoned", &self.abandoned)
            .finish_non_exhaustive()
    }
}

/// Finds a provider's key outside of the header for it.
fn leak_in(request: &RecordedRequest) -> Option<String> {
    let header = request.headers.iter().find(|(name, value)| canary::leaks_in_header(name, value));
    if let Some((name, _)) = header {
        return Some(format!("header {name} of {}", request.route()));
    }
    let shown = [request.path.as_bytes(), &request.raw].into_iter().any(canary::is_in);
    shown.then(|| format!("{}: {}", request.route(), String::from_utf8_lossy(&request.raw)))
}

fn default_answer() -> Answer {
    Answer::text("ok")
}

/// Whether the request asks for a title. It is recognised by the first words of its instruction, on
/// any wire.
fn asks_for_a_title(request: &RecordedRequest) -> bool {
    const MARK: &[u8] = b"You name conversations.";
    const LARGEST: usize = 16 * 1024;
    request.raw.len() < LARGEST && request.raw.windows(MARK.len()).any(|window| window == MARK)
}

fn default_models() -> Vec<String> {
    vec!["scripted".into()]
}

/// Listens with a deep backlog, because benchmarks open thousands of connections at once.
fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("SO_REUSEADDR");
    socket.bind(address).expect("the port is free");
    socket.listen(4096).expect("listen")
}
