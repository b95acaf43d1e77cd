//! The real Claude CLI and the real Pi sidecar, with a scripted model as their upstream. For
//! `make test-live` (or `make test-runtimes`), which fetches them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use onyx_providers::{
    ChildWrapper, ClaudeCli, ClaudeLimits, ClaudeSettings, ModelSource, PiLimits, PiSettings,
    PiSidecar, Secret, environment_for_programs,
};
use onyx_test_support::{Answer, ScriptedCall, ScriptedModel, Wire};
use onyx_types::{
    Block, Cancel, FinishReason, Message, Model, ModelEvent, ModelFailureClass, ModelRequest, Role,
    SystemBlock, SystemClock, ToolOffer, ToolUseId,
};
use serde_json::{Value, json};

use crate::support::{class_of, text_of};

#[allow(clippy::disallowed_methods, reason = "the script says where the programs are")]
fn named(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set")).into()
}

#[allow(clippy::disallowed_methods, reason = "the programs need the PATH")]
fn environment(home: &std::path::Path) -> Vec<(String, std::ffi::OsString)> {
    environment_for_programs(|name| match name {
        "HOME" => Some(home.into()),
        "PATH" => std::env::var_os("PATH"),
        _ => None,
    })
}

fn wrapper() -> Option<ChildWrapper> {
    let program = env!("CARGO_BIN_EXE_onyx-runtime-child").into();
    Some(ChildWrapper { program, arguments: Vec::new() })
}

fn claude(upstream: &ScriptedModel, home: &std::path::Path) -> Arc<dyn Model> {
    let settings = ClaudeSettings {
        name: "claude-subscription".to_owned(),
        command: Some(named("ONYX_REAL_CLAUDE")),
        token: Some(Secret::new("sk-ant-oat01-of-nobody")),
        base_url: Some(root_of(upstream)),
        thinking_budget: Some(0),
        models: Vec::new(),
        environment: environment(home),
        folder: home.join("work"),
        wrapper: wrapper(),
        limits: ClaudeLimits::default(),
    };
    let clock = Arc::new(SystemClock::new());
    ClaudeCli::new(settings, clock).model("claude-sonnet-4-5").unwrap()
}

fn root_of(upstream: &ScriptedModel) -> String {
    upstream.base_url_of(Wire::Anthropic)
}

fn request(messages: Vec<Message>) -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = ToolOffer {
        name: "read_file".to_owned(),
        description: "Reads a file".to_owned(),
        input_schema: schema.into(),
    };
    ModelRequest {
        system: [SystemBlock { text: "You are the agent Quill.".to_owned(), stable: true }].into(),
        messages: messages.into(),
        tools: [tool].into(),
        max_output_tokens: 4_000,
        cache_key: Some("one".to_owned()),
        ..ModelRequest::default()
    }
}

async fn ask(model: &Arc<dyn Model>, messages: Vec<Message>) -> Vec<ModelEvent> {
    let events = model.stream(request(messages), Cancel::new()).collect();
    tokio::time::timeout(Duration::from_secs(60), events).await.expect("an answer in time")
}

fn step(calls: &[(&str, &str)]) -> Vec<Message> {
    let uses = calls.iter().map(|(id, path)| Block::ToolUse {
        id: ToolUseId((*id).to_owned()),
        name: "read_file".to_owned(),
        input: json!({"path": path}),
        provider_data: None,
    });
    let results = calls.iter().map(|(id, path)| Block::ToolResult {
        id: ToolUseId((*id).to_owned()),
        content: format!("content of {path}"),
        is_error: false,
    });
    vec![
        Message { role: Role::Assistant, content: uses.collect() },
        Message { role: Role::User, content: results.collect() },
    ]
}

/// The requests for answers, without the small ones that programs send beside them.
fn asked(upstream: &ScriptedModel) -> Vec<Value> {
    let requests = upstream.requests().into_iter().map(|request| request.body);
    requests.filter(|body| body.to_string().contains("You are the agent Quill.")).collect()
}

async fn two_calls(model: &Arc<dyn Model>, upstream: &ScriptedModel, tool: &str) {
    let call = |id: &str, path: &str| ScriptedCall::new(id, tool, &json!({"path": path}));
    upstream.push(Answer::tool_calls([call("toolu_a", "a.md"), call("toolu_b", "b.md")]));
    upstream.push(Answer::text("Both say hello."));
    let mut history = vec![Message::user("What do they say? @/etc/hostname")];
    let events = ask(model, history.clone()).await;
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolCalls)), "{events:?}");
    let is_ours = |event: &&ModelEvent| matches!(event, ModelEvent::ToolCallEnd { name, .. } if name == "read_file");
    assert_eq!(events.iter().filter(is_ours).count(), 2, "{events:?}");
    history.extend(step(&[("toolu_a", "a.md"), ("toolu_b", "b.md")]));
    let events = ask(model, history).await;
    assert_eq!(text_of(&events), "Both say hello.", "{events:?}");
    let requests = asked(upstream);
    let last = requests.last().unwrap().to_string();
    assert!(last.contains("content of a.md") && last.contains("content of b.md"), "{last}");
    let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let hostname = hostname.trim();
    let leaked = hostname.len() > 3 && requests[0].to_string().contains(hostname);
    assert!(!leaked, "a file that a message names was read: {}", requests[0]);
}

#[tokio::test]
#[ignore = "needs the real Claude CLI: make test-runtimes"]
async fn the_real_claude_cli_leaves_every_tool_to_onyx() {
    let upstream = ScriptedModel::start().await;
    let home = tempfile::tempdir().unwrap();
    let model = claude(&upstream, home.path());
    two_calls(&model, &upstream, "mcp__host__read_file").await;
    let tools = asked(&upstream)[0]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["mcp__host__read_file"], "no tool of its own");
}

#[tokio::test]
#[ignore = "needs the real Claude CLI: make test-runtimes"]
async fn the_real_claude_cli_tells_of_failures_by_their_class() {
    let upstream = ScriptedModel::start().await;
    let home = tempfile::tempdir().unwrap();
    let model = claude(&upstream, home.path());
    upstream.set_default(Answer::status(
        401,
        "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"no\"}}",
    ));
    let events = ask(&model, vec![Message::user("hello")]).await;
    let provider = "claude-subscription".to_owned();
    assert_eq!(class_of(&events), ModelFailureClass::SignIn { provider }, "{events:?}");
    upstream.set_default(Answer::status(
        529,
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}",
    ));
    let events = ask(&model, vec![Message::user("hello")]).await;
    assert_eq!(class_of(&events), ModelFailureClass::Overloaded { retry_after: None });
    upstream.set_default(Answer::text("Better."));
    assert_eq!(text_of(&ask(&model, vec![Message::user("/cost")]).await), "Better.");
}

/// The processes of this test that run the real CLI.
fn running() -> Vec<u32> {
    let program = named("ONYX_REAL_CLAUDE");
    let parent = format!("PPid:\t{}\n", std::process::id());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |id: &u32| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}"));
        let command = read("cmdline").unwrap_or_default();
        let status = read("status").unwrap_or_default();
        command.contains(program.to_str().unwrap()) && status.contains(&parent)
    };
    ids.filter(is_ours).collect()
}

#[tokio::test]
#[ignore = "needs the real Claude CLI: make test-runtimes"]
async fn the_real_claude_cli_that_is_killed_ends_the_turn_and_the_next_one_works() {
    let upstream = ScriptedModel::start().await;
    let home = tempfile::tempdir().unwrap();
    let model = claude(&upstream, home.path());
    // The first words come, then nothing for a minute.
    upstream.push(Answer::text("Half an answer that goes on").delay_ms(60_000));
    let mut events = model.stream(request(vec![Message::user("hello")]), Cancel::new());
    while asked(&upstream).is_empty() {
        let next = tokio::time::timeout(Duration::from_millis(100), events.next()).await;
        assert!(!matches!(next, Ok(Some(ModelEvent::Failed(_)))), "{next:?}");
    }
    let processes = running();
    assert_eq!(processes.len(), 1, "{processes:?}");
    let killed =
        std::process::Command::new("kill").args(["-9", &processes[0].to_string()]).status();
    assert!(killed.unwrap().success());
    let start = std::time::Instant::now();
    let rest: Vec<ModelEvent> = events.collect().await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(class_of(&rest), ModelFailureClass::Transport, "{rest:?}");
    upstream.set_default(Answer::text("Here again."));
    assert_eq!(text_of(&ask(&model, vec![Message::user("hello")]).await), "Here again.");
}

#[tokio::test]
#[ignore = "needs the Pi sidecar: make test-runtimes"]
async fn the_real_pi_sidecar_returns_tool_calls_without_running_them() {
    let upstream = ScriptedModel::start().await;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".pi/agent");
    std::fs::create_dir_all(&folder).unwrap();
    let signed_in = json!({"anthropic": {"type": "oauth", "refresh": "r",
        "access": "sk-ant-oat01-of-nobody", "expires": 99_999_999_999_999_u64}});
    std::fs::write(folder.join("auth.json"), signed_in.to_string()).unwrap();
    let source = PiSidecar::new(PiSettings {
        name: "pi".to_owned(),
        command: named("ONYX_REAL_PI"),
        auth_file: None,
        base_url: Some(root_of(&upstream)),
        models: Vec::new(),
        environment: environment(home.path()),
        folder: home.path().join("work"),
        wrapper: wrapper(),
        limits: PiLimits::default(),
    });
    source.check().await.unwrap();
    let model = source.model("anthropic/claude-sonnet-4-6").unwrap();
    two_calls(&model, &upstream, "read_file").await;
    upstream.set_default(Answer::status(429, "{}"));
    let events = ask(&model, vec![Message::user("hello")]).await;
    assert_eq!(class_of(&events), ModelFailureClass::RateLimited { retry_after: None });
}
