use super::{decode, end, piece, start};
use crate::support::{assert_nothing_executable, class_of};
use onyx_providers::wire::{BodyForm, http_failure};
use onyx_test_support::Wire;
use onyx_types::{FinishReason, ModelEvent, ModelFailureClass, Usage};
use serde_json::{Value, json};
use std::time::Duration;

fn stream(frames: &[Value]) -> Vec<ModelEvent> {
    let text: String = frames.iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect();
    decode(Wire::Gemini, BodyForm::Stream, text.as_bytes())
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
           "responseId": "r+1"})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason, "index": 0}]})
}

#[test]
fn thoughts_text_signed_calls_and_usage_come_in_order() {
    let mut last = finish("STOP");
    last["usageMetadata"] = json!({"promptTokenCount": 100, "cachedContentTokenCount": 64,
                                   "toolUsePromptTokenCount": 2,
                                   "candidatesTokenCount": 4, "thoughtsTokenCount": 3});
    let events = stream(&[
        parts(json!([{"text": "hm", "thought": true}])),
        parts(json!([{"text": "let me"}])),
        parts(json!([
            {"functionCall": {"id": "c1", "name": "read", "args": {"a": 1}},
             "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "now"}},
        ])),
        last,
    ]);
    let signed = json!({"model": "mine/some-model", "thoughtSignature": "c2ln"});
    // The provider gave no id, so it is made of the id of the response and the call's position.
    let ModelEvent::ToolCallStart { id: made, .. } = &events[4] else { panic!("{events:?}") };
    assert!(made.0.starts_with("call_r_1_1_"), "{made:?}");
    let usage = Usage { input: 102, output: 7, cache_read: 64, cache_write: 0, cost: None };
    let expected = [
        ModelEvent::ReasoningDelta("hm".into()),
        ModelEvent::TextDelta("let me".into()),
        start(0, "c1", "read"),
        piece(0, "{\"a\":1}"),
        start(1, &made.0, "now"),
        piece(1, "{}"),
        end(0, "c1", "read", json!({"a": 1}), Some(signed)),
        end(1, &made.0, "now", json!({}), None),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(events, expected);
}

#[test]
fn the_signature_of_a_text_is_kept_as_reasoning() {
    let events = stream(&[
        parts(json!([{"text": "hi"}])),
        parts(json!([{"text": "", "thoughtSignature": "c2ln"}])),
        finish("STOP"),
    ]);
    let expected = [
        ModelEvent::TextDelta("hi".into()),
        ModelEvent::Reasoning(json!({"thoughtSignature": "c2ln"})),
        ModelEvent::Finish(FinishReason::Stop),
    ];
    assert_eq!(events, expected);
}

#[test]
fn finish_reasons_are_read_by_their_word_and_an_unknown_one_is_no_success() {
    let call = || parts(json!([{"functionCall": {"name": "read", "args": {}}}]));
    for (word, reason) in [
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("PROHIBITED_CONTENT", FinishReason::ContentFilter),
    ] {
        let events = stream(&[call(), finish(word)]);
        assert_eq!(events.last(), Some(&ModelEvent::Finish(reason)), "{word}");
        assert!(!events.iter().any(|event| matches!(event, ModelEvent::ToolCallEnd { .. })));
    }
    for word in ["MALFORMED_FUNCTION_CALL", "OTHER", "LATER"] {
        let events = stream(&[call(), finish(word)]);
        assert_nothing_executable(&events);
        assert_eq!(class_of(&events), ModelFailureClass::Truncated, "{word}");
    }
}

#[test]
fn a_prompt_that_is_refused_is_filtered_content() {
    let refused = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
                         "usageMetadata": {"promptTokenCount": 9}});
    let events = stream(&[refused]);
    assert_eq!(class_of(&events), ModelFailureClass::ContentFilter);
    assert_eq!(events[0], ModelEvent::Usage(Usage { input: 9, ..Usage::default() }));
}

#[test]
fn the_wait_in_the_body_counts_where_no_header_names_one() {
    let body = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}})
    .to_string();
    let class = |header| http_failure(429, header, body.as_bytes()).class;
    let limited = |seconds| ModelFailureClass::RateLimited {
        retry_after: Some(Duration::from_secs_f64(seconds)),
    };
    assert_eq!(class(None), limited(34.5));
    assert_eq!(class(Some(Duration::from_secs(7))), limited(7.0));
}

#[test]
fn a_whole_answer_and_a_list_of_pieces_are_understood() {
    let chunks = [parts(json!([{"text": "a"}])), parts(json!([{"text": "b"}])), finish("STOP")];
    let listed = decode(Wire::Gemini, BodyForm::Whole, json!(chunks).to_string().as_bytes());
    let expected = [
        ModelEvent::TextDelta("a".into()),
        ModelEvent::TextDelta("b".into()),
        ModelEvent::Finish(FinishReason::Stop),
    ];
    assert_eq!(listed, expected);
    let mut one = parts(json!([{"text": "a"}, {"text": "b"}]));
    one["candidates"][0]["finishReason"] = json!("STOP");
    assert_eq!(decode(Wire::Gemini, BodyForm::Whole, one.to_string().as_bytes()), expected);
}
