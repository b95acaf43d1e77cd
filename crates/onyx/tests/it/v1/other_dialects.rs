use onyx_test_support::{Answer, DEFAULT_TOKEN, Script, ScriptedCall, ScriptedModel, Step};
use serde_json::{Value, json};

use super::{conversation, frames, stream, system, words};
use crate::onyx;

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_agent_answers_responses_and_goes_on_from_one() {
    let model = ScriptedModel::with_answers([Answer::text("Hello."), Answer::text("Again.")]).await;
    let onyx = onyx(&model).await;
    let body = json!({"model": "onyx:main", "input": "hi", "instructions": "Be kind."});
    let first = onyx.post("/v1/responses", &body).await.expect(200).json();
    assert_eq!(first["status"], "completed");
    assert_eq!(first["output"][0]["content"][0]["text"], "Hello.");
    assert_eq!(first["usage"]["total_tokens"], 15);
    assert!(system(&model.last_request()).contains("Be kind."));

    let body = json!({"model": "onyx:main", "stream": true, "previous_response_id": first["id"],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "and?"}]}]});
    let events = stream(&onyx, "/v1/responses", &body).await;
    assert_eq!(
        kinds(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let numbers: Vec<u64> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..9).collect::<Vec<_>>());
    assert_eq!(events[8]["response"]["output"][0]["content"][0]["text"], "Again.");
    let told = conversation(&model.last_request());
    let told: Vec<&str> = told.iter().map(|(_, content)| words(content)).collect();
    assert_eq!(told, ["hi", "Hello.", "and?"]);

    let unknown = json!({"input": "hi", "previous_response_id": "resp_nothing"});
    let refused = onyx.post("/v1/responses", &unknown).await.expect(404).json();
    assert_eq!(refused["error"]["param"], "previous_response_id");
}

#[tokio::test]
async fn a_function_call_of_responses_comes_back_with_its_output() {
    let model = ScriptedModel::with_answers([
        Answer::tool_calls([ScriptedCall::new("c1", "weather", &json!({"town": "Rome"}))]),
        Answer::text("Sunny."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let tools = json!([{"type": "function", "name": "weather", "parameters": {"type": "object"}}]);
    let body = json!({"input": "weather?", "tools": tools});
    let first = onyx.post("/v1/responses", &body).await.expect(200).json();
    let call = &first["output"][0];
    assert_eq!(
        (&call["type"], &call["call_id"], &call["arguments"]),
        (&json!("function_call"), &json!("c1"), &json!("{\"town\":\"Rome\"}"))
    );
    let body = json!({"input": [
        {"role": "user", "content": "weather?"},
        call,
        {"type": "function_call_output", "call_id": "c1", "output": "25"},
    ], "tools": tools});
    let second = onyx.post("/v1/responses", &body).await.expect(200).json();
    assert_eq!(second["output"][0]["content"][0]["text"], "Sunny.");
}

#[tokio::test]
async fn an_agent_answers_messages_with_the_key_in_their_header() {
    let model = ScriptedModel::with_answers([
        Answer::script(
            Script::new([
                Step::Text("Looking.".to_owned()),
                Step::ToolCalls(vec![ScriptedCall::new("c1", "weather", &json!({"town": "Rome"}))]),
            ])
            .ended(onyx_test_support::Finish::ToolCalls),
        ),
        Answer::text("Sunny."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let http = crate::access::reqwest_client();
    let post = |body: Value| {
        http.post(onyx.url("/v1/messages")).header("x-api-key", DEFAULT_TOKEN).json(&body).send()
    };
    let tools = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    let body = json!({"model": "onyx:main", "max_tokens": 100, "stream": true, "tools": tools,
        "system": [{"type": "text", "text": "Be kind."}],
        "messages": [{"role": "user", "content": "weather?"}]});
    let reply = post(body).await.unwrap();
    assert_eq!(reply.status(), 200);
    let events = frames(&reply.text().await.unwrap());
    assert_eq!(
        kinds(&events),
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert_eq!(events[5]["delta"]["partial_json"], "{\"town\":\"Rome\"}");
    assert_eq!(events[7]["delta"]["stop_reason"], "tool_use");
    assert!(system(&model.last_request()).contains("Be kind."));

    let body = json!({"model": "onyx:main", "max_tokens": 100, "tools": tools, "messages": [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"town": "Rome"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "25"}]},
        ]},
    ]});
    let reply = post(body).await.unwrap();
    assert_eq!(reply.status(), 200);
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["content"], json!([{"type": "text", "text": "Sunny."}]));
    assert_eq!(reply["stop_reason"], "end_turn");

    let wrong = post(json!({"messages": []})).await.unwrap();
    assert_eq!(wrong.status(), 400);
    let wrong: Value = wrong.json().await.unwrap();
    assert_eq!(
        (&wrong["type"], &wrong["error"]["type"]),
        (&json!("error"), &json!("invalid_request_error"))
    );
    let refused = http.post(onyx.url("/v1/messages")).header("x-api-key", "no").json(&json!({}));
    let refused: Value = refused.send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["error"]["type"], "authentication_error");
}
