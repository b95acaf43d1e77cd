//! Streamable HTTP through egress: one POST a request, answered by JSON or by a stream of events.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onyx_egress::{Address, Answering, Bounds, Egress, EgressError, Method, PrivateHost};
use serde_json::Value;

use super::Outgoing;
use crate::McpError;
use crate::wire::{Era, Incoming, MOST_BYTES, incoming, notification, reply};

/// Messages of one stream beside the answer.
const MOST_UNASKED: usize = 2_000;
const SESSION: &str = "mcp-session-id";
const REPLY_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct HttpTransport {
    address: Address,
    egress: Egress,
    headers: BTreeMap<String, String>,
    /// As the server gave it in its handshake.
    session: Mutex<Option<String>>,
    next: AtomicU64,
    tools_changed: AtomicBool,
}

impl HttpTransport {
    /// The owner named the address, so it may stand in a private network; a model chooses only what
    /// is said there. Redirects are not followed.
    pub(crate) fn new(
        address: Address,
        egress: &Egress,
        headers: BTreeMap<String, String>,
    ) -> Self {
        Self {
            egress: egress.reaching(vec![PrivateHost::of(&address)]),
            address,
            headers,
            session: Mutex::default(),
            next: AtomicU64::new(1),
            tools_changed: AtomicBool::new(false),
        }
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Value, McpError> {
        let Outgoing { era, method, params, name, limit } = outgoing;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = era.request(id, method, params);
        let mut answer = self.send(era, method, name, &message, limit).await?;
        if method == "initialize" {
            self.keep_session(answer.header(SESSION));
        }
        let status = answer.status();
        if answer.header("content-type").starts_with("text/event-stream") && status == 200 {
            return self.read_events(&mut answer, era, id).await;
        }
        let body = answer.rest().await.map_err(|error| unreachable(&error))?;
        let message: Option<Value> = serde_json::from_slice(&body).ok();
        match message.and_then(incoming) {
            Some(Incoming::Response { result, .. }) => result,
            Some(Incoming::Request { .. } | Incoming::Notification { .. }) | None => {
                Err(by_status(status))
            }
        }
    }

    pub(crate) async fn notify(&self, era: &Era, method: &str) -> Result<(), McpError> {
        let answer = self.send(era, method, None, &notification(method), REPLY_LIMIT).await?;
        match answer.status() {
            200..=299 => Ok(()),
            status => Err(by_status(status)),
        }
    }

    pub(crate) fn tools_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::Relaxed)
    }

    async fn send(
        &self,
        era: &Era,
        method: &str,
        name: Option<&str>,
        message: &Value,
        limit: Duration,
    ) -> Result<Answering, McpError> {
        let mut headers: Vec<(String, String)> = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        let own = self.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        headers.extend(own);
        if let Some(version) = era.version() {
            headers.push(("mcp-protocol-version".to_owned(), version.to_owned()));
        }
        if *era == Era::Stateless {
            headers.push(("mcp-method".to_owned(), method.to_owned()));
            headers.extend(name.map(|name| ("mcp-name".to_owned(), name.to_owned())));
        }
        headers.extend(self.session().map(|session| (SESSION.to_owned(), session)));
        let bounds = Bounds { total: limit, redirects: 0, bytes: MOST_BYTES, ..Bounds::default() };
        let body = message.to_string().into_bytes();
        let egress = self.egress.within(bounds);
        let sent = egress.send(Method::POST, &self.address, &headers, body).await;
        sent.map_err(|error| unreachable(&error))
    }

    /// Reads events until the answer comes. The stream is left then: nobody waits for its end.
    async fn read_events(
        &self,
        answer: &mut Answering,
        era: &Era,
        id: u64,
    ) -> Result<Value, McpError> {
        let (mut events, mut unasked) = (Events::default(), 0);
        while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
            for data in events.add(&chunk) {
                let message: Option<Value> = serde_json::from_str(&data).ok();
                match message.and_then(incoming) {
                    Some(Incoming::Response { id: of, result }) if of == id => return result,
                    Some(Incoming::Request { id, method }) => {
                        let reply = reply(&id, &method);
                        // A reply that does not arrive is the server's loss.
                        let _ = self.send(era, &method, None, &reply, REPLY_LIMIT).await;
                    }
                    Some(Incoming::Notification { method }) => {
                        if method == "notifications/tools/list_changed" {
                            self.tools_changed.store(true, Ordering::Relaxed);
                        }
                    }
                    Some(Incoming::Response { .. }) | None => {}
                }
                unasked += 1;
                if unasked > MOST_UNASKED {
                    let why = "it says too much that nobody asked for";
                    return Err(McpError::NotUnderstood(why.to_owned()));
                }
            }
        }
        Err(McpError::NotUnderstood("the stream ended without an answer".to_owned()))
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

fn unreachable(error: &EgressError) -> McpError {
    match error {
        EgressError::Timeout(limit) => McpError::Timeout(limit.as_secs()),
        error => McpError::Unreachable(error.to_string()),
    }
}

fn by_status(status: u16) -> McpError {
    match status {
        401 | 403 => McpError::Unreachable(format!(
            "the server asks for a credential (HTTP {status}); set `headers` for it"
        )),
        // As a server of the other era answers a handshake.
        400 | 404 | 405 => {
            McpError::Answered { code: i64::from(status), message: "refused".into() }
        }
        status => McpError::Unreachable(format!("the server answered HTTP {status}")),
    }
}

/// The data of server-sent events, put together from pieces.
#[derive(Default)]
struct Events {
    rest: Vec<u8>,
    data: String,
}

impl Events {
    fn add(&mut self, chunk: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(chunk);
        let mut whole = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                if !self.data.is_empty() {
                    whole.push(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_however_they_are_cut() {
        let stream = b"event: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: note\n\ndata: two\n\n";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let whole: Vec<String> =
                stream.chunks(size).flat_map(|chunk| events.add(chunk)).collect();
            assert_eq!(whole, ["{\"a\":\n1}", "two"], "{size}");
        }
    }
}
