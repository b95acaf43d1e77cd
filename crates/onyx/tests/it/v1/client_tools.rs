use onyx_test_support::{Answer, Script, ScriptedCall, ScriptedModel, Step};
use serde_json::{Value, json};

use super::{CHAT, conversation, finish, stream, words};
use crate::{builder, onyx};

fn weather() -> Value {
    json!([{"type": "function", "function": {
        "name": "weather",
        "description": "The weather of a town",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
    }}])
}

fn call(id: &str, name: &str, arguments: &Value) -> ScriptedCall {
    ScriptedCall::new(id, name, arguments)
}

#[tokio::test]
async fn a_clients_tool_is_its_own_to_run_and_its_result_goes_on() {
    let model = ScriptedModel::with_answers([
        Answer::tool_calls([call("c1", "weather", &json!({"town": "Rome"}))]),
        Answer::text("Sunny."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let mut messages = vec![json!({"role": "user", "content": "weather in Rome?"})];
    let body = json!({"model": "main", "messages": messages, "tools": weather()});
    let asked = onyx.post(CHAT, &body).await.expect(200).json();
    let choice = &asked["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(
        choice["message"]["tool_calls"],
        json!([{"id": "c1", "type": "function",
            "function": {"name": "weather", "arguments": "{\"town\":\"Rome\"}"}}])
    );
    let offered = model.last_request().body["tools"].to_string();
    assert!(offered.contains("\"weather\"") && offered.contains("read_file"), "{offered}");

    messages.push(choice["message"].clone());
    messages.push(json!({"role": "tool", "tool_call_id": "c1", "content": "25 degrees"}));
    let body = json!({"model": "main", "messages": messages, "tools": weather()});
    let answered = onyx.post(CHAT, &body).await.expect(200).json();
    assert_eq!(answered["choices"][0]["message"]["content"], "Sunny.");
    let told = conversation(&model.last_request());
    let roles: Vec<&str> = told.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(told[2].1, "25 degrees");
}

#[tokio::test]
async fn in_a_session_the_result_alone_goes_on_and_a_missing_one_is_told() {
    let ask_weather = || Answer::tool_calls([call("c1", "weather", &json!({"town": "Rome"}))]);
    let model = ScriptedModel::with_answers([
        ask_weather(),
        Answer::text("Sunny."),
        Answer::tool_calls([call("c2", "weather", &json!({"town": "Oslo"}))]),
        Answer::text("Never mind."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let user = |words: &str| json!([{"role": "user", "content": words}]);
    let first = json!({"messages": user("weather?"), "tools": weather()});
    let session = onyx.post(CHAT, &first).await.expect(200).json()["x-onyx-session-id"].clone();
    let meta = format!("/v1/sessions/{}", session.as_str().unwrap());
    assert_eq!(onyx.get(&meta).await.json()["last_run_status"], "awaiting_client");

    let result = |id: &str| {
        json!({
            "messages": [{"role": "tool", "tool_call_id": id, "content": "25"}],
            "tools": weather(),
            "x-onyx-session-id": session,
        })
    };
    let stray = onyx.post(CHAT, &result("c9")).await.expect(400).json();
    assert!(stray["error"]["message"].as_str().unwrap().contains("c9"), "{stray}");
    let answered = onyx.post(CHAT, &result("c1")).await.expect(200).json();
    assert_eq!(answered["choices"][0]["message"]["content"], "Sunny.");
    let _ = onyx.post(CHAT, &result("c1")).await.expect(400);

    let again =
        json!({"messages": user("and Oslo?"), "tools": weather(), "x-onyx-session-id": session});
    let asked = onyx.post(CHAT, &again).await.expect(200).json();
    assert_eq!(asked["choices"][0]["finish_reason"], "tool_calls");
    let other = json!({"messages": user("forget it"), "x-onyx-session-id": session});
    let _ = onyx.post(CHAT, &other).await.expect(200);
    let told = conversation(&model.last_request());
    let [.., result, last] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(result.0, "tool");
    assert!(result.1.as_str().unwrap().ends_with("The client did not answer."), "{told:?}");
    assert_eq!(words(&last.1), "forget it");
}

#[tokio::test]
async fn the_agents_own_tools_run_first_and_are_not_told() {
    let model = ScriptedModel::with_answers([
        Answer::script(
            Script::new([
                Step::Text("Looking.".to_owned()),
                Step::ToolCalls(vec![
                    call("s1", "read_file", &json!({"path": "a.md"})),
                    call("c1", "weather", &json!({})),
                ]),
            ])
            .ended(onyx_test_support::Finish::ToolCalls),
        ),
        Answer::text("Both."),
    ])
    .await;
    let onyx = builder(&model).file("people/owner/vault/a.md", "the note").start().await;
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "go"}],
        "tools": weather()});
    let chunks = stream(&onyx, CHAT, &body).await;
    assert_eq!(finish(&chunks), Some("tool_calls"));
    let calls: Vec<&Value> = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array())
        .flatten()
        .collect();
    assert_eq!(
        calls,
        [&json!({"index": 0, "id": "c1", "type": "function",
            "function": {"name": "weather", "arguments": "{}"}})]
    );
    let session = &chunks[0]["x-onyx-session-id"];
    let results = json!({
        "messages": [{"role": "tool", "tool_call_id": "c1", "content": "rain"}],
        "x-onyx-session-id": session,
    });
    let _ = onyx.post(CHAT, &results).await.expect(200);
    let told = conversation(&model.last_request());
    let results: Vec<&Value> =
        told.iter().filter(|(role, _)| role == "tool").map(|(_, content)| content).collect();
    assert!(results[0].to_string().contains("the note"), "{told:?}");
    assert_eq!(results[1], "rain");
}

#[tokio::test]
async fn a_tool_with_the_name_of_an_agents_tool_is_the_clients() {
    let model = ScriptedModel::with_answers([Answer::tool_calls([call(
        "c1",
        "read_file",
        &json!({"path": "a.md"}),
    )])])
    .await;
    let onyx = builder(&model).file("people/owner/vault/a.md", "the note").start().await;
    let body = json!({
        "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": "read_file"}}],
    });
    let asked = onyx.post(CHAT, &body).await.expect(200).json();
    assert_eq!(asked["choices"][0]["finish_reason"], "tool_calls");
    let offered = model.last_request().body["tools"].clone();
    let named =
        offered.as_array().unwrap().iter().filter(|tool| tool["function"]["name"] == "read_file");
    assert_eq!(named.count(), 1);
}
