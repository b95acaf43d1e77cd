//! Answers requests: the protocol's own methods are answered here, all others by the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onyx_storage::{ShortLived, StoreError};
use onyx_types::PersonId;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};

use super::era::{self, Era, Headers};
use super::exchange::{EarlierRounds, Exchange, log_level};
use super::message::{
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY,
    PARSE_ERROR, RESOURCE_NOT_FOUND, Refusal, SESSION_NOT_FOUND, UNSUPPORTED_VERSION, notification,
    result,
};
use super::running::Task;
use super::sealed::{EndpointKeys, SealKey};
use super::sessions::{Session, Sessions};
use super::tasks::{self, AtWork, Tasks};
use super::{Events, HttpReply, Offer, Service, Stop, event};
use crate::wire::STATELESS;

/// How many messages before the answer may wait to be sent.
const WAITING: usize = 64;
/// The methods whose results a client may cache for a while; results change with the config.
const CACHEABLE: [&str; 6] = [
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];
/// The methods that only eras with a handshake have.
const OF_HANDSHAKES: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// A kind of list that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts,
    Resources,
}

impl Change {
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Tools => ("tools", "toolsListChanged", "notifications/tools/list_changed"),
            Self::Prompts => {
                ("prompts", "promptsListChanged", "notifications/prompts/list_changed")
            }
            Self::Resources => {
                ("resources", "resourcesListChanged", "notifications/resources/list_changed")
            }
        }
    }
}

/// The endpoint that clients connect to. There is one in the process.
pub struct Endpoint {
    sessions: Sessions,
    key: Arc<SealKey>,
    changes: broadcast::Sender<Change>,
    tasks: Tasks,
}

impl Endpoint {
    /// Makes an endpoint over the store that all gateways share.
    pub fn new(keys: EndpointKeys, store: Arc<dyn ShortLived>) -> Self {
        let (changes, _) = broadcast::channel(WAITING);
        let tasks = Tasks::new(Arc::clone(&store));
        Self { sessions: Sessions::new(store), key: Arc::new(SealKey::new(keys)), changes, tasks }
    }

    /// Notifies the clients that listen for changes.
    pub fn changed(&self, change: Change) {
        // Sending fails if no client listens, which is not an error.
        let _ = self.changes.send(change);
    }

    /// Handles one message of a client.
    pub async fn post(
        &self,
        service: Arc<dyn Service>,
        caller: &PersonId,
        headers: &Headers,
        body: &[u8],
    ) -> HttpReply {
        let mut message: Value = match serde_json::from_slice(body) {
            Ok(message) => message,
            Err(error) => {
                let refusal = Refusal::new(PARSE_ERROR, format!("not JSON: {error}"));
                return refused(400, &refusal, &Value::Null);
            }
        };
        let id = message.get("id").cloned().unwrap_or(Value::Null);
        let session = match self.session(caller, headers, &id).await {
            Ok(session) => session,
            Err(refused) => return refused,
        };
        let Some(method) = message.get("method").and_then(Value::as_str).map(str::to_owned) else {
            return not_asked(&mut message, session.as_deref(), &id).await;
        };
        if id.is_null() {
            return HttpReply::Empty { status: 202 };
        }
        let params = message["params"].take();
        let params = if params.is_object() { params } else { json!({}) };
        let request = RpcRequest { id, method, params, caller, headers, session };
        match request.era() {
            Ok(era) => self.answer(service, request, era).await,
            Err(refused) => refused,
        }
    }

    /// The session that the request names, if it names one.
    async fn session(
        &self,
        caller: &PersonId,
        headers: &Headers,
        id: &Value,
    ) -> Result<Option<Arc<Session>>, HttpReply> {
        let Some(name) = &headers.session else { return Ok(None) };
        match self.sessions.get(name, caller).await {
            Ok(Some(session)) => Ok(Some(Arc::new(session))),
            Ok(None) => {
                let refusal = Refusal::new(SESSION_NOT_FOUND, "there is no such session");
                Err(refused(404, &refusal, id))
            }
            Err(error) => Err(unavailable(&error, id)),
        }
    }

    /// Answers a request: the protocol's own methods at once, every other one by the service.
    async fn answer(
        &self,
        service: Arc<dyn Service>,
        request: RpcRequest<'_>,
        era: Era,
    ) -> HttpReply {
        let offer = service.offer();
        let RpcRequest { id, params, .. } = &request;
        match request.method.as_str() {
            "initialize" => return self.initialize(&offer, request.caller, id, params).await,
            "ping" => return done(result(id, json!({}))),
            "server/discover" => return done(result(id, discover(&offer))),
            "subscriptions/listen" if era == Era::Stateless => {
                return self.listen_for(&offer, id, params);
            }
            "logging/setLevel" => return request.set_log_level().await,
            _ => {}
        }
        if let Some(outcome) = self.tasks.answer(&request.method, params, request.caller, era).await
        {
            return match outcome {
                Ok(mut outcome) => {
                    if era == Era::Stateless {
                        mark_complete(&mut outcome, &request.method);
                    }
                    done(result(id, outcome))
                }
                Err(refusal) => refused(200, &refusal, id),
            };
        }
        let about = about(request.caller, &request.method, params);
        let carried = match EarlierRounds::read(params, &self.key, &about) {
            Ok(carried) => carried,
            Err(refusal) => return refused(200, &refusal, id),
        };
        let (messages, waiting) = mpsc::channel(WAITING);
        let is_task = era == Era::Handshake && request.wanted_task().is_some();
        let exchange = Exchange {
            era,
            capabilities: match (era, &request.session) {
                (Era::Stateless, _) => era::capabilities(params),
                (Era::Handshake, Some(session)) => session.capabilities.clone(),
                (Era::Handshake, None) => Value::Null,
            },
            session: request.session.clone(),
            key: Arc::clone(&self.key),
            about,
            messages,
            takes_events: request.headers.takes_events,
            is_left_alone: Arc::new(AtomicBool::new(is_task)),
            meta: params["_meta"].clone(),
            carried: carried.into(),
        };
        self.run(service, request, exchange, waiting).await
    }

    /// Runs the request. Messages before the answer turn it into a stream of events; a slow request
    /// becomes a task if the client supports that.
    async fn run(
        &self,
        service: Arc<dyn Service>,
        request: RpcRequest<'_>,
        exchange: Exchange,
        mut answers: mpsc::Receiver<Value>,
    ) -> HttpReply {
        let (era, patience) = (exchange.era, request.patience(&exchange));
        let life = request.wanted_task().flatten();
        let (id, is_left_alone) = (request.id.clone(), Arc::clone(&exchange.is_left_alone));
        let work = begin(service, request.method, request.params, id.clone(), exchange);
        let first = match patience {
            Some(patience) => tokio::time::timeout(patience, answers.recv()).await.ok(),
            None => Some(answers.recv().await),
        };
        let call = AtWork { answers, work };
        match first {
            Some(first) => answered(first, era, call),
            None => {
                is_left_alone.store(true, Ordering::Release);
                let name = self.key.fresh_name();
                match self.tasks.keep(name, request.caller, life, era, call).await {
                    Ok(task) => done(result(&id, created(task, era))),
                    // The caller has too many tasks, so the server waits for this call.
                    Err(mut call) => {
                        let first = call.answers.recv().await;
                        answered(first, era, call)
                    }
                }
            }
        }
    }

    async fn initialize(
        &self,
        offer: &Offer,
        caller: &PersonId,
        id: &Value,
        params: &Value,
    ) -> HttpReply {
        let session = self.key.fresh_name();
        let begun = self.sessions.begin(&session, caller, params["capabilities"].clone()).await;
        if let Err(error) = begun {
            return unavailable(&error, id);
        }
        let body = result(
            id,
            json!({
                "protocolVersion": era::negotiated(params),
                "capabilities": with_tasks(&offer.capabilities),
                "serverInfo": offer.info,
                "instructions": offer.instructions,
            }),
        );
        HttpReply::Json { status: 200, session: Some(session), body }
    }

    /// `GET`: streams the changes to a client with a session.
    pub async fn listen(&self, offer: &Offer, caller: &PersonId, headers: &Headers) -> HttpReply {
        let Some(name) = &headers.session else { return HttpReply::Empty { status: 405 } };
        match self.sessions.get(name, caller).await {
            Ok(Some(_)) => {}
            Ok(None) => return HttpReply::Empty { status: 404 },
            Err(error) => return unavailable(&error, &Value::Null),
        }
        let wanted = offered_changes(offer);
        if wanted.is_empty() {
            return HttpReply::Empty { status: 405 };
        }
        HttpReply::Events(self.changes_of(wanted, Vec::new(), Value::Null))
    }

    /// `DELETE`: ends the client's session.
    pub async fn end(&self, caller: &PersonId, headers: &Headers) -> HttpReply {
        let Some(name) = &headers.session else { return HttpReply::Empty { status: 405 } };
        match self.sessions.end(name, caller).await {
            Ok(true) => HttpReply::Empty { status: 204 },
            Ok(false) => HttpReply::Empty { status: 404 },
            Err(error) => unavailable(&error, &Value::Null),
        }
    }

    /// Does the same in the era without sessions: the client lists the changes that it wants.
    fn listen_for(&self, offer: &Offer, id: &Value, params: &Value) -> HttpReply {
        let offered = offered_changes(offer);
        if offered.is_empty() {
            return refused(404, &Refusal::no_method("subscriptions/listen"), id);
        }
        let is_wanted = |change: &Change| params["notifications"][change.words().1] == true;
        let wanted: Vec<Change> = offered.into_iter().filter(is_wanted).collect();
        let subscription = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let meta = json!({"io.modelcontextprotocol/subscriptionId": subscription});
        let honoured: Map<String, Value> =
            wanted.iter().map(|change| (change.words().1.to_owned(), json!(true))).collect();
        let acknowledged = notification(
            "notifications/subscriptions/acknowledged",
            json!({"_meta": meta, "notifications": honoured}),
        );
        HttpReply::Events(self.changes_of(wanted, vec![event(&acknowledged)], meta))
    }

    fn changes_of(&self, wanted: Vec<Change>, first: Vec<String>, meta: Value) -> Events {
        let mut changes = self.changes.subscribe();
        let (sender, rest) = mpsc::channel(WAITING);
        let task = tokio::spawn(async move {
            loop {
                let change = match changes.recv().await {
                    Ok(change) => change,
                    // The next list that the client requests contains the missed changes.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                if !wanted.contains(&change) {
                    continue;
                }
                let params = if meta.is_null() { json!({}) } else { json!({"_meta": meta}) };
                let message = notification(change.words().2, params);
                if sender.send(message).await.is_err() {
                    return;
                }
            }
        });
        Events { first, rest, _task: Task(task) }
    }
}

/// A parsed request.
struct RpcRequest<'a> {
    id: Value,
    method: String,
    params: Value,
    caller: &'a PersonId,
    headers: &'a Headers,
    session: Option<Arc<Session>>,
}

impl RpcRequest<'_> {
    fn era(&self) -> Result<Era, HttpReply> {
        let era = era::of(self.headers, &self.method, &self.params);
        let era = era.map_err(|refusal| refused(400, &refusal, &self.id))?;
        if era == Era::Stateless && OF_HANDSHAKES.contains(&self.method.as_str()) {
            return Err(refused(404, &Refusal::no_method(&self.method), &self.id));
        }
        Ok(era)
    }

    /// The lifetime of the task that a client of an era with a handshake asks for in its call.
    fn wanted_task(&self) -> Option<Option<Duration>> {
        (self.method == "tools/call").then(|| tasks::wanted(&self.params)).flatten()
    }

    /// How long to wait for the answer before the call becomes a task; `None` waits until its end.
    fn patience(&self, exchange: &Exchange) -> Option<Duration> {
        match exchange.era {
            Era::Handshake => self.wanted_task().map(|_| Duration::ZERO),
            Era::Stateless => {
                let is_understood = tasks::understood(&exchange.capabilities);
                (self.method == "tools/call" && is_understood).then_some(tasks::SOON)
            }
        }
    }

    async fn set_log_level(&self) -> HttpReply {
        let Some(level) = self.params["level"].as_str().and_then(log_level) else {
            let refusal = Refusal::params("params.level: one of debug to emergency");
            return refused(200, &refusal, &self.id);
        };
        if let Some(session) = &self.session
            && let Err(error) = session.set_log_level(level).await
        {
            return unavailable(&error, &self.id);
        }
        done(result(&self.id, json!({})))
    }
}

/// Handles a message without a method: it answers a question of ours, or is invalid.
async fn not_asked(message: &mut Value, session: Option<&Session>, id: &Value) -> HttpReply {
    if message.get("result").is_none() && message.get("error").is_none() {
        let refusal = Refusal::new(INVALID_REQUEST, "a message needs a method");
        return refused(400, &refusal, id);
    }
    if let Some(session) = session
        && let Err(error) = session.answered(message).await
    {
        return unavailable(&error, id);
    }
    HttpReply::Empty { status: 202 }
}

/// Starts the service on the request; its answer is the last message of the exchange.
fn begin(
    service: Arc<dyn Service>,
    method: String,
    params: Value,
    id: Value,
    exchange: Exchange,
) -> Task {
    let (era, last) = (exchange.era, exchange.messages.clone());
    let work = async move {
        let answered = service.answer(&method, &params, &exchange).await;
        let message = finished(era, &method, &id, answered);
        // A client that has gone gets no answer, so a failure to send it is ignored.
        let _ = last.send(message).await;
    };
    Task(tokio::spawn(work))
}

fn answered(first: Option<Value>, era: Era, call: AtWork) -> HttpReply {
    let AtWork { answers: rest, work } = call;
    match first {
        Some(message) if message.get("method").is_none() => {
            let status = status_of(era, &message);
            HttpReply::Json { status, session: None, body: message }
        }
        Some(message) => {
            HttpReply::Events(Events { first: vec![event(&message)], rest, _task: work })
        }
        None => {
            let refusal = Refusal::new(INVALID_REQUEST, "the request came to no end");
            refused(500, &refusal, &Value::Null)
        }
    }
}

/// The answer in the form of the request's era.
fn finished(era: Era, method: &str, id: &Value, answered: Result<Value, Stop>) -> Value {
    match answered {
        Ok(mut value) => {
            match era {
                Era::Stateless => mark_complete(&mut value, method),
                Era::Handshake if method == "tools/list" => mark_tasks(&mut value),
                Era::Handshake => {}
            }
            result(id, value)
        }
        Err(Stop::InputRequired(questions)) => result(id, questions),
        Err(Stop::NoSuchResource(uri)) => {
            let code = match era {
                Era::Handshake => RESOURCE_NOT_FOUND,
                Era::Stateless => super::message::INVALID_PARAMS,
            };
            let refusal = Refusal::new(code, "there is no such resource").with(json!({"uri": uri}));
            refusal.message_of(id)
        }
        Err(Stop::Refused(refusal)) => refusal.message_of(id),
    }
}

fn mark_complete(value: &mut Value, method: &str) {
    let Some(fields) = value.as_object_mut() else { return };
    fields.entry("resultType").or_insert_with(|| json!("complete"));
    if CACHEABLE.contains(&method) {
        fields.entry("ttlMs").or_insert_with(|| json!(0));
        fields.entry("cacheScope").or_insert_with(|| json!("private"));
    }
}

/// The HTTP status of an answer: the era without a handshake reports some errors by it too.
fn status_of(era: Era, message: &Value) -> u16 {
    match (era, message["error"]["code"].as_i64()) {
        (Era::Stateless, Some(METHOD_NOT_FOUND)) => 404,
        (Era::Stateless, Some(MISSING_CAPABILITY | HEADER_MISMATCH | UNSUPPORTED_VERSION)) => 400,
        _ => 200,
    }
}

/// Marks every tool as one that may be called as a task.
fn mark_tasks(listed: &mut Value) {
    for tool in listed["tools"].as_array_mut().into_iter().flatten() {
        tool["execution"] = json!({"taskSupport": "optional"});
    }
}

/// The handle of a new task.
fn created(task: Value, era: Era) -> Value {
    match era {
        Era::Handshake => json!({"task": task}),
        Era::Stateless => {
            let mut task = task;
            task["resultType"] = json!("task");
            task
        }
    }
}

/// Adds the capability of tasks in the form of the eras with a handshake.
fn with_tasks(offered: &Map<String, Value>) -> Map<String, Value> {
    let mut capabilities = offered.clone();
    if offered.contains_key("tools") {
        let calls = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".to_owned(), calls);
    }
    capabilities
}

fn discover(offer: &Offer) -> Value {
    let mut capabilities = offer.capabilities.clone();
    capabilities.remove("logging");
    if capabilities.contains_key("tools") {
        capabilities.insert("extensions".to_owned(), json!({tasks::EXTENSION: {}}));
    }
    let mut found = json!({
        "supportedVersions": [STATELESS],
        "capabilities": capabilities,
        "instructions": offer.instructions,
        "_meta": {"io.modelcontextprotocol/serverInfo": offer.info},
    });
    mark_complete(&mut found, "server/discover");
    found
}

fn offered_changes(offer: &Offer) -> Vec<Change> {
    let tells = |change: &Change| {
        offer
            .capabilities
            .get(change.words().0)
            .is_some_and(|capability| capability["listChanged"] == true)
    };
    [Change::Tools, Change::Prompts, Change::Resources].into_iter().filter(tells).collect()
}

/// Identifies a call, so that a state sealed for it is not accepted for another one.
fn about(caller: &PersonId, method: &str, params: &Value) -> String {
    let what = [&params["name"], &params["uri"], &params["arguments"]];
    json!([caller.as_str(), method, what]).to_string()
}

fn done(body: Value) -> HttpReply {
    HttpReply::Json { status: 200, session: None, body }
}

/// The store of sessions and tasks failed.
fn unavailable(error: &StoreError, id: &Value) -> HttpReply {
    refused(503, &Refusal::new(INTERNAL_ERROR, error.to_string()), id)
}

fn refused(status: u16, refusal: &Refusal, id: &Value) -> HttpReply {
    HttpReply::Json { status, session: None, body: refusal.message_of(id) }
}
