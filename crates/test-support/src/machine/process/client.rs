//! A simple client of the agent API, for tests that check every line.

use crate::canary;
use bytes::{Bytes, BytesMut};
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub struct AgentClient {
    base: String,
    token: String,
    http: reqwest::Client,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The NDJSON lines of a running answer, one at a time. Dropping it closes the connection.
#[derive(Debug)]
pub struct ChatLines {
    response: Response,
    buffer: BytesMut,
}

impl AgentClient {
    pub fn new(base: impl Into<String>, token: impl Into<String>) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        Self { base: base.into(), token: token.into(), http }
    }

    /// The address of the server, `http://127.0.0.1:<port>`.
    pub fn base_url(&self) -> &str {
        &self.base
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A request with the bearer token, which can be changed before it is sent.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path)).bearer_auth(&self.token)
    }

    pub async fn get(&self, path: &str) -> Reply {
        Reply::of(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        Reply::of(self.request(Method::POST, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        Reply::of(self.request(Method::DELETE, path)).await
    }

    pub async fn healthy(&self) -> bool {
        let answer = self.http.get(self.url("/health")).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// Sends a message and reads the answer to its end; panics unless the server begins a stream.
    pub async fn chat_stream(&self, body: &Value) -> Vec<Value> {
        self.chat_lines(body).await.rest().await
    }

    /// Sends a message whose answer is read line by line.
    pub async fn chat_lines(&self, body: &Value) -> ChatLines {
        let request = self.request(Method::POST, "/api/agent/chat-stream").json(body);
        let response = request.send().await.expect("the server answers");
        let status = response.status();
        if !status.is_success() {
            panic!("chat-stream answered {status}: {}", response.text().await.unwrap_or_default());
        }
        ChatLines::of(response)
    }

    /// The messages of a session.
    pub async fn history(&self, session: &str) -> Vec<Value> {
        let reply = self.get(&format!("/api/agent/session/history?session_id={session}")).await;
        let body = reply.expect(200).json();
        body["messages"].as_array().expect("a list of messages").clone()
    }

    pub async fn stop(&self, session: &str) -> Reply {
        self.post("/api/agent/stop", &json!({"session_id": session})).await
    }
}

impl Reply {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("the server answers");
        let reply = Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await.expect("the answer is whole"),
        };
        canary::assert_absent(
            "the headers of an answer",
            format!("{:?}", reply.headers).as_bytes(),
        );
        canary::assert_absent("an answer", &reply.body);
        reply
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Panics with the body unless the status is this one.
    #[must_use]
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

impl ChatLines {
    /// The lines of an answer that has begun.
    pub fn of(response: Response) -> Self {
        Self { response, buffer: BytesMut::new() }
    }

    /// The next event; `None` at the end of the stream, even if it broke off.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                canary::assert_absent("a stream", &line);
                return Some(serde_json::from_slice(&line).expect("each line is JSON"));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.buffer.extend_from_slice(&bytes),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Reads until an event of this type; panics if the stream ends before it.
    pub async fn until(&mut self, kind: &str) -> Value {
        while let Some(event) = self.next().await {
            if event["type"] == kind {
                return event;
            }
        }
        panic!("the stream ended before a `{kind}` event");
    }

    pub async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
