use std::time::Duration;

use onyx_test_support::{OnyxProcess, ScriptedModel};
use serde_json::{Value, json};

use super::{accept_all, add, called, obedient, offered, output, server};
use crate::builder;

struct Asked {
    bytes: usize,
    names: Vec<String>,
    onyx: OnyxProcess,
    /// The model server runs as long as this is kept.
    _model: ScriptedModel,
}

async fn ask_with(count: usize) -> Asked {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    add(&onyx, "many", server("many", &[&count.to_string()])).await;
    let accepted = accept_all(&onyx, "many").await;
    assert_eq!(accepted["tools"].as_array().unwrap().len(), count);
    onyx.chat_stream(&json!({"message": "hello"})).await;
    let names = offered(&model);
    Asked { bytes: model.last_request().body.to_string().len(), names, onyx, _model: model }
}

#[tokio::test]
async fn beyond_a_share_of_the_window_tools_are_found_and_called_through_two() {
    let Asked { bytes: few, names, .. } = ask_with(2).await;
    assert!(names.iter().any(|name| name.contains("do_thing_1")), "{names:?}");
    assert!(!names.contains(&"find_tool".to_owned()), "{names:?}");
    let Asked { bytes: hundred, names, .. } = ask_with(100).await;
    assert!(names.contains(&"find_tool".to_owned()) && names.contains(&"call_tool".to_owned()));
    assert!(!names.iter().any(|name| name.contains("do_thing")), "{names:?}");
    let asked = ask_with(1_000).await;
    let (thousand, onyx) = (asked.bytes, &asked.onyx);
    assert_eq!(names, asked.names);
    assert!(thousand.abs_diff(hundred) < 64, "{hundred} bytes with 100, {thousand} with 1,000");
    assert!(thousand < few + 2_000, "{few} bytes with 2, {thousand} with 1,000");

    let (found, _) = called(onyx, "find_tool", json!({"need": "do thing number 777"})).await;
    assert!(output(&found).starts_with("mcp:many/do_thing_777:"), "{found}");
    let call = json!({"name": "mcp:many/do_thing_777", "arguments": {"text": "go"}});
    let message = crate::drafts::message(&[("call_tool", call.clone())]);
    let mut lines = onyx.chat_lines(&json!({"message": message})).await;
    let confirm = lines.until("confirm").await;
    assert_eq!(
        confirm["tool"], "mcp:many/do_thing_777",
        "the gate sees the tool itself: {confirm}"
    );
    super::set_tool(onyx, "many", "do_thing_777", json!({"effect": "read"})).await;
    let (result, _) = called(onyx, "call_tool", call).await;
    assert_eq!(output(&result), "do_thing_777: go");
    // Tools of Onyx cannot be called in this way, and a name without a tool gets a short error.
    let own = json!({"name": "read_file", "arguments": {"path": "a.md"}});
    let (refused, _) = called(onyx, "call_tool", own).await;
    assert!(output(&refused).contains("find_tool lists the tools that can"), "{refused}");
    let (absent, _) = called(onyx, "no_such_tool", json!({})).await;
    assert!(output(&absent).len() < 2_000, "{}", output(&absent).len());
    let bad = json!({"name": "mcp:many/do_thing_777", "arguments": {"text": Value::from(5)}});
    let (told, _) = called(onyx, "call_tool", bad).await;
    assert!(output(&told).contains("text"), "arguments are checked: {told}");
}

/// The CPU time of one turn, measured over several in a row.
async fn cpu_of_a_turn(onyx: &OnyxProcess) -> Duration {
    const TURNS: u32 = 40;
    let before = onyx.cpu_time();
    for _ in 0..TURNS {
        onyx.chat_stream(&json!({"message": "hello"})).await;
    }
    (onyx.cpu_time() - before) / TURNS
}

#[tokio::test]
async fn a_turn_with_a_thousand_tools_costs_what_one_with_a_hundred_costs() {
    let servers = [ask_with(10).await, ask_with(100).await, ask_with(1_000).await];
    let mut least = [f64::MAX; 3];
    // The smallest time counts, because other work of the machine can only add to it. On a busy
    // machine it takes more rounds until each server was measured undisturbed. The first round is a
    // warm-up.
    for row in 0..MOST_ROWS {
        for (server, least) in servers.iter().zip(&mut least) {
            let cost = cpu_of_a_turn(&server.onyx).await;
            if row > 0 {
                *least = least.min(cost.as_secs_f64() * 1_000.0);
            }
        }
        if row >= FEWEST_ROWS && costs_the_same(least) {
            break;
        }
    }
    let [ten, hundred, thousand] = least;
    let told = format!("{ten:.2} ms with 10, {hundred:.2} with 100, {thousand:.2} with 1,000");
    println!("CPU of a turn: {told}");
    assert!(costs_the_same(least), "{told}");
}

const FEWEST_ROWS: u32 = 3;
const MOST_ROWS: u32 = 20;

fn costs_the_same([ten, hundred, thousand]: [f64; 3]) -> bool {
    thousand < hundred * 1.3 && thousand < ten * 1.3
}
