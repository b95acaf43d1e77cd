//! Every case of the design's test plan, with a scripted model.

use onyx_test_support::{Answer, Script, ScriptedCall, ScriptedModel, Step, wait_until};
use serde_json::{Value, json};

use super::{ask, call, first_output, house, kinds, persona, steps, turns};
use crate::{SOON, builder};

/// The system prompt of a request to the model.
fn system(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let system = messages.iter().filter(|message| message["role"] == "system");
    system.map(|message| message["content"].to_string()).collect()
}

fn offered(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_simple_message_is_answered_with_the_persona_s_name_and_every_turn_is_kept() {
    let (model, onyx) = house().await;
    model.push(call("get_persona", &json!({})));
    model.push(Answer::text("It is called Optimist."));
    let events = ask(&onyx, "What is this persona's name?").await;
    assert_eq!(steps(&events), ["tool_call", "tool_result", "text_complete", "done"]);
    assert_eq!(
        (&events[0]["toolName"], &events[0]["toolUseId"], &events[0]["input"]),
        (&json!("get_persona"), &json!("call-get_persona"), &json!({}))
    );
    assert_eq!(
        first_output(&events),
        json!({"name": "Optimist", "systemPrompt": "You see the good in everything.",
            "testInputIds": ["math"]})
    );
    let turns = turns(&onyx).await;
    assert_eq!(kinds(&turns), ["user", "tool_call", "tool_result", "assistant_text"]);
    assert_eq!(turns[0]["content"], "What is this persona's name?");
    assert_eq!(turns[1]["toolUseId"], turns[2]["toolUseId"]);
    assert_eq!(turns[1]["id"], events[0]["id"]);
    assert_eq!(turns[3]["content"], "It is called Optimist.");
    assert!(turns.iter().all(|turn| turn["createdAt"].as_str().unwrap().ends_with('Z')));
    let first = &model.requests()[0].body;
    let prompt = system(first);
    for words in ["ID: optimist", "Name: Optimist", "Several personas", "# Guidelines"] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert_eq!(
        offered(first),
        [
            "get_persona",
            "update_persona_name",
            "update_system_prompt",
            "list_test_inputs",
            "get_test_input",
            "create_test_input",
            "update_test_input",
            "delete_test_input",
            "run_test_input",
        ]
    );
    // The prompt of the persona is what is edited; it is not the editor's own.
    assert!(!prompt.contains("You see the good in everything."), "{prompt}");
}

#[tokio::test]
async fn test_inputs_are_listed_and_read_by_tools() {
    let (model, onyx) = house().await;
    model.push(call("list_test_inputs", &json!({})));
    model.push(Answer::text("One: What is 2+2?"));
    let events = ask(&onyx, "What test inputs do I have?").await;
    let math = json!({"id": "math", "content": "What is 2+2?"});
    assert_eq!(first_output(&events), json!({"testInputs": [math]}));
    model.push(call("get_test_input", &json!({"id": "math"})));
    let events = ask(&onyx, "Show me the one about math").await;
    assert_eq!(first_output(&events), math);
}

#[tokio::test]
async fn the_name_changes_in_the_config_and_the_next_prompt_knows_it() {
    let (model, onyx) = house().await;
    model.push(call("update_persona_name", &json!({"name": "Helpful Assistant"})));
    model.push(Answer::text("It is called Helpful Assistant now."));
    let events = ask(&onyx, "Change the name to 'Helpful Assistant'").await;
    assert_eq!(events[0]["input"], json!({"name": "Helpful Assistant"}));
    assert_eq!(events[1].get("isError"), None, "{events:?}");
    assert_eq!(persona(&onyx).await["name"], "Helpful Assistant");
    let config = std::fs::read_to_string(onyx.config_path()).unwrap();
    assert!(config.contains("Helpful Assistant"), "{config}");
    ask(&onyx, "And now?").await;
    assert!(system(&model.last_request().body).contains("Name: Helpful Assistant"));
}

#[tokio::test]
async fn the_system_prompt_is_read_and_replaced_and_the_version_before_is_kept() {
    let (model, onyx) = house().await;
    let new = "You see the good in everything. Be concise.";
    model.push(call("get_persona", &json!({})));
    model.push(call("update_system_prompt", &json!({"systemPrompt": new})));
    model.push(Answer::text("Done."));
    let body = json!({"personaId": "optimist", "message": "Add 'Be concise' to the system prompt"});
    let reply = onyx.post("/api/persona-agent/chat", &body).await;
    let events = super::events_of(&reply);
    let called: Vec<&Value> = events.iter().map(|event| &event["toolName"]).collect();
    assert!(called.contains(&&json!("update_system_prompt")), "{events:?}");
    assert_eq!(persona(&onyx).await["systemPrompt"], new);
    let soul = onyx.home().join("agents/optimist/SOUL.md");
    assert_eq!(std::fs::read_to_string(soul).unwrap(), new);
    let versions = onyx.home().join("agents/optimist/history/files/SOUL.md/.versions");
    let kept: Vec<String> = std::fs::read_dir(versions)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(kept.iter().any(|text| text == "You see the good in everything."), "{kept:?}");
    assert!(kept.iter().any(|text| text.contains("persona-editor")), "{kept:?}");
    let run = reply.headers["x-onyx-run-id"].to_str().unwrap();
    let undone = onyx.post(&format!("/api/runs/{run}/undo"), &json!({})).await.expect(200).json();
    assert_eq!(undone["restored"], json!(["agents/optimist/SOUL.md"]));
    assert_eq!(persona(&onyx).await["systemPrompt"], "You see the good in everything.");
}

#[tokio::test]
async fn test_inputs_are_made_changed_and_removed_by_tools() {
    let (model, onyx) = house().await;
    model.push(call("create_test_input", &json!({"content": "How does rain feel?"})));
    let events = ask(&onyx, "Add a test input: 'How does rain feel?'").await;
    let made = json!({"id": "how-does-rain-feel", "content": "How does rain feel?"});
    assert_eq!(first_output(&events), made);
    assert_eq!(persona(&onyx).await["testInputIds"], json!(["how-does-rain-feel", "math"]));
    let again = json!({"id": "how-does-rain-feel", "content": "And snow?"});
    model.push(call("update_test_input", &again));
    ask(&onyx, "Ask about snow instead").await;
    let path = onyx.home().join("agents/optimist/tests/how-does-rain-feel.md");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "And snow?");
    model.push(call("list_test_inputs", &json!({})));
    model.push(call("delete_test_input", &json!({"id": "math"})));
    model.push(Answer::text("Removed."));
    let events = ask(&onyx, "Delete the test input about math").await;
    assert_eq!(
        steps(&events),
        ["tool_call", "tool_result", "tool_call", "tool_result", "text_complete", "done"]
    );
    assert_eq!(persona(&onyx).await["testInputIds"], json!(["how-does-rain-feel"]));
    assert!(!onyx.home().join("agents/optimist/tests/math.md").exists());
}

#[tokio::test]
async fn a_task_of_several_steps_goes_on_until_the_model_ends_its_turn() {
    let (model, onyx) = house().await;
    let create = |text: &str| json!({"content": text});
    model.push(call("list_test_inputs", &json!({})));
    model.push(Answer::tool_calls([
        ScriptedCall::new("a", "create_test_input", &create("Write a loop")),
        ScriptedCall::new("b", "create_test_input", &create("Write a test")),
    ]));
    model.push(call("get_persona", &json!({})));
    model.push(Answer::text("Two more."));
    let events = ask(&onyx, "Show me all test inputs and add two about coding").await;
    let expected = [
        "tool_call",
        "tool_result",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "tool_call",
        "tool_result",
        "text_complete",
        "done",
    ];
    assert_eq!(steps(&events), expected);
    let turns = turns(&onyx).await;
    let results = turns.iter().filter(|turn| turn["type"] == "tool_result").count();
    assert_eq!((results, model.request_count()), (4, 4));
    let ids = json!(["math", "write-a-loop", "write-a-test"]);
    assert_eq!(persona(&onyx).await["testInputIds"], ids);
}

#[tokio::test]
async fn text_comes_in_pieces_before_it_is_whole_and_calls_come_between_texts() {
    let (model, onyx) = house().await;
    model.push(
        Script::new([Step::Text("I ".into()), Step::Text("look.".into())])
            .then(Step::ToolCalls(vec![ScriptedCall::new("a", "get_persona", &json!({}))]))
            .ended(onyx_test_support::Finish::ToolCalls),
    );
    model.push(Script::text_pieces(["All ", "is ", "well."]));
    let events = ask(&onyx, "How is it?").await;
    let mut shape = kinds(&events);
    shape.dedup();
    assert_eq!(
        shape,
        [
            "text_delta",
            "text_complete",
            "tool_call",
            "tool_result",
            "text_delta",
            "text_complete",
            "done"
        ]
    );
    let said = |kind: &str| -> String {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        of_kind.map(|event| event["content"].as_str().unwrap()).collect()
    };
    assert_eq!(said("text_delta"), "I look.All is well.");
    assert_eq!(said("text_complete"), "I look.All is well.");
}

#[tokio::test]
async fn the_conversation_goes_on_and_after_clearing_it_nothing_of_it_is_left() {
    let (model, onyx) = house().await;
    ask(&onyx, "My favourite word is plum").await;
    ask(&onyx, "What did I say?").await;
    let told = model.last_request().body["messages"].to_string();
    assert!(told.contains("plum") && told.contains("What did I say?"), "{told}");
    assert_eq!(kinds(&turns(&onyx).await), ["user", "assistant_text", "user", "assistant_text"]);
    let before = persona(&onyx).await["agentChatSessionId"].clone();
    let body = json!({"personaId": "optimist"});
    let cleared = onyx.post("/api/persona-agent/clear", &body).await.expect(200).json();
    assert_ne!(cleared["sessionId"], before);
    assert_eq!(persona(&onyx).await["agentChatSessionId"], cleared["sessionId"]);
    assert_eq!(turns(&onyx).await, Vec::<Value>::new());
    ask(&onyx, "Hello").await;
    assert!(!model.last_request().body["messages"].to_string().contains("plum"));
    // The other persona has its own conversation.
    let other = onyx.get("/api/persona-agent/history?personaId=main").await.expect(200).json();
    assert_eq!(other, json!({"turns": []}));
}

#[tokio::test]
async fn a_tool_that_fails_is_told_as_an_error_and_the_agent_goes_on() {
    let (model, onyx) = house().await;
    model.push(call("delete_test_input", &json!({"id": "nowhere"})));
    model.push(call("update_system_prompt", &json!({"prompt": "x"})));
    model.push(Answer::text("I could not."));
    let events = ask(&onyx, "Delete the one about nowhere").await;
    let failed: Vec<&Value> =
        events.iter().filter(|event| event["isError"] == json!(true)).collect();
    assert_eq!(failed.len(), 2, "{events:?}");
    assert!(failed[0]["output"].as_str().unwrap().contains("list_test_inputs"), "{failed:?}");
    assert!(failed[1]["output"].as_str().unwrap().contains("systemPrompt"), "{failed:?}");
    assert_eq!(kinds(&events[events.len() - 2..]), ["text_complete", "done"]);
    let turns = turns(&onyx).await;
    assert_eq!(turns[2]["isError"], json!(true));
    assert_eq!(turns.last().unwrap()["content"], "I could not.");
}

#[tokio::test]
async fn a_provider_that_fails_is_told_in_the_stream() {
    let (model, onyx) = house().await;
    model.push(Answer::error(onyx_test_support::ErrorKind::Auth));
    let events = ask(&onyx, "Hello").await;
    assert_eq!(kinds(&events), ["error", "done"]);
    assert!(!events[0]["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_model_without_tools_is_not_asked_and_that_is_said() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({"providers": {"mine": {"models": [{"id": "bare", "tools": false}]}},
            "agents": {"defaults": {"model": "mine/bare"}, "list": [{"id": "optimist"}]}}))
        .start()
        .await;
    let events = ask(&onyx, "Hello").await;
    assert_eq!(kinds(&events), ["error", "done"]);
    let message = events[0]["message"].as_str().unwrap();
    assert!(message.contains("mine/bare has no tools"), "{message}");
    assert_eq!(model.request_count(), 0);
}

#[tokio::test]
async fn a_busy_conversation_refuses_and_a_client_that_leaves_ends_it() {
    let (model, onyx) = house().await;
    model.push(Script::new([Step::Text("half".into()), Step::Hang]));
    let body = json!({"personaId": "optimist", "message": "talk"});
    let request = onyx.request(reqwest::Method::POST, "/api/persona-agent/chat").json(&body);
    let mut stream = request.send().await.unwrap();
    let run = stream.headers()["x-onyx-run-id"].to_str().unwrap().to_owned();
    assert!(stream.headers().contains_key("x-onyx-session-id"));
    assert!(stream.chunk().await.unwrap().is_some());
    let busy = onyx.post("/api/persona-agent/chat", &body).await.expect(409).json();
    assert_eq!(busy["code"], "session_busy");
    let clear = json!({"personaId": "optimist"});
    assert_eq!(onyx.post("/api/persona-agent/clear", &clear).await.status, 409);
    drop(stream);
    wait_until("the model's answer to be dropped", SOON, || model.abandoned() == 1).await;
    let told = onyx.get(&format!("/api/runs/{run}/events")).await.expect(200).text();
    assert!(told.contains("\"status\":\"cancelled\""), "{told}");
    let turns = turns(&onyx).await;
    assert_eq!(turns.last().unwrap()["content"], "half");
    assert_eq!(kinds(&ask(&onyx, "again").await), ["text_delta", "text_complete", "done"]);
}

#[tokio::test]
async fn a_test_input_is_tried_by_the_editor_and_by_the_person() {
    let (model, onyx) = house().await;
    model.push(call("run_test_input", &json!({"id": "math"})));
    model.push(Answer::text("A wonderful four!"));
    model.push(Answer::text("It is cheerful."));
    let events = ask(&onyx, "Try the math one").await;
    let tried = json!({"id": "math", "answer": "A wonderful four!"});
    assert_eq!(first_output(&events), tried);
    let persona_was_asked = &model.requests()[1].body;
    let prompt = system(persona_was_asked);
    assert!(prompt.contains("You see the good in everything."), "{prompt}");
    assert!(!offered(persona_was_asked).contains(&"get_persona"));

    model.push(Script::text_pieces(["Four", ", gladly."]));
    let reply = onyx.post(&format!("{}/test-inputs/math/run", super::PERSONA), &json!({})).await;
    let events = super::events_of(&reply);
    assert_eq!(kinds(&events), ["text_delta", "text_delta", "text_complete", "done"]);
    assert_eq!(events[2]["content"], "Four, gladly.");
    // Test runs appear in no list of conversations.
    let sessions = onyx.get("/v1/sessions").await.expect(200).json();
    let listed = sessions["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["origin"], "agent_editor");
}
