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
    decode(Wire::OpenAiResponses, BodyForm::Stream, text.as_bytes())
}

fn call(status: &str, arguments: &str) -> Value {
    json!({"id": "fc_1", "type": "function_call", "status": status, "call_id": "call_1",
           "name": "read", "arguments": arguments})
}

fn added(index: u32, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u32, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn ended(event: &str, response: Value) -> Value {
    json!({"type": event, "response": response})
}

fn completed() -> Value {
    ended("response.completed", json!({"id": "r", "status": "completed", "error": null}))
}

#[test]
fn reasoning_text_calls_and_usage_come_in_order() {
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "b3BhcXVl",
                           "summary": [{"type": "summary_text", "text": "hm"}]});
    let summary = |text: &str| {
        json!({"type": "response.reasoning_summary_text.delta",
                                      "output_index": 0, "delta": text})
    };
    let part = |index: u32| {
        json!({"type": "response.reasoning_summary_part.added",
                                   "summary_index": index, "part": {}})
    };
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64},
                       "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}});
    let events = stream(&[
        ended("response.created", json!({"id": "r", "status": "in_progress", "error": null})),
        added(0, json!({"id": "rs_1", "type": "reasoning", "summary": []})),
        part(0),
        summary("hm"),
        part(1),
        summary("so"),
        done(0, reasoning.clone()),
        added(1, json!({"id": "m", "type": "message", "role": "assistant", "content": []})),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "let me"}),
        json!({"type": "response.refusal.delta", "output_index": 1, "delta": " not"}),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "let me"}),
        added(2, call("in_progress", "")),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2,
               "delta": "{\"a\":"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "1}"}),
        done(2, call("completed", "{\"a\":1}")),
        ended("response.completed", json!({"status": "completed", "usage": usage})),
    ]);
    let usage = Usage { input: 100, output: 7, cache_read: 64, cache_write: 0, cost: None };
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::ReasoningDelta("\n\n".into()),
        ModelEvent::ReasoningDelta("so".into()),
        ModelEvent::TextDelta("let me".into()),
        ModelEvent::TextDelta(" not".into()),
        start(2, "call_1", "read"),
        piece(2, "{\"a\":"),
        piece(2, "1}"),
        ModelEvent::Reasoning(reasoning),
        end(2, "call_1", "read", json!({"a": 1}), None),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_call_that_comes_only_in_the_end_is_a_call() {
    let events = stream(&[done(0, call("completed", "{}")), completed()]);
    let expected = [
        start(0, "call_1", "read"),
        piece(0, "{}"),
        end(0, "call_1", "read", json!({}), None),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_call_that_was_not_brought_to_its_end_does_not_run() {
    let answers = [
        vec![added(0, call("in_progress", "")), completed()],
        vec![added(0, call("in_progress", "")), done(0, call("completed", "{\"a\"")), completed()],
        vec![added(0, call("in_progress", "")), done(0, call("completed", "{}"))],
    ];
    for answer in answers {
        let events = stream(&answer);
        assert_nothing_executable(&events);
        assert_eq!(class_of(&events), ModelFailureClass::Truncated, "{answer:?}");
    }
}

#[test]
fn the_last_event_says_how_it_ended() {
    let incomplete = |reason: &str| {
        ended(
            "response.incomplete",
            json!({"status": "incomplete", "incomplete_details": {"reason": reason}}),
        )
    };
    let finished = |event: Value| stream(&[event]).pop().unwrap();
    assert_eq!(finished(incomplete("max_output_tokens")), ModelEvent::Finish(FinishReason::Length));
    assert_eq!(
        finished(incomplete("content_filter")),
        ModelEvent::Finish(FinishReason::ContentFilter)
    );
    let class = |event: Value| class_of(&stream(&[event]));
    assert_eq!(class(incomplete("else")), ModelFailureClass::Truncated);
    assert_eq!(
        class(ended("response.cancelled", json!({"status": "cancelled"}))),
        ModelFailureClass::Truncated
    );
    let failed = |code: &str| {
        ended(
            "response.failed",
            json!({"status": "failed", "error": {"code": code, "message": ""}}),
        )
    };
    let cases = [
        ("server_error", ModelFailureClass::Unavailable),
        ("rate_limit_exceeded", ModelFailureClass::RateLimited { retry_after: None }),
        ("server_is_overloaded", ModelFailureClass::Overloaded { retry_after: None }),
        ("context_length_exceeded", ModelFailureClass::ContextLength),
        ("insufficient_quota", ModelFailureClass::Auth),
        ("invalid_prompt", ModelFailureClass::InvalidRequest),
    ];
    for (code, expected) in cases {
        assert_eq!(class(failed(code)), expected, "{code}");
    }
}

#[test]
fn both_forms_of_an_error_event_are_read() {
    let limited = ModelFailureClass::RateLimited { retry_after: None };
    let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"});
    let nested = json!({"type": "error", "error": {"code": "rate_limit_exceeded"}});
    for error in [flat, nested] {
        assert_eq!(class_of(&stream(&[error, completed()])), limited);
    }
}

#[test]
fn a_server_that_answers_whole_is_understood() {
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "summary": []});
    let body = json!({
        "id": "r", "status": "completed",
        "output": [
            reasoning,
            {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
            call("completed", "{\"a\":1}"),
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    })
    .to_string();
    let expected = [
        ModelEvent::TextDelta("hi".into()),
        start(2, "call_1", "read"),
        piece(2, "{\"a\":1}"),
        ModelEvent::Reasoning(reasoning),
        end(2, "call_1", "read", json!({"a": 1}), None),
        ModelEvent::Usage(Usage { input: 3, output: 4, ..Usage::default() }),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(decode(Wire::OpenAiResponses, BodyForm::Whole, body.as_bytes()), expected);
}
