use super::{decode, end, piece, start};
use crate::support::{assert_nothing_executable, class_of};
use onyx_providers::wire::BodyForm;
use onyx_test_support::Wire;
use onyx_types::{FinishReason, ModelEvent, ModelFailureClass, Usage};
use serde_json::{Value, json};

fn stream(lines: &[Value]) -> Vec<ModelEvent> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    decode(Wire::Ollama, BodyForm::Stream, text.as_bytes())
}

fn said(message: Value) -> Value {
    json!({"model": "m", "created_at": "2026-11-15T00:00:00Z", "message": message, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true,
           "done_reason": reason, "prompt_eval_count": 100, "eval_count": 7})
}

#[test]
fn thinking_text_calls_and_usage_come_in_order() {
    let events = stream(&[
        said(json!({"role": "assistant", "content": "", "thinking": "h"})),
        said(json!({"role": "assistant", "content": "", "thinking": "m"})),
        said(json!({"role": "assistant", "content": "let me"})),
        said(json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "function": {"name": "read", "arguments": {"a": 1}}},
            {"function": {"name": "now"}},
        ]})),
        done("stop"),
    ]);
    let ModelEvent::ToolCallStart { id: made, .. } = &events[5] else { panic!("{events:?}") };
    assert!(made.0.starts_with("call_2026-11-15T00_00_00Z_1_"), "{made:?}");
    let expected = [
        ModelEvent::ReasoningDelta("h".into()),
        ModelEvent::ReasoningDelta("m".into()),
        ModelEvent::TextDelta("let me".into()),
        start(0, "c1", "read"),
        piece(0, "{\"a\":1}"),
        start(1, &made.0, "now"),
        piece(1, "{}"),
        ModelEvent::Reasoning(json!({"thinking": "hm"})),
        end(0, "c1", "read", json!({"a": 1}), None),
        end(1, &made.0, "now", json!({}), None),
        ModelEvent::Usage(Usage { input: 100, output: 7, ..Usage::default() }),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[test]
fn only_a_line_that_says_done_ends_an_answer() {
    let call = || said(json!({"tool_calls": [{"function": {"name": "read", "arguments": {}}}]}));
    assert_eq!(
        stream(&[call(), done("length")]).last(),
        Some(&ModelEvent::Finish(FinishReason::Length))
    );
    for lines in [vec![call()], vec![call(), done("unload")], vec![]] {
        let events = stream(&lines);
        assert_nothing_executable(&events);
        assert_eq!(class_of(&events), ModelFailureClass::Truncated, "{lines:?}");
    }
}

#[test]
fn an_error_line_is_the_end_whatever_it_says() {
    let error = json!({"error": "rate limit, 401, context length"});
    let events = stream(&[said(json!({"content": "a"})), error, done("stop")]);
    assert_eq!(events.len(), 2);
    assert_eq!(class_of(&events), ModelFailureClass::Unavailable);
}

#[test]
fn what_is_not_the_wire_is_a_transport_failure() {
    for garbage in ["<html>\n", "[1]\n", "\u{0}\n"] {
        let events = decode(Wire::Ollama, BodyForm::Stream, garbage.as_bytes());
        assert_eq!(class_of(&events), ModelFailureClass::Transport, "{garbage:?}");
    }
    let events = decode(Wire::Ollama, BodyForm::Stream, b"\xff\n");
    assert_eq!(class_of(&events), ModelFailureClass::Transport);
    let endless = vec![b'x'; 9 * 1024 * 1024];
    let events = decode(Wire::Ollama, BodyForm::Stream, &endless);
    assert_eq!(class_of(&events), ModelFailureClass::Transport);
}

#[test]
fn a_server_that_answers_whole_is_understood() {
    let mut body = done("stop");
    body["message"] = json!({"content": "hi", "thinking": "hm"});
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::TextDelta("hi".into()),
        ModelEvent::Reasoning(json!({"thinking": "hm"})),
        ModelEvent::Usage(Usage { input: 100, output: 7, ..Usage::default() }),
        ModelEvent::Finish(FinishReason::Stop),
    ];
    assert_eq!(decode(Wire::Ollama, BodyForm::Whole, body.to_string().as_bytes()), expected);
}
