//! Streamable HTTP through egress: each request is a POST, answered by JSON or by a stream of
//! events.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use onyx_egress::{Address, Bounds, Egress, EgressError, Method, OpenAnswer, PrivateHost};
use serde_json::Value;

use super::events::Events;
use super::{Outgoing, Task};
use crate::McpError;
use crate::oauth::{Challenge, Consent, SignIn};
use crate::wire::{
    Elicitations, Era, Incoming, MOST_BYTES, incoming, notification, reply, request,
};

/// The most messages of one stream beside the answer.
const MOST_UNASKED: usize = 2_000;
/// How often a stream is resumed. `USUAL_RETRY` is the wait before that if the server names none.
const MOST_RESUMPTIONS: usize = 10;
const USUAL_RETRY: Duration = Duration::from_secs(1);
/// How long a server may take to open a stream that belongs to no request.
const OPEN_LIMIT: Duration = Duration::from_secs(5);
const SHORTEST_RETRY: Duration = Duration::from_millis(100);
/// The longest time that a stream which belongs to no request may last.
const LONGEST_STREAM: Duration = Duration::from_secs(60 * 60);
/// The most sign-ins for one request: a second one is needed if the first gave too few rights.
const MOST_SIGN_INS: usize = 2;
const SESSION: &str = "mcp-session-id";
const REPLY_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct HttpTransport {
    address: Address,
    egress: Egress,
    access: HttpAccess,
    /// The session id from the server's handshake.
    session: Mutex<Option<String>>,
    next: AtomicU64,
    tools_changed: AtomicBool,
    /// The task that listens for the server's own messages; it ends with this value.
    listening: Mutex<Option<Task>>,
}

/// The credentials that requests carry.
#[derive(Clone, Default)]
pub(crate) struct HttpAccess {
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) sign_in: Option<Arc<SignIn>>,
    /// A person who signs in when the server requires it.
    pub(crate) consent: Option<Arc<dyn Consent>>,
    pub(crate) elicitations: Elicitations,
}

impl HttpTransport {
    /// Makes a transport. The owner configured the address, so it may be in a private network; a
    /// model only chooses the content of requests. Redirects are not followed.
    pub(crate) fn new(address: Address, egress: &Egress, access: HttpAccess) -> Self {
        Self {
            egress: egress.reaching(vec![PrivateHost::of(&address)]),
            address,
            access,
            session: Mutex::default(),
            next: AtomicU64::new(1),
            tools_changed: AtomicBool::new(false),
            listening: Mutex::default(),
        }
    }

    /// Listens for a session's messages that belong to no request. The stream is opened before
    /// anything is called, because earlier messages would be lost.
    pub(crate) async fn listen(self: &Arc<Self>, era: &Era) {
        if self.session().is_none() {
            return;
        }
        let opened = self.open_stream(era, None, LONGEST_STREAM);
        let Ok(Ok(answer)) = tokio::time::timeout(OPEN_LIMIT, opened).await else { return };
        let task = tokio::spawn(read_server_events(Arc::downgrade(self), era.clone(), answer));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(Task(task));
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Value, McpError> {
        let Outgoing { era, method, params, name, headers, limit } = outgoing;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = request(id, method, &params);
        let mut sending = self.headers(era, Some(method), name);
        sending.extend(headers);
        let whole = async {
            let mut answer = self.send(&sending, &message, limit).await?;
            if method == "initialize" {
                self.keep_session(answer.header(SESSION));
            }
            let status = answer.status();
            if answer.header("content-type").starts_with("text/event-stream") && status == 200 {
                return self.read_events(answer, era, id, limit).await;
            }
            let mut body = Vec::new();
            while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
                body.extend(chunk);
            }
            let message: Option<Value> = serde_json::from_slice(&body).ok();
            match message.and_then(incoming) {
                Some(Incoming::Response { result, .. }) => result,
                Some(Incoming::Request { .. } | Incoming::Notification { .. }) | None => {
                    Err(by_status(status))
                }
            }
        };
        let whole = tokio::time::timeout(limit, whole).await;
        whole.unwrap_or(Err(McpError::Timeout(limit.as_secs())))
    }

    pub(crate) async fn notify(&self, era: &Era, method: &str) -> Result<(), McpError> {
        let headers = self.headers(era, Some(method), None);
        let answer = self.send(&headers, &notification(method), REPLY_LIMIT).await?;
        match answer.status() {
            200..=299 => Ok(()),
            status => Err(by_status(status)),
        }
    }

    pub(crate) fn tools_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::Relaxed)
    }

    fn headers(
        &self,
        era: &Era,
        method: Option<&str>,
        name: Option<&str>,
    ) -> Vec<(String, String)> {
        let own = self.access.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let mut headers: Vec<(String, String)> = own.collect();
        if let Some(version) = era.version() {
            headers.push(("mcp-protocol-version".to_owned(), version.to_owned()));
        }
        if *era == Era::Stateless {
            headers.extend(method.map(|method| ("mcp-method".to_owned(), method.to_owned())));
            headers.extend(name.map(|name| ("mcp-name".to_owned(), name.to_owned())));
        }
        headers.extend(self.session().map(|session| (SESSION.to_owned(), session)));
        headers
    }

    /// Sends a message. A server that requires authentication gets a token; after a refusal a
    /// renewed one, or one of a new sign-in if a person is there. Both are limited in number.
    async fn send(
        &self,
        headers: &[(String, String)],
        message: &Value,
        limit: Duration,
    ) -> Result<OpenAnswer, McpError> {
        let (mut renewals, mut sign_ins) = (0, 0);
        loop {
            let token = match &self.access.sign_in {
                Some(sign_in) => sign_in.token().await,
                None => None,
            };
            let body = message.to_string().into_bytes();
            let accept = "application/json, text/event-stream";
            let answer = self
                .send_once(Method::POST, headers, token.as_deref(), accept, body, limit)
                .await?;
            let status = answer.status();
            let sign_in = match &self.access.sign_in {
                Some(sign_in) if matches!(status, 401 | 403) => sign_in,
                Some(_) | None => return Ok(answer),
            };
            let challenge = Challenge::read(answer.header("www-authenticate"));
            let is_newer = sign_in.refused(token.as_deref(), challenge, status).await?;
            if is_newer && renewals == 0 {
                renewals += 1;
                continue;
            }
            match &self.access.consent {
                Some(consent) if sign_ins < MOST_SIGN_INS => {
                    sign_ins += 1;
                    sign_in.with(consent.as_ref()).await?;
                }
                Some(_) | None => return Err(sign_in_needed(status, token.is_some())),
            }
        }
    }

    async fn send_once(
        &self,
        method: Method,
        headers: &[(String, String)],
        token: Option<&str>,
        accept: &str,
        body: Vec<u8>,
        limit: Duration,
    ) -> Result<OpenAnswer, McpError> {
        let mut headers = headers.to_vec();
        headers.push(("accept".to_owned(), accept.to_owned()));
        if method == Method::POST {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        headers.extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        let bounds = Bounds { total: limit, redirects: 0, bytes: MOST_BYTES, ..Bounds::default() };
        let egress = self.egress.within(bounds);
        let sent = egress.send(method, &self.address, &headers, body).await;
        sent.map_err(|error| unreachable(&error))
    }

    /// Reads events until the answer comes, then closes the stream. A stream that ends earlier is
    /// resumed where it broke off, if the server marks its events with ids.
    async fn read_events(
        &self,
        mut answer: OpenAnswer,
        era: &Era,
        id: u64,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let (mut events, mut unasked) = (Events::default(), 0);
        for _ in 0..=MOST_RESUMPTIONS {
            loop {
                let chunk = match answer.chunk().await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => break,
                    Err(EgressError::BadAnswer { .. }) if events.last_id.is_some() => break,
                    Err(error) => return Err(unreachable(&error)),
                };
                for data in events.add(&chunk) {
                    if let Some(result) = self.take(era, id, &data).await {
                        return result;
                    }
                    unasked += 1;
                    if unasked > MOST_UNASKED {
                        let why = "it sends too many unrequested messages";
                        return Err(McpError::NotUnderstood(why.to_owned()));
                    }
                }
            }
            let Some(last) = events.last_id.clone().filter(|_| *era != Era::Stateless) else {
                break;
            };
            tokio::time::sleep(events.retry.unwrap_or(USUAL_RETRY).min(limit)).await;
            answer = self.resume(era, last, limit).await?;
            events.begin_again();
        }
        Err(McpError::NotUnderstood("the stream ended without an answer".to_owned()))
    }

    async fn resume(
        &self,
        era: &Era,
        last: String,
        limit: Duration,
    ) -> Result<OpenAnswer, McpError> {
        self.open_stream(era, Some(last), limit).await
    }

    async fn open_stream(
        &self,
        era: &Era,
        last: Option<String>,
        limit: Duration,
    ) -> Result<OpenAnswer, McpError> {
        let mut headers = self.headers(era, None, None);
        headers.extend(last.map(|last| ("last-event-id".to_owned(), last)));
        let token = match &self.access.sign_in {
            Some(sign_in) => sign_in.token().await,
            None => None,
        };
        let (get, accept) = (Method::GET, "text/event-stream");
        let answer =
            self.send_once(get, &headers, token.as_deref(), accept, Vec::new(), limit).await?;
        match answer.status() {
            200 => Ok(answer),
            status => Err(by_status(status)),
        }
    }

    /// Handles one event, and returns the answer if the event is one.
    async fn take(&self, era: &Era, id: u64, data: &str) -> Option<Result<Value, McpError>> {
        let message: Option<Value> = serde_json::from_str(data).ok();
        match message.and_then(incoming)? {
            Incoming::Response { id: of, result } => (of == id).then_some(result),
            Incoming::Request { id, method, params } => {
                let reply = reply(self.access.elicitations, &id, &method, &params);
                let headers = self.headers(era, None, None);
                // A reply that does not arrive only affects the server's own request.
                let _ = self.send(&headers, &reply, REPLY_LIMIT).await;
                None
            }
            Incoming::Notification { method } => {
                if method == "notifications/tools/list_changed" {
                    self.tools_changed.store(true, Ordering::Relaxed);
                }
                None
            }
        }
    }

    fn keep_session(&self, session: &str) {
        let is_plain = session.bytes().all(|byte| byte.is_ascii_graphic());
        let session =
            Some(session.to_owned()).filter(|it| is_plain && (1..=512).contains(&it.len()));
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads events until the server has ended its stream too often, sends too much or offers no
/// stream. It then stops for good: the tools are checked again when one is called.
async fn read_server_events(transport: Weak<HttpTransport>, era: Era, mut answer: OpenAnswer) {
    let (mut events, mut unasked) = (Events::default(), 0);
    for _ in 0..=MOST_RESUMPTIONS {
        while let Ok(Some(chunk)) = answer.chunk().await {
            for data in events.add(&chunk) {
                let Some(transport) = transport.upgrade() else { return };
                // No request waits for an answer on this stream.
                let _ = transport.take(&era, 0, &data).await;
                unasked += 1;
                if unasked > MOST_UNASKED {
                    return;
                }
            }
        }
        events.begin_again();
        let wait = events.retry.unwrap_or(USUAL_RETRY).clamp(SHORTEST_RETRY, LONGEST_STREAM);
        tokio::time::sleep(wait).await;
        let Some(transport) = transport.upgrade() else { return };
        let opened = transport.open_stream(&era, events.last_id.clone(), LONGEST_STREAM);
        // Only an open stream may outlast the connection it belongs to.
        let Ok(Ok(again)) = tokio::time::timeout(OPEN_LIMIT, opened).await else { return };
        answer = again;
    }
}

fn unreachable(error: &EgressError) -> McpError {
    match error {
        EgressError::Timeout(limit) => McpError::Timeout(limit.as_secs()),
        error => McpError::Unreachable(error.to_string()),
    }
}

fn sign_in_needed(status: u16, had_token: bool) -> McpError {
    let why = match (status, had_token) {
        (_, false) => "the server requires a sign-in",
        (403, true) => "the server asks for more rights than it was given",
        (_, true) => "the server no longer accepts the sign-in",
    };
    McpError::SignIn(format!("{why}; `onyx mcp login` signs in"))
}

fn by_status(status: u16) -> McpError {
    match status {
        401 | 403 => McpError::Unreachable(format!(
            "the server requires a credential (HTTP {status}); set it in `headers`"
        )),
        // A server of the other era answers like this to a message that it does not know.
        400..=499 => McpError::Answered { code: i64::from(status), message: "refused".into() },
        status => McpError::Unreachable(format!("the server answered HTTP {status}")),
    }
}
