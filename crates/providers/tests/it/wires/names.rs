use super::model;
use crate::support::hello;
use futures::StreamExt;
use onyx_providers::wire::{ToolNames, portable};
use onyx_test_support::{Answer, ScriptedCall, ScriptedModel, Wire};
use onyx_types::{Cancel, FinishReason, ModelEvent, ModelRequest, ToolOffer};
use serde_json::json;

fn offer(name: &str) -> ToolOffer {
    ToolOffer { name: name.into(), description: String::new(), input_schema: json!({}).into() }
}

#[test]
fn a_name_that_wires_take_stays_and_others_become_one_they_take() {
    for name in ["read_file", "a", "_x-1", &"x".repeat(64)] {
        assert_eq!(portable(name), name);
    }
    let made: Vec<String> =
        ["mcp:server/tool", "mcp:server_tool", "1st", "größe", "", &"x".repeat(65)]
            .into_iter()
            .map(|name| portable(name).into_owned())
            .collect();
    for (position, name) in made.iter().enumerate() {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(name.len() <= 64 && name.chars().all(fits), "{name}");
        assert!(!name.starts_with(|c: char| c.is_ascii_digit()), "{name}");
        assert!(!made[..position].contains(name), "{name} twice");
    }
    assert!(made[0].starts_with("mcp_server_tool_"), "{}", made[0]);
}

#[test]
fn only_offered_names_come_back() {
    let names = ToolNames::of(&[offer("mcp:server/tool"), offer("plain")]);
    let restored = |name: &str| match names.restore(super::start(0, "a", name)) {
        ModelEvent::ToolCallStart { name, .. } => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(restored(&portable("mcp:server/tool")), "mcp:server/tool");
    assert_eq!(restored("plain"), "plain");
    assert_eq!(restored(&portable("mcp:other/tool")), portable("mcp:other/tool"));
}

#[tokio::test]
async fn on_every_wire_a_tool_with_any_name_is_offered_and_called_by_it() {
    let name = "mcp:files/read";
    for wire in Wire::ALL {
        let server = ScriptedModel::start().await;
        server.push(Answer::tool_calls([ScriptedCall::new("a", portable(name), &json!({"x": 1}))]));
        let request = ModelRequest { tools: [offer(name)].into(), ..hello() };
        let events: Vec<ModelEvent> =
            model(wire, &server, json!({})).stream(request, Cancel::new()).collect().await;
        let sent = server.last_request().body.to_string();
        assert!(sent.contains(&*portable(name)) && !sent.contains(name), "{wire:?}: {sent}");
        let named: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::ToolCallStart { name, .. } | ModelEvent::ToolCallEnd { name, .. } => {
                    Some(name.as_str())
                }
                _ => None,
            })
            .collect();
        assert_eq!(named, [name, name], "{wire:?}");
        assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolCalls)));
    }
}
