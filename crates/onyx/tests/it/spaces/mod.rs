//! Spaces over HTTP: their contents, captures and conversations.

mod capture;
mod cautious;
mod companion;
mod contracts;
mod crossing;
mod entities;
mod injected;
mod lifecycle;
mod threads;
mod ui_agents;
mod ui_chat;

use std::time::Duration;

use onyx_test_support::{Answer, OnyxBuilder, OnyxProcess, Reply, ScriptedCall, ScriptedModel};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::builder;

/// A server with a space and two agents.
async fn house() -> (ScriptedModel, OnyxProcess) {
    house_with(json!({})).await
}

async fn house_with(config: Value) -> (ScriptedModel, OnyxProcess) {
    house_of(ScriptedModel::start().await, config).await
}

async fn house_of(model: ScriptedModel, config: Value) -> (ScriptedModel, OnyxProcess) {
    let onyx = a_house(&model).merge(config).start().await;
    (model, onyx)
}

fn a_house(model: &ScriptedModel) -> OnyxBuilder {
    builder(model)
        .merge(json!({"people": ["anna"], "agents": {
            "defaults": {"model": "mine/some-model"},
            "list": [
                {"id": "main", "default": true, "tier": "act"},
                {"id": "scout", "name": "Scout", "tier": "suggest"},
            ],
        }}))
        // The space's person lets agents act in it; `cautious` tests a space without that setting.
        .file("people/owner/spaces/home/space.json", "{\"name\": \"Home\", \"tier\": \"act\"}")
}

async fn send(onyx: &OnyxProcess, method: Method, path: &str, body: &Value) -> Reply {
    Reply::of(onyx.request(method, path).json(body)).await
}

async fn patch(onyx: &OnyxProcess, path: &str, body: &Value) -> Reply {
    send(onyx, Method::PATCH, path, body).await
}

async fn delete(onyx: &OnyxProcess, path: &str) -> Reply {
    Reply::of(onyx.request(Method::DELETE, path)).await
}

fn etag(reply: &Reply) -> String {
    reply.headers["etag"].to_str().unwrap().to_owned()
}

fn call(tool: &str, input: &Value) -> Answer {
    Answer::tool_calls([ScriptedCall::new(format!("call-{tool}"), tool, input)])
}

/// One server-sent event.
#[derive(Clone, Debug)]
struct Told {
    id: String,
    event: String,
    data: Value,
}

/// An open stream of server-sent events. Dropping it closes the connection.
struct Follow {
    response: Response,
    buffer: String,
}

impl Follow {
    async fn begin(onyx: &OnyxProcess, path: &str, last: Option<&str>) -> Self {
        let mut request = onyx.request(Method::GET, path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        if status != 200 {
            panic!("{path} answered {status}: {}", response.text().await.unwrap());
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, buffer: String::new() }
    }

    /// The next event; `None` at the end of the stream. Comments that keep the stream open are
    /// skipped.
    async fn next(&mut self) -> Option<Told> {
        let news = tokio::time::timeout(Duration::from_secs(30), self.read()).await;
        news.expect("the stream goes on")
    }

    async fn read(&mut self) -> Option<Told> {
        loop {
            while let Some((frame, rest)) = self.buffer.split_once("\n\n") {
                let told = told(frame);
                self.buffer = rest.to_owned();
                if told.is_some() {
                    return told;
                }
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.buffer.push_str(std::str::from_utf8(&chunk).expect("whole frames"));
        }
    }

    /// All events up to the next one of that name.
    async fn until(&mut self, event: &str) -> Vec<Told> {
        let mut seen = Vec::new();
        loop {
            seen.push(self.next().await.expect("the stream goes on"));
            if seen.last().is_some_and(|told| told.event == event) {
                return seen;
            }
        }
    }
}

/// Parses an event; `None` for a comment that keeps the connection open.
fn told(frame: &str) -> Option<Told> {
    let field = |name: &str| {
        let line = frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.strip_prefix(' ').unwrap_or(line).to_owned())
    };
    let data = serde_json::from_str(&field("data")?).unwrap();
    Some(Told { id: field("id").unwrap_or_default(), event: field("event")?, data })
}

/// Reads the whole stream.
async fn stream(onyx: &OnyxProcess, path: &str, last: Option<&str>) -> Vec<Told> {
    read_stream(onyx, path, last, usize::MAX).await
}

/// Reads the stream until the client disconnects after this many events.
async fn read_stream(onyx: &OnyxProcess, path: &str, last: Option<&str>, most: usize) -> Vec<Told> {
    let mut follow = Follow::begin(onyx, path, last).await;
    let mut seen = Vec::new();
    while seen.len() < most
        && let Some(told) = follow.next().await
    {
        seen.push(told);
    }
    seen
}
