use super::{decode, end, piece, start};
use crate::support::{assert_nothing_executable, class_of};
use onyx_providers::wire::BodyForm;
use onyx_test_support::Wire;
use onyx_types::{FinishReason, ModelEvent, ModelFailureClass, Usage};
use serde_json::{Value, json};

fn stream(frames: &[Value]) -> Vec<ModelEvent> {
    let text: String = frames
        .iter()
        .map(|frame| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap()))
        .collect();
    decode(Wire::Anthropic, BodyForm::Stream, text.as_bytes())
}

fn begin(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn finish(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
           "usage": {"output_tokens": 7}})
}

fn over() -> Value {
    json!({"type": "message_stop"})
}

fn opening() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [],
           "usage": {"input_tokens": 10, "cache_read_input_tokens": 64,
                     "cache_creation_input_tokens": 26, "output_tokens": 1}}})
}

#[test]
fn thinking_text_calls_and_usage_come_in_order() {
    let events = stream(&[
        opening(),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        begin(1, json!({"type": "redacted_thinking", "data": "b3BhcXVl"})),
        stop(1),
        json!({"type": "ping"}),
        begin(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "let me"})),
        delta(2, json!({"type": "citations_delta", "citation": {}})),
        stop(2),
        begin(3, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "1}"})),
        stop(3),
        begin(4, json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}})),
        stop(4),
        json!({"type": "something_new", "x": [1]}),
        finish("tool_use"),
        over(),
    ]);
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let usage = Usage { input: 100, output: 7, cache_read: 64, cache_write: 26, cost: None };
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::TextDelta("let me".into()),
        start(3, "toolu_1", "read"),
        piece(3, "{\"a\":"),
        piece(3, "1}"),
        start(4, "toolu_2", "now"),
        ModelEvent::Reasoning(thinking),
        ModelEvent::Reasoning(json!({"type": "redacted_thinking", "data": "b3BhcXVl"})),
        end(3, "toolu_1", "read", json!({"a": 1}), None),
        end(4, "toolu_2", "now", json!({}), None),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[test]
fn stop_reasons_are_read_by_their_word_and_an_unknown_one_is_no_success() {
    let cases = [
        ("end_turn", Some(FinishReason::Stop)),
        ("stop_sequence", Some(FinishReason::Stop)),
        ("max_tokens", Some(FinishReason::Length)),
        ("model_context_window_exceeded", Some(FinishReason::Length)),
        ("refusal", Some(FinishReason::ContentFilter)),
        ("pause_turn", None),
        ("later", None),
    ];
    for (word, reason) in cases {
        let events = stream(&[opening(), finish(word), over()]);
        match reason {
            Some(reason) => {
                assert_eq!(events.last(), Some(&ModelEvent::Finish(reason)), "{word}");
            }
            None => assert_eq!(class_of(&events), ModelFailureClass::Truncated, "{word}"),
        }
    }
}

#[test]
fn without_its_marks_an_answer_is_truncated_and_runs_nothing() {
    let call = || begin(0, json!({"type": "tool_use", "id": "t", "name": "read", "input": {}}));
    let answers = [
        vec![opening(), call(), stop(0), finish("tool_use")],
        vec![opening(), call(), stop(0), over()],
        vec![opening(), call(), finish("tool_use"), over()],
        vec![
            opening(),
            call(),
            delta(0, json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
            stop(0),
            finish("tool_use"),
            over(),
        ],
    ];
    for answer in answers {
        let events = stream(&answer);
        assert_nothing_executable(&events);
        assert_eq!(class_of(&events), ModelFailureClass::Truncated, "{answer:?}");
    }
}

#[test]
fn thinking_that_was_not_signed_is_shown_and_not_kept() {
    let events = stream(&[
        opening(),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        stop(0),
        finish("end_turn"),
        over(),
    ]);
    let usage = Usage { input: 100, output: 7, cache_read: 64, cache_write: 26, cost: None };
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::Stop),
    ];
    assert_eq!(events, expected);
}

#[test]
fn error_events_are_classed_by_their_type() {
    let cases = [
        ("overloaded_error", ModelFailureClass::Overloaded { retry_after: None }),
        ("rate_limit_error", ModelFailureClass::RateLimited { retry_after: None }),
        ("authentication_error", ModelFailureClass::Auth),
        ("billing_error", ModelFailureClass::Auth),
        ("request_too_large", ModelFailureClass::ContextLength),
        ("invalid_request_error", ModelFailureClass::InvalidRequest),
        ("timeout_error", ModelFailureClass::Timeout),
        ("api_error", ModelFailureClass::Unavailable),
    ];
    for (kind, class) in cases {
        let error = json!({"type": "error", "error": {"type": kind, "message": "prompt too long"}});
        let events = stream(&[opening(), error, finish("end_turn"), over()]);
        assert_eq!(class_of(&events), class, "{kind}");
    }
}

#[test]
fn a_server_that_answers_whole_is_understood() {
    let body = json!({
        "id": "m", "type": "message", "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    })
    .to_string();
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::TextDelta("hi".into()),
        start(2, "t", "read"),
        piece(2, "{\"a\":1}"),
        ModelEvent::Reasoning(json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})),
        end(2, "t", "read", json!({"a": 1}), None),
        ModelEvent::Usage(Usage { input: 3, output: 4, ..Usage::default() }),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(decode(Wire::Anthropic, BodyForm::Whole, body.as_bytes()), expected);
}
