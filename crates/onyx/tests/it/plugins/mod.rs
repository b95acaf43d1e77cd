//! Plugins through the real server and command line: the two examples of the client libraries, and
//! a package with a tool.

mod bringing;
mod piping;
mod vetoing;

use std::path::{Path, PathBuf};

use onyx_test_support::{OnyxProcess, Reply, ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::drafts::obey;
use crate::gate::events_of;
use crate::{SOON, run};

/// A model that makes the calls that its message names.
async fn obedient() -> ScriptedModel {
    let model = ScriptedModel::start().await;
    model.respond_with(|request| obey(request, |words| words.find("do [")));
    model
}

fn clients() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients")
}

/// An example set up as its readme says: the helper is copied into it.
fn example(client: &str, helper: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&clients().join(client).join("example"), folder.path());
    std::fs::copy(clients().join(client).join(helper), folder.path().join(helper)).unwrap();
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The output of an `onyx plugins` command.
async fn plugins(onyx: &OnyxProcess, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["plugins"].iter().chain(arguments).copied().collect();
    let ran = run(&onyx.home(), &all).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out
}

async fn refused(onyx: &OnyxProcess, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["plugins"].iter().chain(arguments).copied().collect();
    let ran = run(&onyx.home(), &all).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    ran.err
}

async fn show(onyx: &OnyxProcess, name: &str) -> Value {
    onyx.get(&format!("/api/admin/plugins/{name}")).await.expect(200).json()
}

async fn configure(onyx: &OnyxProcess, name: &str, settings: Value) -> Value {
    let path = format!("/api/admin/plugins/{name}/config");
    Reply::of(onyx.client().request(Method::PUT, &path).json(&settings)).await.expect(200).json()
}

async fn wait_for_status(onyx: &OnyxProcess, name: &str, status: &str) -> Value {
    wait_for(&format!("{name} to be {status}"), SOON * 3, async || {
        let plugin = show(onyx, name).await;
        (plugin["status"] == status).then_some(plugin)
    })
    .await
}

/// The result of the call of this message.
async fn called(onyx: &OnyxProcess, tool: &str, arguments: Value) -> Value {
    let message = crate::drafts::message(&[(tool, arguments)]);
    let lines = onyx.chat_stream(&json!({"message": message})).await;
    let lines = events_of(onyx, &lines[0]).await;
    let result = lines.iter().find(|event| event["type"] == "tool_result");
    result.unwrap_or_else(|| panic!("no result among {lines:#?}")).clone()
}

fn output(result: &Value) -> &str {
    result["output"].as_str().unwrap()
}

/// The entry of a plugin in the health of the system.
async fn health(onyx: &OnyxProcess, plugin: &str) -> Option<Value> {
    let all = onyx.get("/api/health").await.expect(200).json();
    let lines = all["dependencies"].as_array().unwrap().clone();
    lines.into_iter().find(|line| line["name"] == format!("plugin:{plugin}"))
}
