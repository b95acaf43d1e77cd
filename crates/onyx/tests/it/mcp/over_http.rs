use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::stream;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{accept_all, add, called, obedient, output, test};
use crate::builder;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The server uses a handshake and a session, and answers with events.
    Handshake,
    /// The server uses no handshake and answers with JSON.
    Stateless,
    /// The server sends events but never an answer.
    Endless,
    /// The server redirects every caller.
    Redirecting,
}

#[derive(Clone)]
struct Server {
    kind: Kind,
    seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
}

/// The server. It runs until it is dropped.
struct Running {
    url: String,
    server: Server,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    async fn start(kind: Kind) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let server = Server { kind, seen: Arc::default() };
        let app = Router::new().route("/mcp", post(answer)).with_state(server.clone());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, server, task }
    }

    fn seen(&self, method: &str) -> Vec<(HeaderMap, Value)> {
        let seen = self.server.seen.lock().unwrap();
        seen.iter().filter(|(_, message)| message["method"] == method).cloned().collect()
    }
}

async fn answer(State(server): State<Server>, headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    server.seen.lock().unwrap().push((headers, message.clone()));
    if server.kind == Kind::Redirecting {
        let to = [("location", "http://169.254.169.254/latest/meta-data")];
        return (StatusCode::TEMPORARY_REDIRECT, to).into_response();
    }
    let method = message["method"].as_str().unwrap();
    let tools =
        json!([{"name": "echo", "description": "Says it.", "inputSchema": {"type": "object"}}]);
    let result = match (method, server.kind) {
        ("notifications/initialized", _) => return StatusCode::ACCEPTED.into_response(),
        ("initialize", Kind::Stateless) => return StatusCode::BAD_REQUEST.into_response(),
        ("initialize", _) => json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
        ("server/discover", Kind::Stateless) => json!({"supportedVersions": ["2026-07-28"]}),
        ("tools/list", _) => json!({"tools": tools}),
        ("tools/call", Kind::Endless) => {
            let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n";
            let events = stream::unfold((), move |()| async move {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                Some((Ok::<_, std::io::Error>(event), ()))
            });
            let kind = [("content-type", "text/event-stream")];
            return (kind, Body::from_stream(events)).into_response();
        }
        ("tools/call", _) => {
            json!({"content": [{"type": "text", "text": format!("said {}", message["params"]["arguments"])}]})
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match server.kind {
        Kind::Handshake | Kind::Endless => {
            let headers = [("content-type", "text/event-stream"), ("mcp-session-id", "s-1")];
            // The stream stays open after the answer, as with some servers.
            let first = stream::iter([Ok::<_, std::io::Error>(format!("data: {answer}\n\n"))]);
            let body = futures::StreamExt::chain(first, stream::pending());
            (headers, Body::from_stream(body)).into_response()
        }
        Kind::Stateless | Kind::Redirecting => axum::Json(answer).into_response(),
    }
}

#[tokio::test]
async fn both_eras_are_spoken_over_http() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    for (name, kind, protocol) in
        [("old", Kind::Handshake, "2025-06-18"), ("new", Kind::Stateless, "2026-07-28")]
    {
        let running = Running::start(kind).await;
        let settings =
            json!({"url": running.url, "headers": {"x-key": "k"}, "effects": {"echo": "read"}});
        add(&onyx, name, settings).await;
        assert_eq!(accept_all(&onyx, name).await["protocol"], protocol);
        let (result, _) = called(&onyx, &format!("mcp:{name}/echo"), json!({"a": 1})).await;
        assert_eq!(output(&result), "said {\"a\":1}", "{name}");
        let (headers, message) = running.seen("tools/call").pop().unwrap();
        assert_eq!(headers["mcp-protocol-version"], protocol);
        assert_eq!(headers["x-key"], "k");
        if kind == Kind::Handshake {
            assert_eq!(headers["mcp-session-id"], "s-1");
            assert_eq!(running.seen("notifications/initialized").len(), 1);
        } else {
            assert_eq!(headers["mcp-method"], "tools/call");
            assert_eq!(headers["mcp-name"], "echo");
            let meta = &message["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{message}");
            assert!(headers.get("mcp-session-id").is_none());
        }
    }
}

#[tokio::test]
async fn a_server_with_a_network_is_asked_about_once_a_run_was_tainted() {
    let model = obedient().await;
    let running = Running::start(Kind::Stateless).await;
    let onyx = builder(&model).start().await;
    add(&onyx, "web", json!({"url": running.url, "effects": {"echo": "read"}})).await;
    accept_all(&onyx, "web").await;
    let calls = [("mcp:web/echo", json!({"a": 1})), ("mcp:web/echo", json!({"notes": "secret"}))];
    let message = crate::drafts::message(&calls);
    let mut lines = onyx.chat_lines(&json!({"message": message})).await;
    let confirm = lines.until("confirm").await;
    assert!(confirm["preview"]["text"].as_str().unwrap().contains("secret"), "{confirm}");
    assert_eq!(running.seen("tools/call").len(), 1, "the second waits for a person");
}

#[tokio::test]
async fn a_stream_that_never_answers_and_a_redirect_lead_nowhere() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let endless = Running::start(Kind::Endless).await;
    let settings = json!({"url": endless.url, "effects": {"echo": "read"}, "timeout": 2});
    add(&onyx, "endless", settings).await;
    accept_all(&onyx, "endless").await;
    let (result, _) = called(&onyx, "mcp:endless/echo", json!({})).await;
    assert!(output(&result).contains("no answer within 2 s"), "{result}");
    let elsewhere = Running::start(Kind::Redirecting).await;
    add(&onyx, "elsewhere", json!({"url": elsewhere.url})).await;
    let seen = test(&onyx, "elsewhere").await;
    assert_eq!(seen["status"], "failing");
    assert!(seen["problem"].as_str().unwrap().contains("HTTP 307"), "{seen:#}");
}
