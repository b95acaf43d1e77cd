use onyx_test_support::{Answer, ErrorKind, Script, ScriptedError, ScriptedModel, Step};
use serde_json::{Value, json};

use super::{CHAT, ask, content, conversation, finish, frames, stream, system, words};
use crate::{builder, onyx};

#[tokio::test]
async fn an_agent_answers_whole_and_names_its_session() {
    let model = ScriptedModel::with_answers([Answer::text("Hello.")]).await;
    let onyx = onyx(&model).await;
    let reply = onyx.post(CHAT, &ask("onyx:main", "hi")).await.expect(200);
    let body = reply.json();
    let session = body["x-onyx-session-id"].as_str().unwrap();
    assert_eq!(reply.headers["x-onyx-session-id"], session);
    assert_eq!(
        body,
        json!({
            "id": body["id"],
            "object": "chat.completion",
            "created": body["created"],
            "model": "onyx:main",
            "x-onyx-session-id": session,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "Hello.", "refusal": null},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        })
    );
}

#[tokio::test]
async fn a_stream_has_the_session_first_and_a_finish_usage_and_end_mark_last() {
    let model =
        ScriptedModel::with_answers([Answer::script(Script::text_pieces(["Hel", "lo."]))]).await;
    let onyx = onyx(&model).await;
    let mut body = ask("main", "hi");
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let chunks = stream(&onyx, CHAT, &body).await;
    assert_eq!(chunks[0]["object"], "chat.completion.chunk");
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert!(chunks[0]["x-onyx-session-id"].is_string());
    assert!(chunks[1].get("x-onyx-session-id").is_none());
    assert_eq!(content(&chunks), "Hello.");
    let [.., last, usage, end] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(15)));
    assert_eq!(end, "[DONE]");
}

#[tokio::test]
async fn without_a_session_the_client_is_the_memory_and_nothing_is_listed() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let body = json!({"messages": [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "user", "content": "I am Ana."},
        {"role": "assistant", "content": "Ahoy, Ana."},
        {"role": "user", "content": "Who am I?"},
    ]});
    let _ = onyx.post(CHAT, &body).await.expect(200);
    let asked = model.last_request();
    let told: Vec<(String, String)> = conversation(&asked)
        .iter()
        .map(|(role, content)| (role.clone(), words(content).to_owned()))
        .collect();
    let pair = |role: &str, words: &str| (role.to_owned(), words.to_owned());
    assert_eq!(
        told,
        [pair("user", "I am Ana."), pair("assistant", "Ahoy, Ana."), pair("user", "Who am I?")]
    );
    let prompt = system(&asked);
    let own = prompt.find("House rules").unwrap();
    assert!(own < prompt.find("Speak like a pirate.").unwrap(), "{prompt}");
    let listed = onyx.get("/v1/sessions").await.expect(200).json();
    assert_eq!(listed["sessions"], json!([]));
    let passing = onyx.get("/v1/sessions?origin=api").await.expect(200).json();
    assert_eq!(passing["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn with_a_session_only_what_follows_the_last_answer_is_new() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let first = onyx.chat_stream(&json!({"message": "kept"})).await;
    let session = first[0]["session_id"].as_str().unwrap();
    let body = json!({"model": "onyx:main", "messages": [
        {"role": "user", "content": "forged"},
        {"role": "assistant", "content": "forged too"},
        {"role": "user", "content": "new"},
    ]});
    let request = onyx.request(reqwest::Method::POST, CHAT).json(&body);
    let reply = request.header("x-onyx-session-id", session).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.headers()["x-onyx-session-id"], session);
    let told = conversation(&model.last_request());
    let told: Vec<&str> = told.iter().map(|(_, content)| words(content)).collect();
    assert_eq!(told, ["kept", "ok", "new"]);

    let mut by_body = ask("onyx:main", "newer");
    by_body["x-onyx-session-id"] = session.into();
    let _ = onyx.post(CHAT, &by_body).await.expect(200);
    assert_eq!(onyx.history(session).await.len(), 6);

    by_body["x-onyx-session-id"] = "01936c00-0000-7000-8000-000000000001".into();
    let missing = onyx.post(CHAT, &by_body).await.expect(404).json();
    assert_eq!(missing["error"]["code"], "not_found");
}

#[tokio::test]
async fn the_model_field_chooses_agent_provider_or_nobody() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/m"},
            {"id": "other", "model": "mine/of-other"},
        ]}}))
        .start()
        .await;
    for (named, expected) in
        [("onyx:other", "of-other"), ("other", "of-other"), ("", "m"), ("mine/x", "x")]
    {
        let _ = onyx.post(CHAT, &ask(named, "hi")).await.expect(200);
        assert_eq!(model.last_request().body["model"], expected, "{named}");
    }
    let picked = onyx.request(reqwest::Method::POST, CHAT).json(&ask("gpt-4o", "hi"));
    let picked = picked.header("x-onyx-agent-id", "other").send().await.unwrap();
    assert_eq!(picked.status(), 200);
    assert_eq!(model.last_request().body["model"], "of-other");
    for named in ["gpt-4o", "onyx:nobody", "nowhere/m"] {
        let refused = onyx.post(CHAT, &ask(named, "hi")).await.expect(404).json();
        assert_eq!(refused["error"]["code"], "model_not_found", "{named}");
        assert_eq!(refused["error"]["type"], "invalid_request_error");
    }
    let ids: Vec<Value> = onyx.get("/v1/models").await.expect(200).json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].clone())
        .collect();
    assert_eq!(ids, ["onyx:main", "onyx:other", "mine/some-model", "mine/scripted"]);
    let one = onyx.get("/v1/models/mine/scripted").await.expect(200).json();
    assert_eq!(one["owned_by"], "mine");
    let _ = onyx.get("/v1/models/mine/none").await.expect(404);
}

#[tokio::test]
async fn errors_have_openais_form_before_and_within_a_stream() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let stranger = crate::access::reqwest_client();
    let refused = stranger.post(onyx.url(CHAT)).json(&ask("main", "hi")).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["error"]["type"], "authentication_error");
    for (body, param) in [
        (json!({"messages": "hi"}), "messages"),
        (json!({"messages": [{"role": "king", "content": "hi"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "assistant", "content": "hi"}]}), "messages"),
        (json!({"messages": [], "n": 2}), "n"),
        (json!({"messages": [], "model": 7}), "model"),
    ] {
        let refused = onyx.post(CHAT, &body).await.expect(400).json();
        assert_eq!(refused["error"]["param"], param, "{refused}");
    }

    let broken = Script::new([
        Step::Text("half".to_owned()),
        Step::Error(ScriptedError::new(ErrorKind::Overloaded, "too much")),
    ]);
    model.push(broken);
    let mut body = ask("main", "hi");
    body["stream"] = true.into();
    let chunks = stream(&onyx, CHAT, &body).await;
    assert_eq!(content(&chunks), "half");
    assert_eq!(finish(&chunks), None);
    let [.., error, end] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!(error["error"]["code"], "provider_overloaded");
    assert_eq!(end, "[DONE]");

    model.push(Answer::error(ErrorKind::Auth));
    let failed = onyx.post(CHAT, &ask("main", "hi")).await.expect(502).json();
    assert_eq!(failed["error"]["code"], "provider_auth");
}

#[tokio::test]
async fn an_answer_that_meets_its_length_ends_with_length() {
    let cut =
        Script::new([Step::Text("so lo".to_owned())]).ended(onyx_test_support::Finish::Length);
    let model = ScriptedModel::with_answers([cut]).await;
    let onyx = onyx(&model).await;
    let mut body = ask("main", "hi");
    body["max_tokens"] = 3.into();
    let reply = onyx.post(CHAT, &body).await.expect(200).json();
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    assert_eq!(reply["choices"][0]["message"]["content"], "so lo");
    assert_eq!(model.last_request().body["max_tokens"], 3);
}

#[tokio::test]
async fn images_formats_and_the_wish_for_no_memory_reach_the_prompt() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .file("people/owner/memory/main/MEMORY.md", "The person likes teal.")
        .start()
        .await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let picture = "data:image/png;base64,iVBORw0KGgo=";
    let body = json!({
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": picture}},
        ]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}},
        "temperature": 0.25,
    });
    let _ = onyx.post(CHAT, &body).await.expect(200);
    let asked = model.last_request();
    let text = asked.body.to_string();
    assert!(text.contains(picture) && text.contains("likes teal"), "{text}");
    assert_eq!(asked.body["response_format"]["json_schema"]["schema"], schema);
    assert_eq!(asked.body["temperature"], 0.25);

    let request = onyx.request(reqwest::Method::POST, CHAT).json(&ask("main", "hi"));
    let reply = request.header("x-onyx-include-memory", "false").send().await.unwrap();
    assert_eq!(reply.status(), 200);
    assert!(!model.last_request().body.to_string().contains("likes teal"));

    let remote = json!({"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}},
    ]}]});
    // The address is passed to the model unchanged; Onyx does not fetch it.
    let _ = onyx.post(CHAT, &remote).await.expect(200);
    assert!(model.last_request().body.to_string().contains("http://127.0.0.1/x.png"));
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_run_with_it() {
    let hanging = Script::new([Step::Text("begun".to_owned()), Step::Hang]);
    let model = ScriptedModel::with_answers([hanging]).await;
    let onyx = onyx(&model).await;
    let mut body = ask("main", "hi");
    body["stream"] = true.into();
    let mut response = onyx.request(reqwest::Method::POST, CHAT).json(&body).send().await.unwrap();
    let session = response.headers()["x-onyx-session-id"].to_str().unwrap().to_owned();
    let mut seen = String::new();
    while !seen.contains("begun") {
        seen += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    assert!(frames(&seen).len() >= 2);
    let busy = onyx.request(reqwest::Method::POST, CHAT).json(&ask("main", "now"));
    let busy = busy.header("x-onyx-session-id", &session).send().await.unwrap();
    assert_eq!(busy.status(), 409);
    assert_eq!(busy.headers()["x-should-retry"], "false");
    drop(response);
    onyx_test_support::wait_for("the session to be free", crate::SOON, async || {
        let request = onyx.request(reqwest::Method::POST, CHAT).json(&ask("main", "again"));
        let again = request.header("x-onyx-session-id", &session).send().await.unwrap();
        (again.status() == 200).then_some(())
    })
    .await;
}
