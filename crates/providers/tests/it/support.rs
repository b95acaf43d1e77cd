use futures::StreamExt;
use onyx_providers::{BreakerPolicy, ProviderSettings, Registry, RetryPolicy};
use onyx_test_support::{Finish, Script, ScriptedCall, ScriptedModel, Step};
use onyx_types::{
    Cancel, Message, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A key with the mark that the scripted model looks for in every request.
pub(crate) const KEY: &str = "sk-canary7f3a91c5";

pub(crate) const NO_RETRY: RetryPolicy =
    RetryPolicy { attempts: 1, base: Duration::ZERO, longest: Duration::ZERO };

/// A policy for tests that make a model fail many times on purpose.
pub(crate) const NO_BREAKER: BreakerPolicy =
    BreakerPolicy { failures: u32::MAX, rest: Duration::ZERO, longest_rest: Duration::ZERO };

/// An answer with text, and then two calls that are open at the same time, their arguments in
/// pieces.
pub(crate) fn parallel_calls() -> Script {
    Script::new([Step::Text("Let me ".into()), Step::Text("look — gleich.".into())])
        .then(Step::ToolCalls(vec![
            ScriptedCall::new("call_a", "read_file", &json!({"path": "größe.md"})).split(4),
            ScriptedCall::new("call_b", "list_files", &json!({"path": "notes", "deep": true}))
                .split(5),
        ]))
        .ended(Finish::ToolCalls)
}

/// A registry with one provider, `mine`, at the server.
pub(crate) fn registry(server: &ScriptedModel, more: Value) -> Registry {
    let mut settings =
        json!({"kind": "openai", "baseUrl": server.base_url(), "apiKey": "${MY_KEY}"});
    for (key, value) in more.as_object().expect("an object") {
        settings[key] = value.clone();
    }
    let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
    Registry::resolve([("mine".to_owned(), settings)], &environment)
}

pub(crate) fn environment(name: &str) -> Option<String> {
    (name == "MY_KEY").then(|| KEY.to_owned())
}

/// The model without retries and rests, so that each fault is seen as it is.
pub(crate) fn model(server: &ScriptedModel) -> Arc<dyn Model> {
    model_with(server, json!({}))
}

pub(crate) fn model_with(server: &ScriptedModel, more: Value) -> Arc<dyn Model> {
    registry(server, more)
        .with_retry(NO_RETRY)
        .with_breaker(NO_BREAKER)
        .model("mine/some-model")
        .unwrap()
}

pub(crate) fn hello() -> ModelRequest {
    ModelRequest { messages: vec![Message::user("hello")].into(), ..ModelRequest::default() }
}

pub(crate) async fn ask(model: &Arc<dyn Model>) -> Vec<ModelEvent> {
    model.stream(hello(), Cancel::new()).collect().await
}

/// Panics unless the last event, and only it, is a failure.
#[track_caller]
pub(crate) fn failure_of(events: &[ModelEvent]) -> ModelFailure {
    let (last, before) = events.split_last().expect("a stream has a last event");
    for event in before {
        assert!(!matches!(event, ModelEvent::Finish(_) | ModelEvent::Failed(_)), "{events:?}");
    }
    match last {
        ModelEvent::Failed(failure) => failure.clone(),
        other => panic!("ended with {other:?}"),
    }
}

#[track_caller]
pub(crate) fn class_of(events: &[ModelEvent]) -> ModelFailureClass {
    failure_of(events).class
}

/// Panics if something in the events could be run or taken for an end.
#[track_caller]
pub(crate) fn assert_nothing_executable(events: &[ModelEvent]) {
    for event in events {
        let executable = matches!(event, ModelEvent::ToolCallEnd { .. } | ModelEvent::Finish(_));
        assert!(!executable, "{events:?}");
    }
}

pub(crate) fn text_of(events: &[ModelEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::TextDelta(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
