use onyx_types::{
    Author, LaneId, Origin, RunEnd, RunStatus, TextStatus, Timestamp, Turn, TurnBody, Usage,
    UserContent,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const ID: &str = "0197f3a0-0000-7000-8000-000000000001";

fn with_header(body: &Value) -> Value {
    let mut turn = json!({
        "id": ID, "ts": "2026-11-15T02:53:00.000Z", "run_id": ID, "lane": 0,
        "author": "agent:main", "origin": "agent",
    });
    turn.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    turn
}

/// A full example of every known type, with all fields set.
fn every_type() -> Vec<Value> {
    let usage = json!({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "cost": 0.5});
    [
        json!({"type": "user", "content": "hi", "view": {"entity_type": "page", "entity_id": "p"}, "context": "c", "pieces": [{"scope": "agent", "source": "s.md", "start_line": 1, "end_line": 2, "from": 0, "to": 1}], "client_id": "m1", "withdrawn": true}),
        json!({"type": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "media_type": "image/png", "data": "eA=="}, {"type": "file", "name": "n", "media_type": "m", "key": "k"}]}),
        json!({"type": "reasoning", "model": "m/x", "data": {"sig": "s"}}),
        json!({"type": "assistant_text", "content": "t", "status": "interrupted", "model": "m/x", "provider_data": {"a": 1}}),
        json!({"type": "tool_call", "tool_use_id": "u", "tool_name": "n", "input": {"p": [1]}, "provider_data": 1}),
        json!({"type": "tool_result", "tool_use_id": "u", "output": "o", "is_error": true, "draft_id": ID, "duration_ms": 9}),
        json!({"type": "decision", "draft_id": ID, "state": "applied", "reason": "r", "output": "o"}),
        json!({"type": "run_start", "agents": ["main"], "model": "m/x"}),
        json!({"type": "run_end", "status": "error", "usage": usage, "cost": 0.5, "model": "m/x", "error": {"code": "limit_steps", "message": "m", "hint": "h"}}),
        json!({"type": "summary", "content": "s", "replaces": {"first": ID, "last": ID}}),
    ]
    .map(|body| with_header(&body))
    .into()
}

#[test]
fn every_known_type_is_understood_and_round_trips() {
    for original in every_type() {
        let turn: Turn = serde_json::from_value(original.clone()).unwrap();
        assert!(!matches!(turn.body, TurnBody::Unknown(_)), "not understood: {original}");
        assert_eq!(turn.extra.len(), 0, "a known field was taken for unknown: {original}");
        assert_eq!(serde_json::to_value(&turn).unwrap(), original);
    }
}

#[test]
fn fields_of_a_newer_version_survive() {
    for mut original in every_type() {
        original["added_later"] = json!({"deep": [1, null]});
        let turn: Turn = serde_json::from_value(original.clone()).unwrap();
        assert_eq!(serde_json::to_value(&turn).unwrap(), original);
    }
}

#[test]
fn types_and_values_of_a_newer_version_survive() {
    let newer = [
        json!({"type": "hologram", "shape": {"x": 1}}),
        json!({"type": "assistant_text", "content": "t", "status": "paused", "model": "m"}),
    ];
    for original in newer.map(|body| with_header(&body)) {
        let turn: Turn = serde_json::from_value(original.clone()).unwrap();
        assert!(matches!(turn.body, TurnBody::Unknown(_)));
        assert_eq!(serde_json::to_value(&turn).unwrap(), original);
    }
}

/// Whatever the order of the fields in a line, the same turn is read from its bytes.
#[test]
fn a_line_in_any_order_reads_the_same_from_its_bytes() {
    let newer = [
        json!({"type": "hologram", "shape": {"x": 1}}),
        json!({"type": "assistant_text", "content": "t", "status": "paused", "model": "m"}),
        json!({"type": "tool_result", "tool_use_id": "u", "output": 7, "is_error": false}),
    ];
    let newer = newer.map(|body| with_header(&body));
    for mut original in every_type().into_iter().chain(newer) {
        original["added_later"] = json!({"deep": [1, null]});
        let fields: Vec<_> = original.as_object().unwrap().clone().into_iter().collect();
        for first in 0..fields.len() {
            let turned = fields[first..].iter().chain(&fields[..first]).cloned();
            let line = Value::Object(turned.collect()).to_string();
            let turn = Turn::from_json(line.as_bytes()).unwrap();
            assert_eq!(turn, serde_json::from_value(original.clone()).unwrap(), "{line}");
            assert_eq!(serde_json::to_value(&turn).unwrap(), original, "{line}");
        }
    }
}

#[test]
fn what_follows_a_turn_on_its_line_is_an_error() {
    let line = format!("{} {{}}", every_type()[0]);
    assert!(Turn::from_json(line.as_bytes()).is_err());
}

#[test]
fn a_field_that_is_there_twice_counts_as_it_stands_last() {
    let line = with_header(&json!({"type": "user", "content": "first"})).to_string();
    let twice = line.replace("}", r#","content":"last"}"#);
    let turn = Turn::from_json(twice.as_bytes()).unwrap();
    assert_eq!(turn, serde_json::from_str(&twice).unwrap());
    assert!(matches!(turn.body, TurnBody::User(user) if user.content.text() == "last"));
}

#[test]
fn a_turn_without_its_header_is_an_error_that_names_the_field() {
    let error =
        serde_json::from_value::<Turn>(json!({"type": "user", "content": "x"})).unwrap_err();
    assert_eq!(error.to_string(), "missing field `id`");
}

#[test]
fn a_whole_turn_reads_as_expected() {
    let line = r#"{"id":"0197f3a0-0000-7000-8000-000000000001","ts":"1970-01-01T00:00:01.000Z","author":"system","origin":"agent","type":"run_end","status":"interrupted"}"#;
    let turn: Turn = serde_json::from_str(line).unwrap();
    let expected = Turn {
        id: ID.parse().unwrap(),
        ts: Timestamp::from_millis(1_000),
        run: None,
        lane: LaneId(0),
        author: Author::System,
        origin: Origin::Agent,
        body: TurnBody::RunEnd(RunEnd {
            status: RunStatus::Interrupted,
            usage: Usage::default(),
            cost: None,
            model: None,
            error: None,
        }),
        extra: serde_json::Map::new(),
    };
    assert_eq!(turn, expected);
    assert_eq!(TextStatus::Interrupted.as_str(), "interrupted");
}

proptest! {
    #[test]
    fn any_text_survives(text in any::<String>()) {
        let original = with_header(&json!({"type": "user", "content": text}));
        let turn: Turn = serde_json::from_str(&original.to_string()).unwrap();
        let TurnBody::User(user) = &turn.body else { panic!("not a user turn") };
        prop_assert_eq!(&user.content, &UserContent::Text(text));
        prop_assert_eq!(serde_json::to_value(&turn).unwrap(), original);
    }
}
