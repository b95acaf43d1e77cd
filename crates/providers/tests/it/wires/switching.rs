//! A conversation that begins with a model on one wire and continues with a model on another.

use super::model;
use crate::support::{hello, text_of};
use futures::StreamExt;
use onyx_test_support::{Answer, Finish, Script, ScriptedCall, ScriptedModel, Step, Wire};
use onyx_types::{Block, Cancel, Message, ModelEvent, ModelRequest, Role};
use serde_json::{Value, json};

/// An answer with reasoning, text and two calls at once.
fn first_answer() -> Script {
    Script::new([Step::Reasoning("secret thought".into()), Step::Text("let me".into())])
        .then(Step::ToolCalls(vec![
            ScriptedCall::new("call_a", "read_file", &json!({"path": "a.md"})).split(3),
            ScriptedCall::new("call_b", "now", &json!({})),
        ]))
        .ended(Finish::ToolCalls)
}

/// The history after the answer, as the agent would write it.
fn answered(model: &str, events: &[ModelEvent]) -> Message {
    let mut reasoning = Vec::new();
    let mut calls = Vec::new();
    for event in events {
        match event {
            ModelEvent::Reasoning(data) => {
                let model = model.to_owned();
                reasoning.push(Block::Reasoning { model, data: data.clone() });
            }
            ModelEvent::ToolCallEnd { index: _, id, name, arguments, provider_data } => {
                calls.push(Block::ToolUse {
                    id: id.clone(),
                    name: name.clone(),
                    input: arguments.clone(),
                    provider_data: provider_data.clone(),
                });
            }
            _ => {}
        }
    }
    let text = Block::Text { text: text_of(events) };
    let content = reasoning.into_iter().chain([text]).chain(calls).collect();
    Message { role: Role::Assistant, content }
}

fn results(answer: &Message) -> Message {
    let result = |block: &Block| match block {
        Block::ToolUse { id, name, .. } => Some(Block::ToolResult {
            id: id.clone(),
            content: format!("result of {name}"),
            is_error: false,
        }),
        _ => None,
    };
    Message { role: Role::User, content: answer.content.iter().filter_map(result).collect() }
}

/// The content of a request, read without the code that wrote it.
fn gist(wire: Wire, body: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parsed = |value: &Value| serde_json::from_str::<Value>(&word(value)).unwrap();
    let mut said = Vec::new();
    match wire {
        Wire::OpenAiChat | Wire::Ollama => {
            for message in list(&body["messages"]) {
                let content = word(&message["content"]);
                said.push(match message["role"].as_str().unwrap() {
                    "tool" => format!("result: {content}"),
                    role => format!("{role}: {content}"),
                });
                for call in list(&message["tool_calls"]) {
                    let function = &call["function"];
                    let arguments = match wire {
                        Wire::Ollama => function["arguments"].clone(),
                        _ => parsed(&function["arguments"]),
                    };
                    said.push(format!("call: {} {arguments}", word(&function["name"])));
                }
            }
        }
        Wire::OpenAiResponses => {
            for item in list(&body["input"]) {
                match item["type"].as_str().unwrap() {
                    "message" => said.push(format!(
                        "{}: {}",
                        word(&item["role"]),
                        word(&item["content"][0]["text"])
                    )),
                    "function_call" => said.push(format!(
                        "call: {} {}",
                        word(&item["name"]),
                        parsed(&item["arguments"])
                    )),
                    "function_call_output" => {
                        said.push(format!("result: {}", word(&item["output"])))
                    }
                    _ => {}
                }
            }
        }
        Wire::Anthropic => {
            for message in list(&body["messages"]) {
                for block in list(&message["content"]) {
                    match block["type"].as_str().unwrap() {
                        "text" => {
                            said.push(format!(
                                "{}: {}",
                                word(&message["role"]),
                                word(&block["text"])
                            ));
                        }
                        "tool_use" => {
                            said.push(format!("call: {} {}", word(&block["name"]), block["input"]));
                        }
                        "tool_result" => said.push(format!("result: {}", word(&block["content"]))),
                        _ => {}
                    }
                }
            }
        }
        Wire::Gemini => {
            for content in list(&body["contents"]) {
                let role = if content["role"] == "model" { "assistant" } else { "user" };
                for part in list(&content["parts"]) {
                    let (call, result) = (&part["functionCall"], &part["functionResponse"]);
                    if call.is_object() {
                        said.push(format!("call: {} {}", word(&call["name"]), call["args"]));
                    } else if result.is_object() {
                        said.push(format!("result: {}", word(&result["response"]["output"])));
                    } else if part["text"] != "" {
                        said.push(format!("{role}: {}", word(&part["text"])));
                    }
                }
            }
        }
    }
    said
}

/// The content that only the model that made it may see again, as the scripted server makes it.
fn own_mark(wire: Wire) -> Option<&'static str> {
    match wire {
        Wire::OpenAiResponses => Some("c2NyaXB0ZWQgcmVhc29uaW5n"),
        Wire::Anthropic => Some("c2NyaXB0ZWQgc2lnbmF0dXJl"),
        Wire::Gemini => Some("c2NyaXB0ZWQgdGhvdWdodA=="),
        Wire::Ollama => Some("secret thought"),
        // Plain reasoning text goes back only to servers that ask for it.
        Wire::OpenAiChat => None,
    }
}

#[tokio::test]
async fn any_wire_goes_on_where_any_other_stopped() {
    let expected = [
        "user: hello",
        "assistant: let me",
        "call: read_file {\"path\":\"a.md\"}",
        "call: now {}",
        "result: result of read_file",
        "result: result of now",
    ];
    for first in Wire::ALL {
        for second in Wire::ALL {
            let server = ScriptedModel::start().await;
            server.push(first_answer());
            server.push(Answer::text("done"));
            let asked = model(first, &server, json!({}));
            let events: Vec<ModelEvent> = asked.stream(hello(), Cancel::new()).collect().await;
            let answer = answered(asked.id(), &events);
            let results = results(&answer);
            let messages = [hello().messages.to_vec(), vec![answer, results]].concat();
            let request = ModelRequest { messages: messages.into(), ..ModelRequest::default() };
            // The model keeps its name, so that on the same wire it is the same model.
            let next = model(second, &server, json!({}));
            let last: Vec<ModelEvent> = next.stream(request, Cancel::new()).collect().await;
            assert_eq!(text_of(&last), "done", "{first:?} to {second:?}");
            let sent = server.last_request();
            assert_eq!(Wire::of_path(sent.route()), Some(second));
            assert_eq!(gist(second, &sent.body), expected, "{first:?} to {second:?}");
        }
    }
}

#[tokio::test]
async fn reasoning_goes_back_to_the_model_that_made_it_and_to_no_other() {
    for first in Wire::ALL {
        for second in Wire::ALL {
            let server = ScriptedModel::start().await;
            server.push(first_answer());
            let events: Vec<ModelEvent> =
                model(first, &server, json!({})).stream(hello(), Cancel::new()).collect().await;
            // The ids are those that the registry gives: one provider a wire.
            let answer = answered(&format!("{first:?}/m"), &renamed(&events, first));
            let messages =
                [hello().messages.to_vec(), vec![answer.clone(), results(&answer)]].concat();
            let request = ModelRequest { messages: messages.into(), ..ModelRequest::default() };
            let called = super::called_model(&format!("{second:?}/m"));
            let body = super::own(second).encode(&request, &called).unwrap();
            let body = String::from_utf8(body).unwrap();
            let mark = own_mark(first);
            if first == second {
                assert!(mark.is_none_or(|mark| body.contains(mark)), "{first:?}: {body}");
            } else {
                let leaked =
                    body.contains("secret thought") || mark.is_some_and(|mark| body.contains(mark));
                assert!(!leaked, "{first:?} to {second:?}: {body}");
            }
        }
    }
}

/// The events with the model's name in the data that goes with its calls.
fn renamed(events: &[ModelEvent], wire: Wire) -> Vec<ModelEvent> {
    let mut events = events.to_vec();
    for event in &mut events {
        if let ModelEvent::ToolCallEnd { provider_data: Some(data), .. } = event {
            data["model"] = json!(format!("{wire:?}/m"));
        }
    }
    events
}
