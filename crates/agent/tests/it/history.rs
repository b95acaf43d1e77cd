use onyx_agent::prompt::History;
use onyx_types::{Block, Message, Role, ToolUseId, Turn, TurnBody};
use serde_json::{Value, json};

fn turns(bodies: &[Value]) -> Vec<Turn> {
    let make = |(index, body): (usize, &Value)| {
        let author = body["author"].as_str().unwrap_or(match body["type"].as_str().unwrap() {
            "user" => "person:ana",
            "assistant_text" | "tool_call" | "reasoning" => "agent:main",
            _ => "system",
        });
        let mut turn = json!({
            "id": format!("0197f3a0-0000-7000-8000-{index:012}"),
            "ts": "2026-11-15T02:53:00.000Z",
            "origin": "agent",
        });
        turn.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        turn["author"] = json!(author);
        serde_json::from_value(turn).unwrap()
    };
    bodies.iter().enumerate().map(make).collect()
}

fn view(bodies: &[Value]) -> Vec<Message> {
    seen_by(&mut turns(bodies).into_iter().collect(), "m/x")
}

fn seen_by(conversation: &mut History, model: &str) -> Vec<Message> {
    conversation.messages(&"main".parse().unwrap(), model).to_vec()
}

fn user(text: &str) -> Value {
    json!({"type": "user", "content": text})
}

fn said(text: &str, status: &str) -> Value {
    json!({"type": "assistant_text", "content": text, "status": status, "model": "m/x"})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_call", "tool_use_id": id, "tool_name": "look", "input": {}})
}

fn result(id: &str, output: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "output": output, "is_error": false, "duration_ms": 1})
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn tool_use(id: &str) -> Block {
    Block::ToolUse {
        id: ToolUseId(id.to_owned()),
        name: "look".to_owned(),
        input: json!({}),
        provider_data: None,
    }
}

fn tool_result(id: &str, content: &str, is_error: bool) -> Block {
    Block::ToolResult { id: ToolUseId(id.to_owned()), content: content.to_owned(), is_error }
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message { role, content }
}

#[test]
fn a_step_with_tools_is_one_assistant_and_one_user_message() {
    let seen = view(&[
        user("hi"),
        said("let me look", "complete"),
        call("a"),
        call("b"),
        result("a", "A"),
        result("b", "B"),
        said("done", "complete"),
    ]);
    let expected = [
        message(Role::User, vec![text("[2026-11-15T02:53Z] hi")]),
        message(Role::Assistant, vec![text("let me look"), tool_use("a"), tool_use("b")]),
        message(Role::User, vec![tool_result("a", "A", false), tool_result("b", "B", false)]),
        message(Role::Assistant, vec![text("done")]),
    ];
    assert_eq!(seen, expected);
}

/// A fork may end between the results of one answer.
#[test]
fn a_call_left_open_is_closed_when_the_next_answer_calls_again() {
    let seen = view(&[user("one"), call("a"), call("b"), result("a", "A"), user("two"), call("c")]);
    let unknown = |id: &str| tool_result(id, "Outcome unknown, check before repeating.", true);
    let [.., asked, closed, again, last] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(*asked, message(Role::Assistant, vec![tool_use("a"), tool_use("b")]));
    let two = text("[2026-11-15T02:53Z] two");
    assert_eq!(*closed, message(Role::User, vec![tool_result("a", "A", false), unknown("b"), two]));
    assert_eq!(*again, message(Role::Assistant, vec![tool_use("c")]));
    assert_eq!(*last, message(Role::User, vec![unknown("c")]));
}

#[test]
fn a_call_without_a_result_gets_an_unknown_outcome_before_anything_else() {
    let seen = view(&[
        user("one"),
        call("a"),
        json!({"type": "run_end", "status": "interrupted"}),
        user("two"),
    ]);
    let unknown = tool_result("a", "Outcome unknown, check before repeating.", true);
    let expected = [
        message(Role::User, vec![text("[2026-11-15T02:53Z] one")]),
        message(Role::Assistant, vec![tool_use("a")]),
        message(Role::User, vec![unknown, text("[2026-11-15T02:53Z] two")]),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn failed_text_is_left_out_and_stopped_text_is_kept() {
    let seen = view(&[user("one"), said("bro", "error"), user("two"), said("half", "cancelled")]);
    let words = vec![text("[2026-11-15T02:53Z] one"), text("[2026-11-15T02:53Z] two")];
    let expected = [message(Role::User, words), message(Role::Assistant, vec![text("half")])];
    assert_eq!(seen, expected);
}

#[test]
fn other_agents_are_heard_as_users_and_their_tools_are_not_seen() {
    let mut other_call = call("x");
    other_call["author"] = json!("agent:second");
    let mut other_text = said("my view", "complete");
    other_text["author"] = json!("agent:second");
    let seen =
        view(&[user("hi"), call("a"), other_call, result("x", "X"), other_text, result("a", "A")]);
    let expected = [
        message(Role::User, vec![text("[2026-11-15T02:53Z] hi")]),
        message(Role::Assistant, vec![tool_use("a")]),
        message(Role::User, vec![tool_result("a", "A", false), text("[second]: my view")]),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn reasoning_returns_only_to_the_model_that_made_it() {
    let log = turns(&[
        user("hi"),
        json!({"type": "reasoning", "model": "m/x", "data": {"s": 1}}),
        said("yo", "complete"),
    ]);
    let mut log: History = log.into_iter().collect();
    let mut blocks = |model: &str| seen_by(&mut log, model)[1].content.len();
    assert_eq!((blocks("m/x"), blocks("m/other")), (2, 1));
}

#[test]
fn the_untrusted_block_is_replayed_as_it_was_sent() {
    let seen = view(&[json!({"type": "user", "content": "hi", "context": "Context (untrusted)…"})]);
    let expected = vec![text("[2026-11-15T02:53Z] hi"), text("Context (untrusted)…")];
    assert_eq!(seen, [message(Role::User, expected)]);
}

#[test]
fn a_summary_stands_for_everything_before_it() {
    let (first, last) =
        ("0197f3a0-0000-7000-8000-000000000000", "0197f3a0-0000-7000-8000-000000000001");
    let replaces = json!({"first": first, "last": last});
    let summary = json!({"type": "summary", "content": "S", "replaces": replaces});
    let seen =
        view(&[user("old"), said("old answer", "complete"), user("kept"), summary, user("new")]);
    let words = vec![
        text("[Summary of the conversation so far]\nS"),
        text("[2026-11-15T02:53Z] kept"),
        text("[2026-11-15T02:53Z] new"),
    ];
    assert_eq!(seen, [message(Role::User, words)]);
}

#[test]
fn old_exchanges_go_first_and_whole_when_the_window_is_small() {
    let long = "word ".repeat(100);
    let log = turns(&[
        user(&long),
        call("a"),
        result("a", &long),
        said("one", "complete"),
        user("two"),
        call("b"),
        result("b", "B"),
        said("last", "complete"),
    ]);
    let log: History = log.into_iter().collect();
    let within = |tokens| log.messages_within(&"main".parse().unwrap(), "m/x", tokens).to_vec();
    let seen = within(120);
    let expected = [
        message(Role::User, vec![text("[2026-11-15T02:53Z] two")]),
        message(Role::Assistant, vec![tool_use("b")]),
        message(Role::User, vec![tool_result("b", "B", false)]),
        message(Role::Assistant, vec![text("last")]),
    ];
    assert_eq!(seen, expected);
    let tiny = within(1);
    assert_eq!(tiny, expected, "the newest exchange always stays");
}

/// Turns of every kind, in an order that leaves calls open for a while.
fn eventful() -> Vec<Turn> {
    let summary = json!({"type": "summary", "content": "S", "replaces": {
        "first": "0197f3a0-0000-7000-8000-000000000000",
        "last": "0197f3a0-0000-7000-8000-000000000005",
    }});
    turns(&[
        user("old"),
        call("a"),
        json!({"type": "assistant_text", "content": "meanwhile", "status": "complete",
            "model": "m/x", "author": "agent:second"}),
        result("a", "A"),
        said("one", "complete"),
        json!({"type": "run_end", "status": "done"}),
        user("kept"),
        call("lost"),
        json!({"type": "run_end", "status": "interrupted"}),
        json!({"type": "tool_call", "tool_use_id": "hidden", "tool_name": "memory_write",
            "input": {}, "silent": true}),
        summary,
        user("new"),
        call("b"),
        user("between"),
        result("b", "B"),
        said("two", "complete"),
    ])
}

#[test]
fn a_conversation_that_grows_is_what_it_would_be_if_made_anew() {
    let log = eventful();
    let mut growing = History::default();
    for (index, turn) in log.iter().enumerate() {
        growing.push(std::sync::Arc::new(turn.clone()));
        let mut whole: History = log[..=index].iter().cloned().collect();
        for model in ["m/x", "m/other"] {
            assert_eq!(seen_by(&mut growing, model), seen_by(&mut whole, model), "after {index}");
        }
        assert_eq!((growing.tokens(), growing.taint()), (whole.tokens(), whole.taint()));
        assert_eq!(growing.newest(), Some(turn));
    }
}

#[test]
fn a_request_keeps_the_messages_it_was_made_of() {
    let mut growing: History = turns(&[user("one")]).into_iter().collect();
    let request = growing.messages(&"main".parse().unwrap(), "m/x");
    growing.extend(turns(&[user("two")]).into_iter().map(std::sync::Arc::new));
    assert_eq!(seen_by(&mut growing, "m/x")[0].content.len(), 2);
    assert_eq!(request[0].content.len(), 1);
}

#[test]
fn what_is_left_of_a_long_conversation_begins_with_a_question() {
    let exchange = [user("some words"), call("a"), result("a", "much"), said("so", "complete")];
    let long: History = (0..20).flat_map(|_| turns(&exchange)).collect();
    for tokens in 0..long.tokens() {
        let mut limited = long.clone();
        limited.limit(tokens);
        assert!(matches!(limited.turns()[0].body, TurnBody::User(_)), "cut to {tokens}");
        assert_eq!(limited.turns().len() % exchange.len(), 0, "whole exchanges");
        assert!(limited.tokens() <= tokens || limited.turns().len() == exchange.len());
    }
}

#[test]
fn what_no_prompt_can_use_is_dropped_from_the_front() {
    let mut long: History = (0..50).flat_map(|_| turns(&[user("some words")])).collect();
    let (all, each) = (long.tokens(), long.tokens() / 50);
    long.limit(all);
    assert_eq!(long.turns().len(), 50);
    long.limit(each * 20);
    assert_eq!((long.turns().len(), long.tokens()), (20, each * 20));
    assert_eq!(seen_by(&mut long, "m/x")[0].content.len(), 20);
}
