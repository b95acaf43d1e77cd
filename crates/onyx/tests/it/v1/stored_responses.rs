//! Responses that clients of OpenAI's format refer to by their ids.

use onyx_test_support::{Answer, OnyxProcess, ScriptedCall, ScriptedModel, Wire};
use serde_json::{Value, json};

use super::stream;
use crate::builder;

const RESPONSES: &str = "/v1/responses";

async fn server(model: &ScriptedModel) -> OnyxProcess {
    let claude = model.base_url_of(Wire::Anthropic);
    builder(model)
        .merge(json!({"providers": {"claude": {"kind": "anthropic", "baseUrl": claude, "apiKey": "k"}}}))
        .start()
        .await
}

#[tokio::test]
async fn an_answer_of_another_wire_is_gone_on_with_and_retrieved() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    model.push(Answer::tool_calls([ScriptedCall::new("c1", "weather", &json!({}))]));
    let tools = json!([{"type": "function", "name": "weather"}]);
    let body = json!({"model": "claude/m", "input": "weather?", "tools": tools, "stream": true});
    let events = stream(&onyx, RESPONSES, &body).await;
    let first = &events.last().unwrap()["response"];
    let id = first["id"].as_str().unwrap();

    let body = json!({"model": "mine/m", "tools": tools, "previous_response_id": id, "input": [
        {"type": "function_call_output", "call_id": "c1", "output": "25"}]});
    let second = onyx.post(RESPONSES, &body).await.expect(200).json();
    let asked = model.last_request().body.to_string();
    assert!(asked.contains("weather?") && asked.contains("\"tool_call_id\":\"c1\""), "{asked}");

    let kept = onyx.get(&format!("{RESPONSES}/{id}")).await.json();
    assert_eq!(&kept, first);
    let second = second["id"].as_str().unwrap();
    let items = onyx.get(&format!("{RESPONSES}/{second}/input_items")).await.json();
    assert_eq!(items["data"].as_array().unwrap().len(), 3, "{items}");
    let _ = onyx.delete(&format!("{RESPONSES}/{second}")).await.expect(200);
    let _ = onyx.get(&format!("{RESPONSES}/{second}")).await.expect(404);
}

#[tokio::test]
async fn what_is_not_to_be_stored_is_not_and_a_result_without_its_call_is_refused() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let body = json!({"model": "claude/m", "input": "hi", "store": false});
    let reply = onyx.post(RESPONSES, &body).await.expect(200).json();
    let id = reply["id"].as_str().unwrap();
    let _ = onyx.get(&format!("{RESPONSES}/{id}")).await.expect(404);
    let before = model.request_count();
    let body = json!({"model": "claude/m", "input": "and?", "previous_response_id": id});
    let refused = onyx.post(RESPONSES, &body).await.expect(404).json();
    assert_eq!(refused["error"]["param"], "previous_response_id");
    let orphan = json!({"model": "claude/m", "input": [
        {"type": "function_call_output", "call_id": "c9", "output": "25"}]});
    let refused = onyx.post(RESPONSES, &orphan).await.expect(400).json();
    assert_eq!(refused["error"]["param"], "input");
    assert_eq!(model.request_count(), before);
}

#[tokio::test]
async fn a_conversation_grows_with_its_answers() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let first = json!({"type": "message", "role": "user", "content": "my name is Ann"});
    let made = onyx.post("/v1/conversations", &json!({"items": [first]})).await.expect(200).json();
    let id = made["id"].as_str().unwrap();
    for (target, words) in [("mine/m", "first"), ("claude/m", "second"), ("onyx:main", "third")] {
        let body = json!({"model": target, "input": words, "conversation": {"id": id}});
        let _ = onyx.post(RESPONSES, &body).await.expect(200);
        assert!(model.last_request().body.to_string().contains("my name is Ann"), "{target}");
    }
    assert!(model.last_request().body.to_string().contains("second"));
    let items: Value = onyx.get(&format!("/v1/conversations/{id}/items")).await.json();
    assert_eq!(items["data"].as_array().unwrap().len(), 7, "{items}");
    let _ = onyx.delete(&format!("/v1/conversations/{id}")).await.expect(200);
    let body = json!({"model": "mine/m", "input": "hi", "conversation": id});
    let refused = onyx.post(RESPONSES, &body).await.expect(404).json();
    assert_eq!(refused["error"]["param"], "conversation");
}
