//! Compares what a client was told with what the server and its files say afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_storage::{AuditRow, ChainState, Home, Store};
use onyx_test_support::{AgentClient, ChatLines};
use onyx_types::SystemClock;
use serde_json::Value;

/// Everything that a client received of one run before its stream ended or broke off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The code of a refusal; then no run began.
    pub(crate) refused: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) calls: Vec<String>,
    /// The calls with a reported result, and whether it was a success.
    pub(crate) results: BTreeMap<String, bool>,
    pub(crate) text: String,
    pub(crate) error: Option<String>,
    pub(crate) status: Option<String>,
}

impl Told {
    pub(crate) fn hear(&mut self, event: &Value) {
        let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("start") => {
                self.session = Some(field("session_id"));
                self.run = Some(field("run_id"));
            }
            Some("text") => self.text.push_str(&field("delta")),
            Some("tool_call") => self.calls.push(field("id")),
            Some("tool_result") => {
                self.results.insert(field("id"), event["ok"] == true);
            }
            Some("error") => self.error = Some(field("code")),
            Some("done") => self.status = Some(field("status")),
            _ => {}
        }
    }

    /// Reads until the stream ends or breaks off.
    pub(crate) async fn hear_all(&mut self, lines: &mut ChatLines) {
        while let Some(event) = lines.next().await {
            self.hear(&event);
        }
    }

    pub(crate) fn is_ok(&self, call: &str) -> bool {
        self.results.get(call) == Some(&true)
    }

    /// What was reported as durable but is missing in the session's log.
    pub(crate) fn missing_in(&self, turns: &[Value]) -> Vec<String> {
        let Some(run) = &self.run else { return Vec::new() };
        let own: Vec<&Value> = turns.iter().filter(|turn| turn["run_id"] == **run).collect();
        let has = |kind: &str, id: &str| {
            own.iter().any(|turn| turn["type"] == kind && turn["tool_use_id"] == id)
        };
        let mut missing = Vec::new();
        if !own.iter().any(|turn| turn["type"] == "run_start") {
            missing.push(format!("run {run} was told to have started"));
        }
        for id in &self.calls {
            if !has("tool_call", id) {
                missing.push(format!("call {id} of run {run}"));
            }
        }
        for id in self.results.keys() {
            if !has("tool_result", id) {
                missing.push(format!("result {id} of run {run}"));
            }
        }
        if let Some(status) = &self.status {
            let ended = |turn: &&Value| turn["type"] == "run_end" && turn["status"] == **status;
            // An end that could not be written is reported as an error and closed later.
            if !own.iter().any(ended) && status != "error" {
                missing.push(format!("the end ({status}) of run {run}"));
            }
        }
        if self.status.as_deref() == Some("done") && self.text != said(&own) {
            missing.push(format!("the text {:?} of run {run}: {:?}", self.text, said(&own)));
        }
        missing
    }
}

/// The text of a run as a client gets it: the texts of several steps are paragraphs.
fn said(turns: &[&Value]) -> String {
    let texts = turns.iter().filter(|turn| turn["type"] == "assistant_text");
    let texts: Vec<&str> = texts.filter_map(|turn| turn["content"].as_str()).collect();
    texts.join("\n\n")
}

/// Sends a message and returns everything that is received. If the server is down, that is nothing.
pub(crate) async fn talk(client: &AgentClient, body: &Value) -> Told {
    let mut told = Told::default();
    let request = client.request(reqwest::Method::POST, "/api/agent/chat-stream").json(body);
    let Ok(response) = request.send().await else { return told };
    if response.status().is_success() {
        told.hear_all(&mut ChatLines::of(response)).await;
    } else {
        let problem: Value = response.json().await.unwrap_or_default();
        told.refused = Some(problem["code"].as_str().unwrap_or("no code").to_owned());
    }
    told
}

/// The turns of a session from the server.
pub(crate) async fn turns(client: &AgentClient, session: &str) -> Vec<Value> {
    let reply = client.get(&format!("/v1/sessions/{session}/export")).await.expect(200);
    let text = reply.text();
    text.lines().map(|line| serde_json::from_str(line).expect("a turn is JSON")).collect()
}

/// Inconsistencies of a log: runs without an end, double ends, results without a call.
pub(crate) fn faults_of(turns: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut ids = BTreeSet::new();
    let mut runs: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for turn in turns {
        if !ids.insert(turn["id"].as_str().unwrap_or_default()) {
            faults.push(format!("turn {} stands twice", turn["id"]));
        }
        runs.entry(turn["run_id"].as_str().unwrap_or_default()).or_default().push(turn);
    }
    for (run, turns) in runs {
        let kinds: Vec<&str> =
            turns.iter().map(|turn| turn["type"].as_str().unwrap_or_default()).collect();
        let count = |kind: &str| kinds.iter().filter(|other| **other == kind).count();
        let framed = kinds.first() == Some(&"run_start") && kinds.last() == Some(&"run_end");
        if !framed || count("run_start") != 1 || count("run_end") != 1 {
            faults.push(format!("run {run} is {kinds:?}"));
        }
        let mut called: BTreeMap<&str, usize> = BTreeMap::new();
        for turn in turns {
            let open = called.entry(turn["tool_use_id"].as_str().unwrap_or_default()).or_default();
            match turn["type"].as_str() {
                Some("tool_call") => *open += 1,
                Some("tool_result") if *open == 1 => *open -= 1,
                Some("tool_result") => faults.push(format!("a result too many in run {run}")),
                _ => {}
            }
        }
    }
    faults
}

/// The owner's audit chain, newest row first, read from a copy of the database, so that the server
/// is not disturbed.
pub(crate) async fn audit(home: &Path) -> Result<Vec<AuditRow>, String> {
    let copy = tempfile::tempdir().expect("a temporary folder");
    for name in ["onyx.db", "onyx.db-wal"] {
        if home.join(name).exists() {
            std::fs::copy(home.join(name), copy.path().join(name)).expect("the database is copied");
        }
    }
    let opened = Home::open(copy.path()).map_err(|error| error.to_string())?;
    let store = Store::open_embedded(opened, Arc::new(SystemClock::new()));
    let store = store.await.map_err(|error| error.to_string())?;
    let owner = "owner".parse().expect("an id");
    match store.ledger.verify_audit(&owner).await.map_err(|error| error.to_string())? {
        ChainState::Whole { .. } | ChainState::SealedFrom { .. } => {}
        ChainState::Broken { at } => return Err(format!("the audit chain is broken at {at}")),
    }
    store.ledger.audit(&owner, None, u32::MAX).await.map_err(|error| error.to_string())
}

/// How often each word occurs in the daily logs.
pub(crate) fn words_noted(home: &Path) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    for path in files_under(&home.join("people/owner/memory")) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for word in text.split_whitespace() {
            *words.entry(word.to_owned()).or_default() += 1;
        }
    }
    words
}

pub(crate) fn vault_file(home: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(home.join("people/owner/vault").join(name)).ok()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(files_under(&path));
        } else {
            files.push(path);
        }
    }
    files
}
