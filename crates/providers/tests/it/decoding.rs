use crate::support::{assert_nothing_executable, class_of, failure_of};
use onyx_providers::wire::http_failure;
use onyx_providers::wire::openai_chat::OpenAiChatDecoder;
use onyx_providers::wire::{BodyForm, Decoder};
use onyx_types::{FinishReason, ModelEvent, ModelFailureClass, ToolUseId, Usage};
use serde_json::{Value, json};
use std::time::Duration;

fn stream(frames: &[Value]) -> Vec<ModelEvent> {
    let mut text: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    decode(&text)
}

fn decode(text: &str) -> Vec<ModelEvent> {
    let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
    let mut events = decoder.push(text.as_bytes());
    events.extend(decoder.end());
    events
}

fn delta(delta: Value) -> Value {
    json!({"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn start(index: u32, id: &str, name: &str) -> ModelEvent {
    ModelEvent::ToolCallStart { index, id: ToolUseId(id.into()), name: name.into() }
}

fn piece(index: u32, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCallDelta { index, arguments: arguments.into() }
}

fn end(index: u32, id: &str, name: &str, arguments: Value) -> ModelEvent {
    let id = ToolUseId(id.into());
    ModelEvent::ToolCallEnd { index, id, name: name.into(), arguments, provider_data: None }
}

#[test]
fn reasoning_text_usage_and_finish_come_in_order() {
    let events = stream(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"reasoning": "so", "reasoning_details": [{"type": "reasoning.text"}]})),
        delta(json!({"content": "yes"})),
        finish("stop"),
        json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7,
               "prompt_tokens_details": {"cached_tokens": 64}, "cost": 0.25}}),
    ]);
    let usage = Usage { input: 100, output: 7, cache_read: 64, cache_write: 0, cost: Some(0.25) };
    let item = json!({"reasoning_content": "hmso",
                      "reasoning_details": [{"type": "reasoning.text"}]});
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::ReasoningDelta("so".into()),
        ModelEvent::TextDelta("yes".into()),
        ModelEvent::Reasoning(item),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::Stop),
    ];
    assert_eq!(events, expected);
}

#[test]
fn calls_without_index_id_or_arguments_are_still_calls() {
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let events = stream(&[
        call(json!({"id": "a", "function": {"name": "now"}})),
        call(json!({"id": "b", "function": {"name": "add", "arguments": "{\"x\":"}})),
        call(json!({"function": {"arguments": "1}"}})),
        call(json!({"index": 5, "function": {"name": "last", "arguments": ""}})),
        finish("stop"),
    ]);
    let expected = [
        start(0, "a", "now"),
        start(1, "b", "add"),
        piece(1, "{\"x\":"),
        piece(1, "1}"),
        start(5, "call_r1_5", "last"),
        end(0, "a", "now", json!({})),
        end(1, "b", "add", json!({"x": 1})),
        end(5, "call_r1_5", "last", json!({})),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[test]
fn one_call_with_broken_arguments_takes_all_of_them_along() {
    let events = stream(&[
        delta(json!({"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "good", "arguments": "{}"}},
            {"index": 1, "id": "b", "function": {"name": "bad", "arguments": "{\"x\":"}},
        ]})),
        finish("tool_calls"),
    ]);
    assert_nothing_executable(&events);
    assert_eq!(class_of(&events), ModelFailureClass::Truncated);
}

#[test]
fn calls_of_an_answer_that_met_its_limit_do_not_run() {
    for (reason, finish_reason) in
        [("length", FinishReason::Length), ("content_filter", FinishReason::ContentFilter)]
    {
        let call = json!({"index": 0, "id": "a", "function": {"name": "good", "arguments": "{}"}});
        let events = stream(&[delta(json!({"tool_calls": [call]})), finish(reason)]);
        let expected = [start(0, "a", "good"), piece(0, "{}"), ModelEvent::Finish(finish_reason)];
        assert_eq!(events, expected);
    }
}

#[test]
fn done_without_a_finish_reason_is_truncated() {
    let events = stream(&[delta(json!({"content": "half"}))]);
    assert_eq!(class_of(&events), ModelFailureClass::Truncated);
}

#[test]
fn an_unknown_finish_reason_is_no_success() {
    let events = stream(&[delta(json!({"content": "x"})), finish("abort")]);
    assert_eq!(class_of(&events), ModelFailureClass::Truncated);
}

#[test]
fn an_error_frame_is_the_end_whatever_follows_it() {
    let call = json!({"index": 0, "id": "a", "function": {"name": "good", "arguments": "{}"}});
    let events = stream(&[
        delta(json!({"tool_calls": [call]})),
        json!({"error": {"message": "busy", "type": "overloaded_error"}}),
        finish("tool_calls"),
    ]);
    assert_nothing_executable(&events);
    assert_eq!(class_of(&events), ModelFailureClass::Overloaded { retry_after: None });
}

#[test]
fn error_frames_are_classed_by_their_fields() {
    let cases = [
        (json!({"code": "context_length_exceeded"}), ModelFailureClass::ContextLength),
        (json!({"code": 429}), ModelFailureClass::RateLimited { retry_after: None }),
        (json!({"code": 502}), ModelFailureClass::Unavailable),
        (json!({"type": "requests"}), ModelFailureClass::RateLimited { retry_after: None }),
        (json!({"type": "invalid_request_error"}), ModelFailureClass::InvalidRequest),
        (json!({"code": "content_filter"}), ModelFailureClass::ContentFilter),
        (json!({"message": "rate limit context length 401"}), ModelFailureClass::Unavailable),
        (json!("words"), ModelFailureClass::Unavailable),
    ];
    for (error, class) in cases {
        assert_eq!(class_of(&stream(&[json!({"error": error})])), class, "{error}");
    }
    let named = decode("event: error\ndata: {\"code\": 401, \"message\": \"no\"}\n\n");
    assert_eq!(class_of(&named), ModelFailureClass::Auth);
}

#[test]
fn http_errors_are_classed_by_status_and_fields_and_never_by_words() {
    let wait = Some(Duration::from_secs(3));
    let limited = ModelFailureClass::RateLimited { retry_after: wait };
    let overloaded = ModelFailureClass::Overloaded { retry_after: wait };
    let cases = [
        (401, "", ModelFailureClass::Auth),
        (402, "", ModelFailureClass::Auth),
        (403, "", ModelFailureClass::Auth),
        (403, r#"{"error":{"code":"content_filter"}}"#, ModelFailureClass::ContentFilter),
        (400, r#"{"error":{"message":"context length"}}"#, ModelFailureClass::InvalidRequest),
        (400, r#"{"error":{"code":"context_length_exceeded"}}"#, ModelFailureClass::ContextLength),
        (
            400,
            r#"{"error":{"code":400,"type":"exceed_context_size_error"}}"#,
            ModelFailureClass::ContextLength,
        ),
        (404, r#"{"error":"no such model"}"#, ModelFailureClass::InvalidRequest),
        (408, "", ModelFailureClass::Timeout),
        (413, "", ModelFailureClass::ContextLength),
        (413, r#"{"error":{"code":"rate_limit_exceeded"}}"#, limited.clone()),
        (422, "", ModelFailureClass::InvalidRequest),
        (429, "<html>", limited.clone()),
        (429, r#"[{"error":{"code":429}}]"#, limited),
        (429, r#"{"error":{"code":"insufficient_quota"}}"#, ModelFailureClass::Auth),
        (500, "", ModelFailureClass::Unavailable),
        (502, "", ModelFailureClass::Unavailable),
        (503, "", overloaded.clone()),
        (529, "", overloaded),
        (301, "", ModelFailureClass::InvalidRequest),
    ];
    for (status, body, class) in cases {
        let failure = http_failure(status, wait, body.as_bytes());
        assert_eq!(failure.class, class, "{status} {body}");
    }
    let words = http_failure(401, None, br#"{"error":{"message":"bad key"}}"#).message;
    assert_eq!(words, "the provider answered with status 401: bad key");
}

#[test]
fn what_is_not_the_wire_is_a_transport_failure() {
    for garbage in ["data: <html>\n\n", "data: [1, 2]\n\n", "data: \u{0}\n\n"] {
        assert_eq!(class_of(&decode(garbage)), ModelFailureClass::Transport, "{garbage:?}");
    }
    let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
    assert_eq!(class_of(&decoder.push(b"data: \xff\n\n")), ModelFailureClass::Transport);
    let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
    let endless = vec![b'x'; 9 * 1024 * 1024];
    assert_eq!(class_of(&decoder.push(&endless)), ModelFailureClass::Transport);
}

#[test]
fn a_server_that_answers_whole_is_understood() {
    let body = json!({
        "id": "r1",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "hi", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ]},
            "finish_reason": "tool_calls",
        }],
    })
    .to_string();
    let mut decoder = OpenAiChatDecoder::new(BodyForm::Whole);
    let mut events = decoder.push(body.as_bytes());
    events.extend(decoder.end());
    let expected = [
        ModelEvent::TextDelta("hi".into()),
        start(0, "a", "f"),
        piece(0, "{}"),
        start(1, "b", "g"),
        piece(1, "{}"),
        end(0, "a", "f", json!({})),
        end(1, "b", "g", json!({})),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
    for cut in 0..body.len() {
        let mut decoder = OpenAiChatDecoder::new(BodyForm::Whole);
        let mut events = decoder.push(&body.as_bytes()[..cut]);
        events.extend(decoder.end());
        assert_nothing_executable(&events);
        assert_eq!(class_of(&events), ModelFailureClass::Truncated, "cut at {cut}");
    }
}

#[test]
fn a_long_message_of_a_provider_is_cut_for_people() {
    let body = json!({"error": {"message": "ä".repeat(10_000)}});
    let message = failure_of(&stream(&[body])).message;
    assert_eq!((message.chars().count(), message.ends_with('…')), (501, true));
}
