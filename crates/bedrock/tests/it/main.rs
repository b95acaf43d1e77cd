//! Bedrock against a local fake of its endpoint.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value)]

mod fake;

use fake::{End, Fake, Reply, event, exception};
use futures::StreamExt;
use onyx_bedrock::{Bedrock, BedrockKey, BedrockSettings, BedrockTimeouts};
use onyx_providers::{ModelSource, Secret};
use onyx_types::{
    Block, Cancel, FinishReason, Message, Model, ModelEvent, ModelFailureClass, ModelRequest, Role,
    SystemBlock, ToolOffer, ToolUseId, Usage,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const MODEL: &str = "anthropic.claude-sonnet-5-v1:0";

fn source(fake: &Fake, key: BedrockKey) -> Bedrock {
    Bedrock::new(BedrockSettings {
        name: "bedrock".into(),
        region: "eu-central-1".into(),
        endpoint: Some(format!("http://{}", fake.address)),
        key,
        models: Vec::new(),
        timeouts: BedrockTimeouts {
            first_byte: Duration::from_secs(5),
            idle: Duration::from_millis(300),
            ..BedrockTimeouts::default()
        },
    })
}

fn pair() -> BedrockKey {
    BedrockKey::Pair {
        access_key: "AKIDEXAMPLE".into(),
        secret_key: Secret::new("canary-secret-0123"),
        session_token: None,
    }
}

fn model(fake: &Fake) -> Arc<dyn Model> {
    source(fake, pair()).model(MODEL).unwrap()
}

async fn told(reply: Reply, request: ModelRequest) -> (Vec<ModelEvent>, Fake) {
    let fake = Fake::answering(reply).await;
    let events = model(&fake).stream(request, Cancel::new()).collect().await;
    (events, fake)
}

fn hello() -> ModelRequest {
    ModelRequest { messages: vec![Message::user("hello")].into(), ..ModelRequest::default() }
}

fn delta(index: u32, delta: Value) -> Vec<u8> {
    event("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta}))
}

fn stop(index: u32) -> Vec<u8> {
    event("contentBlockStop", &json!({"contentBlockIndex": index}))
}

fn call(index: u32, id: &str, name: &str, pieces: &[&str]) -> Vec<Vec<u8>> {
    let start = json!({"toolUse": {"toolUseId": id, "name": name}});
    let mut frames =
        vec![event("contentBlockStart", &json!({"contentBlockIndex": index, "start": start}))];
    let piece = |piece: &&str| delta(index, json!({"toolUse": {"input": piece}}));
    frames.extend(pieces.iter().map(piece));
    frames.push(stop(index));
    frames
}

fn over(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({"stopReason": reason}))
}

fn metadata() -> Vec<u8> {
    let usage = json!({"inputTokens": 10, "outputTokens": 7, "totalTokens": 107,
                       "cacheReadInputTokens": 64, "cacheWriteInputTokens": 26});
    event("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 1}}))
}

/// An answer with reasoning, text, two calls and usage.
fn answer() -> Vec<Vec<u8>> {
    [
        vec![
            event("messageStart", &json!({"role": "assistant"})),
            delta(0, json!({"reasoningContent": {"text": "hm"}})),
            delta(0, json!({"reasoningContent": {"signature": "c2ln"}})),
            stop(0),
            delta(1, json!({"text": "let me"})),
            stop(1),
        ],
        call(2, "a", "read_file", &["{\"path\":", "\"größe.md\"}"]),
        call(3, "b", "now", &[]),
        vec![over("tool_use"), metadata()],
    ]
    .concat()
}

fn usage() -> Usage {
    Usage { input: 100, output: 7, cache_read: 64, cache_write: 26, cost: None }
}

fn class(events: &[ModelEvent]) -> ModelFailureClass {
    let executable = |event: &ModelEvent| {
        matches!(event, ModelEvent::ToolCallEnd { .. } | ModelEvent::Finish(_))
    };
    assert!(!events.iter().any(executable), "{events:?}");
    match events.last() {
        Some(ModelEvent::Failed(failure)) => failure.class.clone(),
        other => panic!("ended with {other:?}"),
    }
}

fn end(index: u32, id: &str, name: &str, arguments: Value) -> ModelEvent {
    let id = ToolUseId(id.into());
    ModelEvent::ToolCallEnd { index, id, name: name.into(), arguments, provider_data: None }
}

#[tokio::test]
async fn an_answer_comes_in_order_with_its_calls_at_the_end() {
    let (events, _) = told(Reply::stream(&answer()), hello()).await;
    let start = |index, id: &str, name: &str| ModelEvent::ToolCallStart {
        index,
        id: ToolUseId(id.into()),
        name: name.into(),
    };
    let piece =
        |arguments: &str| ModelEvent::ToolCallDelta { index: 2, arguments: arguments.into() };
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::TextDelta("let me".into()),
        start(2, "a", "read_file"),
        piece("{\"path\":"),
        piece("\"größe.md\"}"),
        start(3, "b", "now"),
        ModelEvent::Reasoning(json!({"text": "hm", "signature": "c2ln"})),
        end(2, "a", "read_file", json!({"path": "größe.md"})),
        end(3, "b", "now", json!({})),
        ModelEvent::Usage(usage()),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_request_is_written_as_the_service_wants_it() {
    let reasoning = |model: &str| Block::Reasoning {
        model: model.into(),
        data: json!({"text": "hm", "signature": "c2ln"}),
    };
    let call = Block::ToolUse {
        id: ToolUseId("a".into()),
        name: "mcp:files/read".into(),
        input: json!({"path": "a.md", "n": -1}),
        provider_data: None,
    };
    let result =
        Block::ToolResult { id: ToolUseId("a".into()), content: "no".into(), is_error: true };
    let image = Block::Image { media_type: "image/png".into(), data: "AAAA".into() };
    let text = |text: &str| Block::Text { text: text.into() };
    let request = ModelRequest {
        system: [
            SystemBlock { text: "You are".into(), stable: true },
            SystemBlock { text: "today".into(), stable: false },
        ]
        .into(),
        messages: vec![
            Message { role: Role::User, content: vec![text("look"), image] },
            Message {
                role: Role::Assistant,
                content: vec![
                    reasoning(&format!("bedrock/{MODEL}")),
                    reasoning("other/model"),
                    text("let me"),
                    call,
                ],
            },
            Message { role: Role::User, content: vec![text("and"), result] },
        ]
        .into(),
        tools: [ToolOffer {
            name: "mcp:files/read".into(),
            description: "Reads".into(),
            input_schema: json!({"type": "object"}).into(),
        }]
        .into(),
        max_output_tokens: 100,
        ..ModelRequest::default()
    };
    let name = onyx_providers::wire::portable("mcp:files/read").into_owned();
    let frames = [vec![over("end_turn"), metadata()]].concat();
    let (_, fake) = told(Reply::stream(&frames), request).await;
    let (head, body) = fake.request();
    let point = json!({"cachePoint": {"type": "default"}});
    let expected = json!({
        "system": [{"text": "You are"}, point, {"text": "today"}],
        "messages": [
            {"role": "user", "content": [
                {"text": "look"},
                {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
            ]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
                {"text": "let me"},
                {"toolUse": {"toolUseId": "a", "name": name, "input": {"path": "a.md", "n": -1}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "no"}], "status": "error"}},
                {"text": "and"},
            ]},
        ],
        "toolConfig": {"tools": [
            {"toolSpec": {"name": name, "description": "Reads",
                          "inputSchema": {"json": {"type": "object"}}}},
            point,
        ]},
        "inferenceConfig": {"maxTokens": 100},
    });
    assert_eq!(body, expected);
    assert!(head.starts_with("POST /model/anthropic.claude-sonnet-5-v1%3A0/converse-stream "));
    let signed = head.to_ascii_lowercase();
    assert!(signed.contains("authorization: aws4-hmac-sha256 credential=akidexample/"), "{head}");
    assert!(!head.contains("canary"), "{head}");
}

#[tokio::test]
async fn an_api_key_goes_as_a_bearer_token_and_is_never_printed() {
    let fake = Fake::answering(Reply::stream(&[over("end_turn")])).await;
    let source = source(&fake, BedrockKey::Bearer(Secret::new("canary-key-0123")));
    let model = source.model(MODEL).unwrap();
    let events: Vec<ModelEvent> = model.stream(hello(), Cancel::new()).collect().await;
    assert_eq!(events, [ModelEvent::Finish(FinishReason::Stop)]);
    assert!(fake.request().0.contains("Bearer canary-key-0123"), "{}", fake.request().0);
    assert!(!format!("{source:?}").contains("canary"));
}

#[tokio::test]
async fn errors_have_the_class_of_their_exception() {
    let second = Some(Duration::from_secs(1));
    let cases = [
        (429, "ThrottlingException", ModelFailureClass::RateLimited { retry_after: second }),
        (503, "ServiceUnavailableException", ModelFailureClass::Overloaded { retry_after: second }),
        (429, "ModelNotReadyException", ModelFailureClass::Overloaded { retry_after: second }),
        (403, "AccessDeniedException", ModelFailureClass::Auth),
        (403, "UnrecognizedClientException", ModelFailureClass::Auth),
        (400, "ValidationException", ModelFailureClass::InvalidRequest),
        (404, "ResourceNotFoundException", ModelFailureClass::InvalidRequest),
        (408, "ModelTimeoutException", ModelFailureClass::Timeout),
        (500, "InternalServerException", ModelFailureClass::Unavailable),
        (529, "Unheard", ModelFailureClass::Overloaded { retry_after: second }),
    ];
    for (status, kind, expected) in cases {
        let reply = Reply::error(status, kind).header("retry-after", "1");
        let (events, fake) = told(reply, hello()).await;
        assert_eq!((class(&events), fake.count()), (expected, 1), "{kind}");
    }
}

#[tokio::test]
async fn an_exception_inside_the_answer_is_its_end_whatever_follows() {
    let cases = [
        ("throttlingException", ModelFailureClass::RateLimited { retry_after: None }),
        ("serviceUnavailableException", ModelFailureClass::Overloaded { retry_after: None }),
        ("modelStreamErrorException", ModelFailureClass::Unavailable),
        ("validationException", ModelFailureClass::InvalidRequest),
    ];
    for (kind, expected) in cases {
        let mut frames = answer();
        frames.insert(frames.len() - 2, exception(kind));
        let (events, _) = told(Reply::stream(&frames), hello()).await;
        assert_eq!(class(&events), expected, "{kind}");
    }
}

#[tokio::test]
async fn an_answer_that_ends_at_a_frame_before_its_stop_is_truncated() {
    let frames = answer();
    for count in 0..frames.len() - 2 {
        let (events, _) = told(Reply::stream(&frames[..count]), hello()).await;
        assert_eq!(class(&events), ModelFailureClass::Truncated, "after {count} frames");
    }
    let (events, _) = told(Reply::stream(&frames[..frames.len() - 1]), hello()).await;
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolCalls)));
}

#[tokio::test]
async fn an_answer_cut_inside_a_frame_runs_nothing() {
    let whole = Reply::stream(&answer()).len();
    for cut in (0..whole - 1).step_by(37) {
        for end in [End::Proper, End::Cut] {
            let (events, _) = told(Reply::stream(&answer()).after(cut, end), hello()).await;
            let class = class(&events);
            let expected = [ModelFailureClass::Truncated, ModelFailureClass::Transport];
            assert!(expected.contains(&class), "{class:?} at {cut}");
        }
    }
}

#[tokio::test]
async fn half_a_call_and_an_unknown_reason_are_no_success() {
    let half = [call(0, "a", "f", &["{\"x\""]), vec![over("tool_use")]].concat();
    let open = [call(0, "a", "f", &["{}"])[..2].to_vec(), vec![over("tool_use")]].concat();
    for frames in [half, open, vec![over("later")], vec![over("malformed_tool_use")]] {
        let (events, _) = told(Reply::stream(&frames), hello()).await;
        assert_eq!(class(&events), ModelFailureClass::Truncated);
    }
    let refused = vec![over("content_filtered"), metadata()];
    let (events, _) = told(Reply::stream(&refused), hello()).await;
    let expected = [ModelEvent::Usage(usage()), ModelEvent::Finish(FinishReason::ContentFilter)];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_stall_is_a_timeout_and_a_cancelled_call_ends_at_once() {
    let begun = || Reply::stream(&answer()).after(300, End::Hang);
    let (events, _) = told(begun(), hello()).await;
    assert_eq!(class(&events), ModelFailureClass::Timeout);
    let fake = Fake::answering(begun()).await;
    let cancel = Cancel::new();
    let mut events = model(&fake).stream(hello(), cancel.clone());
    assert_eq!(events.next().await, Some(ModelEvent::ReasoningDelta("hm".into())));
    cancel.cancel();
    let rest: Vec<ModelEvent> = events.collect().await;
    assert_eq!(class(&rest), ModelFailureClass::Cancelled);
}
