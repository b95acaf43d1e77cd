//! How commands talk to a gateway: HTTP over the home's socket, whether the gateway is a server or
//! runs in this process.

mod lines;
mod socket_path;

use std::time::Duration;

use anyhow::{Context, Result};
use onyx_api::SOCKET_KEY;
use onyx_types::{ErrorCode, Fault};
use reqwest::{RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::exit::Exit;

pub(crate) use lines::{ChatLine, ChatLines, EventLines};
pub(crate) use socket_path::SocketPath;

/// The host name has no meaning: requests go to the socket.
const BASE: &str = "http://localhost";

#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// Keeps the socket's path valid.
    socket: SocketPath,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// There was no answer, or it was cut off.
    Unreachable(reqwest::Error),
    Refused(Fault),
}

#[derive(Deserialize)]
struct ProblemBody {
    code: ErrorCode,
    detail: String,
    hint: String,
}

impl Client {
    pub(crate) fn over(socket: SocketPath) -> Result<Self> {
        #[allow(clippy::disallowed_methods, reason = "it reaches the home's own socket only")]
        let builder = reqwest::Client::builder();
        let http = builder
            .unix_socket(socket.as_path())
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .build()
            .context("cannot create an HTTP client")?;
        Ok(Self { http, socket })
    }

    /// Whether a server answers.
    pub(crate) async fn is_alive(&self) -> bool {
        self.send(self.http.get(format!("{BASE}/health"))).await.is_ok()
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Response, ClientError> {
        self.send(self.http.get(format!("{BASE}{path}"))).await
    }

    /// A stream of events, until the server ends it.
    pub(crate) async fn follow(&self, path: &str) -> Result<EventLines, ClientError> {
        let request = self.http.get(format!("{BASE}{path}")).header("accept", "text/event-stream");
        Ok(EventLines::new(self.send(request).await?))
    }

    pub(crate) async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.get(path).await?.json().await.map_err(ClientError::Unreachable)
    }

    /// The body of an answer with any status; for `/ready`, whose 503 has details.
    pub(crate) async fn get_any<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let request = self.http.get(format!("{BASE}{path}")).header(SOCKET_KEY, self.socket.key());
        let response = request.send().await.map_err(ClientError::Unreachable)?;
        response.json().await.map_err(ClientError::Unreachable)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Response, ClientError> {
        self.send(self.http.post(format!("{BASE}{path}")).json(body)).await
    }

    /// Sends raw bytes.
    pub(crate) async fn post_bytes(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<Response, ClientError> {
        self.send(self.http.post(format!("{BASE}{path}")).body(bytes)).await
    }

    /// The answer with any status, for callers that pass it on.
    pub(crate) async fn post_through(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<Response, ClientError> {
        let request = self.http.post(format!("{BASE}{path}")).json(body);
        let request = request.header(SOCKET_KEY, self.socket.key());
        request.send().await.map_err(ClientError::Unreachable)
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Response, ClientError> {
        self.send(self.http.patch(format!("{BASE}{path}")).json(body)).await
    }

    pub(crate) async fn patch_json<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, ClientError> {
        let response = self.patch(path, body).await?;
        response.json().await.map_err(ClientError::Unreachable)
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Response, ClientError> {
        self.send(self.http.put(format!("{BASE}{path}")).json(body)).await
    }

    /// Replaces a text if the condition in `header` holds.
    pub(crate) async fn put_text(
        &self,
        path: &str,
        text: String,
        (header, value): (&'static str, &str),
    ) -> Result<Response, ClientError> {
        self.send(self.http.put(format!("{BASE}{path}")).header(header, value).body(text)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Response, ClientError> {
        self.send(self.http.delete(format!("{BASE}{path}"))).await
    }

    pub(crate) async fn chat(&self, body: &Value) -> Result<ChatLines, ClientError> {
        Ok(ChatLines::new(self.post("/api/agent/chat-stream", body).await?))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let request = request.header(SOCKET_KEY, self.socket.key());
        let response = request.send().await.map_err(ClientError::Unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(ClientError::Unreachable)?;
        let fault = match serde_json::from_slice::<ProblemBody>(&body) {
            Ok(problem) => Fault::new(problem.code, problem.detail).with_hint(problem.hint),
            Err(_) => Fault::new(ErrorCode::Internal, format!("the server answered {status}")),
        };
        Err(ClientError::Refused(fault))
    }
}

impl ClientError {
    /// An answer in a form that this version does not know.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        let message = format!("the server's answer was not understood: {error}");
        Self::Refused(Fault::new(ErrorCode::Internal, message))
    }

    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Refused(fault) => fault.clone(),
            Self::Unreachable(error) => {
                tracing::debug!(%error, "no answer");
                Fault::new(ErrorCode::Interrupted, "the server stopped before it answered")
                    .with_hint("Start it again with `onyx serve`; finished work is kept.")
            }
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused(fault) => Exit::of(fault.code),
            Self::Unreachable(_) => Exit::Unreachable,
        }
    }
}
