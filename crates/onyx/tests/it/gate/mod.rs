//! The decisions of the gate and their effects, through the real server.

mod asking;
mod commands;
mod delegating;
mod files;
pub(crate) mod forge;
mod hearing;
mod masking;
mod processes;
mod provenance;
mod reaching;
mod remotes;
mod repositories;
mod sending;
mod taint;

use onyx_test_support::{Answer, OnyxBuilder, OnyxProcess, RecordedRequest, ScriptedModel};
use serde_json::{Value, json};

use crate::drafts::{message, obey, tainting, words};
use crate::{SOON, builder};

/// A model that makes the calls of the first list in its message; an inner list is for an agent
/// that is asked. At the end it says `ok`.
pub(crate) async fn obedient() -> ScriptedModel {
    let model = ScriptedModel::start().await;
    model.respond_with(respond);
    model
}

fn respond(request: &RecordedRequest) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.iter().rfind(|message| message["role"] == "user");
    if said.is_some_and(|said| words(&said["content"]).ends_with("never answer")) {
        return Answer::text("").fault(onyx_test_support::Fault::HangAfterHead);
    }
    obey(request, |words| words.find("do ["))
}

/// Two agents at these tiers. Both can be made to read content from outside.
fn two_agents(model: &ScriptedModel, main: &str, helper: &str) -> OnyxBuilder {
    let agents = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": main},
        {"id": "helper", "model": "mine/some-model", "tier": helper},
    ]}});
    let log = "people/owner/memory/helper/daily/2026-01-01.md";
    tainting(builder(model)).file(log, "- 10:00 theirs <!-- agent_tainted -->\n").merge(agents)
}

const READ_TAINTED: (&str, &str) = ("memory_get", "daily/2026-01-01.md");

/// A call that taints the run.
fn read_tainted() -> (&'static str, Value) {
    (READ_TAINTED.0, json!({"path": READ_TAINTED.1}))
}

/// All events of a run that makes these calls.
async fn told(onyx: &OnyxProcess, calls: &[(&str, Value)]) -> Vec<Value> {
    sent(onyx, json!({"message": message(calls)})).await
}

async fn sent(onyx: &OnyxProcess, body: Value) -> Vec<Value> {
    let lines = onyx.chat_stream(&body).await;
    events_of(onyx, &lines[0]).await
}

/// All events of an ended run in the core's format. Surfaces show only some of them.
pub(crate) async fn events_of(onyx: &OnyxProcess, start: &Value) -> Vec<Value> {
    let run = start["run_id"].as_str().unwrap();
    let stream = onyx.get(&format!("/api/runs/{run}/events")).await.expect(200).text();
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|event| serde_json::from_str(event.trim()).unwrap()).collect()
}

/// What a run at work has sent up to the first live output of a command.
async fn until_live_output(onyx: &OnyxProcess, run: &str) -> String {
    let stream = onyx.request(reqwest::Method::GET, &format!("/api/runs/{run}/events"));
    let mut stream = stream.send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("tool_output") {
        let more = tokio::time::timeout(3 * SOON, stream.chunk()).await.expect("live output");
        seen.push_str(&String::from_utf8_lossy(&more.unwrap().expect("the run goes on")));
    }
    seen
}

fn results(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["type"] == "tool_result").collect()
}

fn has_status(events: &[Value], code: &str) -> bool {
    events.iter().any(|event| event["type"] == "status" && event["code"] == code)
}

/// The drafts that wait for a decision.
async fn pending(onyx: &OnyxProcess) -> Vec<Value> {
    let list = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    list["drafts"].as_array().unwrap().clone()
}

async fn undo(onyx: &OnyxProcess, events: &[Value]) -> Value {
    let run = events[0]["run_id"].as_str().unwrap();
    onyx.post(&format!("/api/runs/{run}/undo"), &json!({})).await.expect(200).json()
}
