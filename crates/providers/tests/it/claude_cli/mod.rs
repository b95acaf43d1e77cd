//! The Claude CLI as a model, against a fake CLI that speaks its protocol.

mod faults;
mod processes;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use onyx_providers::{
    ChildWrapper, ClaudeCli, ClaudeLimits, ClaudeSettings, ModelSource, Registry, Secret, Setup,
    environment_for_programs,
};
use onyx_test_support::FakeProgram;
use onyx_types::{
    Block, Cancel, Message, Model, ModelEvent, ModelRequest, Role, SystemBlock, SystemClock,
    ToolOffer, ToolUseId,
};
use serde_json::{Value, json};

use crate::support::{NO_BREAKER, NO_RETRY};

/// A token with a mark that may appear only in the child's environment.
const TOKEN: &str = "sk-ant-oat01-canary7f3a91c5";

const LIMITS: ClaudeLimits = ClaudeLimits {
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(30),
    total: Duration::from_secs(60),
    processes: 4,
    parked: Duration::from_secs(60),
};

struct Setting {
    fake: FakeProgram,
    source: Arc<ClaudeCli>,
    registry: Registry,
    model: Arc<dyn Model>,
}

fn setting(fake: FakeProgram, limits: ClaudeLimits) -> Setting {
    let source = Arc::new(ClaudeCli::new(settings(&fake, limits), Arc::new(SystemClock::new())));
    let registry = registry(Arc::clone(&source));
    let model = registry.model("claude-subscription/sonnet").unwrap();
    Setting { fake, source, registry, model }
}

fn answering(answers: impl IntoIterator<Item = Value>) -> Setting {
    setting(FakeProgram::claude(answers), LIMITS)
}

fn registry(source: Arc<ClaudeCli>) -> Registry {
    let source: Arc<dyn ModelSource> = source;
    let sources = vec![("claude-subscription".to_owned(), Ok(source))];
    Registry::resolve_with([], Setup { sources, ..Setup::new(&|_| None) })
        .with_retry(NO_RETRY)
        .with_breaker(NO_BREAKER)
}

fn settings(fake: &FakeProgram, limits: ClaudeLimits) -> ClaudeSettings {
    let read = |name: &str| match name {
        "PATH" => Some("/usr/local/bin:/usr/bin:/bin".into()),
        "HOME" => Some(fake.folder().into()),
        "LANG" => Some("C.UTF-8".into()),
        _ => None,
    };
    ClaudeSettings {
        name: "claude-subscription".to_owned(),
        command: Some(fake.program()),
        token: Some(Secret::new(TOKEN)),
        base_url: None,
        thinking_budget: None,
        models: Vec::new(),
        environment: environment_for_programs(read),
        folder: fake.folder().join("work"),
        wrapper: Some(wrapper()),
        limits,
    }
}

fn wrapper() -> ChildWrapper {
    let program = env!("CARGO_BIN_EXE_onyx-runtime-child").into();
    ChildWrapper { program, arguments: Vec::new() }
}

fn offer(name: &str) -> ToolOffer {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolOffer {
        name: name.to_owned(),
        description: "Reads".to_owned(),
        input_schema: schema.into(),
    }
}

/// A request of the session `one` with two tools, one of them with a name that no wire accepts.
fn request(messages: Vec<Message>) -> ModelRequest {
    request_of("one", messages)
}

fn request_of(session: &str, messages: Vec<Message>) -> ModelRequest {
    let block = SystemBlock { text: "You are private-prompt.".to_owned(), stable: true };
    ModelRequest {
        system: [block].into(),
        messages: messages.into(),
        tools: [offer("read_file"), offer("mcp:notes/find")].into(),
        cache_key: Some(session.to_owned()),
        ..ModelRequest::default()
    }
}

async fn ask(model: &Arc<dyn Model>, messages: Vec<Message>) -> Vec<ModelEvent> {
    model.stream(request(messages), Cancel::new()).collect().await
}

fn called(text: &str, calls: &[(&str, &str, Value)]) -> Message {
    let mut content = vec![Block::Text { text: text.to_owned() }];
    content.extend(calls.iter().map(|(id, name, input)| Block::ToolUse {
        id: ToolUseId((*id).to_owned()),
        name: (*name).to_owned(),
        input: input.clone(),
        provider_data: None,
    }));
    Message { role: Role::Assistant, content }
}

fn results(results: &[(&str, &str)]) -> Message {
    let content = results.iter().map(|(id, content)| Block::ToolResult {
        id: ToolUseId((*id).to_owned()),
        content: (*content).to_owned(),
        is_error: false,
    });
    Message { role: Role::User, content: content.collect() }
}

/// The contents of the user messages that the CLI was sent, as text.
fn told(fake: &FakeProgram) -> Vec<String> {
    let lines = fake.noted("line").into_iter().filter(|line| line["type"] == "user");
    lines.map(|line| line["message"]["content"].to_string()).collect()
}
