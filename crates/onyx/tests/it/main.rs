//! Tests of the whole product through its binary: HTTP, NDJSON, the command line, faults.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod accounts;
mod actions;
mod administration;
mod attack;
mod backup;
mod bad_input;
mod chats;
mod cli;
mod cli_memory;
mod cli_sessions;
mod clients;
mod config;
mod connectors;
mod conversation;
mod crash;
mod credentials;
mod cuts;
mod documents;
mod drafts;
mod embedders;
mod faults;
mod fuzz;
mod gate;
mod gullible;
mod health;
mod import;
mod jobs;
mod kills;
mod linkedin;
mod live;
mod local;
mod login;
mod many;
mod matrix;
mod mcp;
mod memory;
mod memory_files;
mod memory_keeping;
mod menos;
mod models;
mod offline;
mod operating;
mod operations;
mod personas;
mod places;
mod planted;
mod plugins;
mod real_runtimes;
mod rejoin;
mod replay;
mod runs;
mod runtimes;
mod scans;
mod schema;
mod secrets;
mod server;
mod sessions;
mod skills;
mod soak;
mod sources;
mod spaces;
mod stopping;
mod terminal;
mod ui;
mod upgrades;
mod v1;
mod wire_words;
mod witness;
mod ws;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use onyx_test_support::{
    DEFAULT_KEY, DEFAULT_TOKEN, OnyxBuilder, OnyxProcess, ScriptedModel, canary,
};
use serde_json::{Value, json};
use tokio::process::Command;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_onyx");
/// The time for something that takes a moment, with room for a slow machine with other work.
pub(crate) const SOON: Duration = Duration::from_secs(30);

pub(crate) fn builder(model: &ScriptedModel) -> OnyxBuilder {
    OnyxProcess::builder().binary(BINARY).base_url(model.base_url())
}

pub(crate) async fn onyx(model: &ScriptedModel) -> OnyxProcess {
    builder(model).start().await
}

/// The harness's config, for homes without a server.
pub(crate) fn config(model: &ScriptedModel) -> Value {
    json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": DEFAULT_TOKEN}},
        "providers": {"mine": {"kind": "openai", "baseUrl": model.base_url(), "apiKey": DEFAULT_KEY,
            "models": [{"id": "m", "price": {"input": 0, "output": 0}}]}},
        "agents": {"list": [{"id": "main", "default": true, "model": "mine/m", "tier": "act"}]},
    })
}

/// A command on a home.
pub(crate) fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command
        .args(arguments)
        .env("ONYX_HOME", home)
        .env("ONYX_KEYS", home.join("../keys"))
        .env("MY_KEY", DEFAULT_KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What a finished command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<std::process::Output> for Ran {
    fn from(output: std::process::Output) -> Self {
        canary::assert_absent("what a command printed", &output.stdout);
        canary::assert_absent("what a command printed", &output.stderr);
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A client without any credential.
#[allow(clippy::disallowed_methods)]
pub(crate) fn stranger() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub(crate) async fn run(home: &Path, arguments: &[&str]) -> Ran {
    command(home, arguments).output().await.unwrap().into()
}

/// All texts of a stream, joined.
pub(crate) fn said(events: &[Value]) -> String {
    let deltas = events.iter().filter(|event| event["type"] == "text");
    deltas.map(|event| event["delta"].as_str().unwrap()).collect()
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}
