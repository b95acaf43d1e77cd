use onyx_api::messages;
use onyx_types::Turn;
use serde_json::{Value, json};

/// Turns as the log holds them, with ids that count from 1.
fn turns(bodies: &[Value]) -> Vec<Turn> {
    (1..)
        .zip(bodies)
        .map(|(number, body)| {
            let mut turn = json!({
                "id": id(number), "ts": ts(number), "run_id": id(900), "lane": 0,
                "author": "system", "origin": "agent",
            });
            for (name, value) in body.as_object().unwrap() {
                turn[name] = value.clone();
            }
            serde_json::from_value(turn).unwrap()
        })
        .collect()
}

fn id(number: u32) -> String {
    format!("01936c00-0000-7000-8000-{number:012}")
}

fn ts(number: u32) -> String {
    format!("2026-01-01T00:00:{number:02}.000Z")
}

fn folded(bodies: &[Value]) -> Value {
    serde_json::to_value(messages(&turns(bodies))).unwrap()
}

fn user(text: &str) -> Value {
    json!({"type": "user", "content": text})
}

fn text(content: &str, status: &str) -> Value {
    json!({"type": "assistant_text", "content": content, "status": status, "model": "m"})
}

fn call(call: &str, tool: &str) -> Value {
    json!({"type": "tool_call", "tool_use_id": call, "tool_name": tool, "input": {"n": 1}})
}

fn result(call: &str, output: &str, is_error: bool) -> Value {
    json!({"type": "tool_result", "tool_use_id": call, "output": output, "is_error": is_error, "duration_ms": 1})
}

fn end(status: &str) -> Value {
    json!({"type": "run_end", "status": status})
}

fn message(number: u32, role: &str, content: &str, status: &str, tools: &Value) -> Value {
    json!({
        "id": id(number), "role": role, "content": content, "status": status,
        "created_at": ts(number), "tools": tools,
    })
}

#[test]
fn all_of_one_run_is_one_answer() {
    let history = folded(&[
        json!({"type": "run_start"}),
        user("do it"),
        json!({"type": "reasoning", "model": "m", "data": {}}),
        text("Let me look.", "complete"),
        call("a", "read_file"),
        call("b", "write_file"),
        result("b", "", true),
        result("a", "\n  first line  \nsecond", false),
        call("c", "list_files"),
        text("Done.", "complete"),
        end("done"),
    ]);
    let tools = json!([
        {"id": "a", "tool": "read_file", "args": {"n": 1}, "ok": true, "summary": "first line"},
        {"id": "b", "tool": "write_file", "args": {"n": 1}, "ok": false, "summary": ""},
        {"id": "c", "tool": "list_files", "args": {"n": 1}, "ok": null, "summary": ""},
    ]);
    assert_eq!(
        history,
        json!([
            message(2, "user", "do it", "complete", &json!([])),
            message(4, "assistant", "Let me look.\n\nDone.", "complete", &tools),
        ])
    );
}

#[test]
fn how_the_run_ended_is_the_answers_status() {
    for (ended, status) in [
        ("done", "complete"),
        ("awaiting_client", "complete"),
        ("cancelled", "cancelled"),
        ("error", "error"),
        ("interrupted", "interrupted"),
    ] {
        let history = folded(&[user("x"), text("half", "complete"), end(ended)]);
        assert_eq!(history[1]["status"], status);
    }
    assert_eq!(folded(&[user("x"), text("a", "complete")])[1]["status"], "streaming");
    assert_eq!(folded(&[user("x"), text("a", "cancelled")])[1]["status"], "cancelled");
}

#[test]
fn a_run_that_said_nothing_shows_that_it_did_not_and_why() {
    let mut ended = end("error");
    ended["error"] = json!({"code": "provider_auth", "message": "refused"});
    let history = folded(&[user("x"), ended]);
    let mut answer = message(2, "assistant", "", "error", &json!([]));
    answer["error"] = json!({"code": "provider_auth", "message": "refused"});
    assert_eq!(history, json!([message(1, "user", "x", "complete", &json!([])), answer]));
    assert_eq!(folded(&[user("x"), end("done")]).as_array().unwrap().len(), 1);
    let begun = json!({"type": "run_start", "agents": ["main", "scout"]});
    assert_eq!(folded(&[begun, user("x"), end("cancelled")])[1]["agent"], "main");
}

#[test]
fn a_message_in_the_middle_of_a_run_parts_the_answer() {
    let history = folded(&[
        user("a"),
        text("one", "complete"),
        user("b"),
        text("two", "cancelled"),
        end("cancelled"),
    ]);
    assert_eq!(
        history,
        json!([
            message(1, "user", "a", "complete", &json!([])),
            message(2, "assistant", "one", "complete", &json!([])),
            message(3, "user", "b", "complete", &json!([])),
            message(4, "assistant", "two", "cancelled", &json!([])),
        ])
    );
}

#[test]
fn lanes_of_one_run_are_answers_of_their_own_and_unknown_turns_are_passed_over() {
    let mut other = text("from b", "complete");
    other["lane"] = json!(1);
    let history = folded(&[
        user("both?"),
        text("from a", "complete"),
        other,
        json!({"type": "of_tomorrow", "content": "?"}),
        text("more of a", "complete"),
        end("done"),
    ]);
    assert_eq!(
        history,
        json!([
            message(1, "user", "both?", "complete", &json!([])),
            message(2, "assistant", "from a\n\nmore of a", "complete", &json!([])),
            message(3, "assistant", "from b", "complete", &json!([])),
        ])
    );
}
