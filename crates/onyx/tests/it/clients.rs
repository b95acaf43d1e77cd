//! Other makers' own client libraries with a running server. They must work unchanged.

mod coding_agents;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use onyx_test_support::{
    Answer, DEFAULT_TOKEN, ErrorKind, OnyxProcess, RecordedRequest, Script, ScriptedCall,
    ScriptedError, ScriptedModel, Step, Wire,
};
use serde_json::json;
use tokio::process::Command;

use crate::builder;

/// The folder with the programs that use the libraries.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/tests")
}

/// The folder of answers that the tests of the API have recorded byte for byte.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/tests/it/snapshots")
}

/// Installs missing libraries. If one cannot be installed, the test fails.
pub(crate) async fn libraries() -> PathBuf {
    installed("").await
}

/// The folder of one installed program, or without a name of all libraries.
pub(crate) async fn installed(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clients");
    let ran = Command::new(script)
        .args((!name.is_empty()).then_some(name))
        .stderr(Stdio::inherit())
        .output()
        .await
        .unwrap();
    assert!(ran.status.success(), "the libraries of clients/tests cannot be installed");
    String::from_utf8(ran.stdout).unwrap().trim().into()
}

/// The answer depends only on the request, so that programs can send requests in any order.
fn answer(request: &RecordedRequest) -> Answer {
    let said = request.body.to_string();
    let has_result = ["\"role\":\"tool\"", "tool_result", "function_call_output"]
        .iter()
        .any(|mark| said.contains(mark));
    if has_result {
        return Answer::text("It is sunny.");
    }
    if said.contains("what is the weather?") {
        let call = ScriptedCall::new("call_1", "weather", &json!({"town": "Rome"}));
        return Answer::tool_calls([call.split(4)]);
    }
    if said.contains("break off") {
        let error = ScriptedError::new(ErrorKind::Overloaded, "too much");
        return Answer::script(Script::new([Step::Text("half".into()), Step::Error(error)]));
    }
    Answer::script(Script::text_pieces(["Hel", "lo ", "there."]))
}

async fn server() -> (ScriptedModel, OnyxProcess) {
    server_answering(answer).await
}

/// A server with a provider of each wire format, all of them the same scripted model server.
async fn server_answering<F>(answer: F) -> (ScriptedModel, OnyxProcess)
where
    F: Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
{
    let model = ScriptedModel::start().await;
    model.respond_with(answer);
    let at = |wire| model.base_url_of(wire);
    let onyx = builder(&model)
        .merge(json!({"providers": {
            "claude": {"kind": "anthropic", "baseUrl": at(Wire::Anthropic), "apiKey": "k"},
            "resp": {"kind": "openai-responses", "baseUrl": model.base_url(), "apiKey": "k"},
            "gem": {"kind": "gemini", "baseUrl": at(Wire::Gemini), "apiKey": "k"},
        }}))
        .start()
        .await;
    (model, onyx)
}

async fn check(program: &str) {
    let libraries = libraries().await;
    let (_model, onyx) = server().await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(program);
    std::fs::copy(programs().join(program), &copy).unwrap();
    let modules = libraries.join("js/node_modules");
    std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).unwrap();
    let interpreter =
        if program.ends_with(".py") { libraries.join("python/bin/python") } else { "node".into() };
    let ran = Command::new(interpreter)
        .arg(&copy)
        .env("ONYX_URL", onyx.base_url())
        .env("ONYX_TOKEN", DEFAULT_TOKEN)
        .env("ONYX_RECORDED", recorded())
        .env("NO_PROXY", "127.0.0.1,localhost")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program}:\n{out}\n{err}\n{}", onyx.log());
    assert!(out.contains("ok:"), "{program} has checked nothing");
}

#[tokio::test]
async fn the_openai_library_for_python_works_unchanged() {
    check("openai_sdk.py").await;
}

#[tokio::test]
async fn the_openai_library_for_javascript_works_unchanged() {
    check("openai_sdk.mjs").await;
}

#[tokio::test]
async fn the_anthropic_library_for_python_works_unchanged() {
    check("anthropic_sdk.py").await;
}

#[tokio::test]
async fn the_anthropic_library_for_javascript_works_unchanged() {
    check("anthropic_sdk.mjs").await;
}

#[tokio::test]
async fn the_ai_sdk_works_unchanged() {
    check("ai_sdk.mjs").await;
}

#[tokio::test]
async fn langchain_works_unchanged() {
    check("langchain_openai_chat.py").await;
}

#[tokio::test]
async fn the_makers_own_types_take_every_recorded_answer() {
    check("recorded_formats.py").await;
}
