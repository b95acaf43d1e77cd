//! `/api/storage/personas`: an agent as a persona.

use reqwest::Method;
use serde_json::{Value, json};

use super::{PERSONA, house, persona, send};
use crate::{onyx, said};

#[tokio::test]
async fn a_persona_is_an_agent_with_its_soul_and_its_tests() {
    let (_model, onyx) = house().await;
    assert_eq!(
        persona(&onyx).await,
        json!({"id": "optimist", "name": "Optimist",
            "systemPrompt": "You see the good in everything.", "testInputIds": ["math"]})
    );
    let put = send(&onyx, Method::PUT, PERSONA, &json!({"systemPrompt": "Smile."})).await;
    let put = put.expect(200).json();
    assert_eq!((&put["name"], &put["systemPrompt"]), (&json!("Optimist"), &json!("Smile.")));
    let soul = std::fs::read_to_string(onyx.home().join("agents/optimist/SOUL.md")).unwrap();
    assert_eq!(soul, "Smile.");
    let versions = onyx.home().join("agents/optimist/history/files/SOUL.md/.versions");
    assert!(versions.join("manifest.jsonl").exists());
    let put = send(&onyx, Method::PUT, PERSONA, &json!({"name": "Sunny"})).await.expect(200);
    assert_eq!(put.json()["systemPrompt"], "Smile.");
    let agent = onyx.get("/v1/agents/optimist").await.expect(200).json();
    assert_eq!(agent["name"], "Sunny");
}

#[tokio::test]
async fn a_put_makes_a_persona_that_answers_and_a_delete_takes_it_away() {
    let model = onyx_test_support::ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let path = "/api/storage/personas/pirate";
    assert_eq!(onyx.get(path).await.status, 404);
    let body = json!({"name": "Pirate", "systemPrompt": "Talk like a pirate."});
    let made = send(&onyx, Method::PUT, path, &body).await.expect(200).json();
    assert_eq!(
        made,
        json!({"id": "pirate", "name": "Pirate", "systemPrompt": "Talk like a pirate.",
            "testInputIds": []})
    );
    model.push(onyx_test_support::Answer::text("Arr."));
    let events = onyx.chat_stream(&json!({"message": "hi", "agent": "pirate"})).await;
    assert_eq!(said(&events), "Arr.");
    assert!(model.last_request().body["messages"].to_string().contains("Talk like a pirate."));
    let _ = send(&onyx, Method::DELETE, path, &json!({})).await.expect(204);
    assert_eq!(onyx.get(path).await.status, 404);
    for (id, body) in [
        ("Not%20A%20Name", json!({"name": "x"})),
        ("persona-editor", json!({"name": "x"})),
        ("fine", json!({"name": " "})),
        ("fine", json!({"systemPrompt": 3})),
    ] {
        let path = format!("/api/storage/personas/{id}");
        let refused = send(&onyx, Method::PUT, &path, &body).await;
        assert_eq!(refused.status, 400, "{id} {body}: {}", refused.text());
        assert_eq!(refused.json()["code"], "invalid_request");
    }
    assert_eq!(onyx.get("/api/storage/personas/fine").await.status, 404);
    assert_eq!(onyx.get("/api/storage/personas/persona-editor").await.status, 404);
}

#[tokio::test]
async fn test_inputs_are_kept_as_files_and_their_names_lead_nowhere_else() {
    let (_model, onyx) = house().await;
    let tests = format!("{PERSONA}/test-inputs");
    let made = onyx.post(&tests, &json!({"content": "Why is it raining?"})).await.expect(201);
    let rain = json!({"id": "why-is-it-raining", "content": "Why is it raining?"});
    assert_eq!(made.json(), rain);
    let twin = onyx.post(&tests, &json!({"content": "Why is it raining!"})).await.expect(201);
    assert_eq!(twin.json()["id"], "why-is-it-raining-2");
    let nameless = onyx.post(&tests, &json!({"content": "为什么下雨？"})).await.expect(201);
    assert_eq!(nameless.json()["id"], "test");
    let one = format!("{tests}/why-is-it-raining");
    let put = send(&onyx, Method::PUT, &one, &json!({"content": "Why?"})).await.expect(200);
    assert_eq!(put.json(), json!({"id": "why-is-it-raining", "content": "Why?"}));
    assert_eq!(onyx.get(&one).await.expect(200).json()["content"], "Why?");
    let own = send(&onyx, Method::PUT, &format!("{tests}/mine"), &json!({"content": "x"})).await;
    assert_eq!(own.expect(200).json()["id"], "mine");
    let _ = send(&onyx, Method::DELETE, &one, &json!({})).await.expect(204);
    assert_eq!(onyx.get(&one).await.status, 404);
    let list = onyx.get(&tests).await.expect(200).json();
    let ids: Vec<&Value> =
        list["testInputs"].as_array().unwrap().iter().map(|input| &input["id"]).collect();
    assert_eq!(ids, ["math", "mine", "test", "why-is-it-raining-2"]);
    assert_eq!(onyx.post(&tests, &json!({"content": "  "})).await.status, 400);
    for id in ["..%2F..%2FSOUL", "a%2Fb", ".hidden", "%00"] {
        let path = format!("{tests}/{id}");
        assert_eq!(onyx.get(&path).await.status, 404, "{id}");
        let put = send(&onyx, Method::PUT, &path, &json!({"content": "x"})).await;
        assert_eq!(put.status, 400, "{id}: {}", put.text());
        assert_eq!(send(&onyx, Method::DELETE, &path, &json!({})).await.status, 404, "{id}");
    }
    let soul = std::fs::read_to_string(onyx.home().join("agents/optimist/SOUL.md")).unwrap();
    assert_eq!(soul, "You see the good in everything.");
}

#[tokio::test]
async fn several_personas_answer_one_message_each_in_their_own_way() {
    let (model, onyx) = house().await;
    let _ =
        send(&onyx, Method::PUT, "/api/storage/personas/main", &json!({"systemPrompt": "Doubt."}))
            .await
            .expect(200);
    model.respond_with(|request| {
        let told = request.body["messages"].to_string();
        let is_optimist = told.contains("You see the good in everything.");
        onyx_test_support::Answer::text(if is_optimist { "Great!" } else { "Hm." })
    });
    let events = onyx.chat_stream(&json!({"message": "hello"})).await;
    let session = events[0]["session_id"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}");
    let both = json!({"agents": ["main", "optimist"], "mode": "parallel"});
    let _ = send(&onyx, Method::PATCH, &path, &both).await.expect(200);
    let events = onyx.chat_stream(&json!({"message": "What now?", "session_id": session})).await;
    assert_eq!(events[0]["agents"], json!(["main", "optimist"]));
    let by = |agent: &str| -> String {
        let texts = events.iter().filter(|e| e["type"] == "text" && e["agent"] == agent);
        texts.map(|event| event["delta"].as_str().unwrap().trim()).collect()
    };
    assert_eq!((by("main").as_str(), by("optimist").as_str()), ("Hm.", "Great!"));
}
