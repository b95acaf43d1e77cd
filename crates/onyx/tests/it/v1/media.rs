//! Requests other than chats: speech, images, moderation, old completions.

use onyx_test_support::{Answer, DEFAULT_KEY, DEFAULT_TOKEN, OnyxProcess, ScriptedModel, Wire};
use serde_json::{Value, json};

use super::{CHAT, ask, frames};
use crate::builder;

async fn server(model: &ScriptedModel) -> OnyxProcess {
    let gemini = model.base_url_of(Wire::Gemini);
    builder(model)
        .merge(json!({"providers": {
            "gem": {"kind": "gemini", "baseUrl": gemini, "apiKey": "k"},
            "mine": {"models": [{"id": "painter", "price": {"input": 1000.0, "output": 1000.0}}]},
        }}))
        .start()
        .await
}

fn json_answer(body: &Value) -> Answer {
    Answer::status(200, body.to_string()).header("content-type", "application/json")
}

#[tokio::test]
async fn speech_and_pictures_pass_to_a_provider_that_has_them() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let made = json!({"created": 1, "data": [{"b64_json": "UElD"}],
        "usage": {"input_tokens": 10, "output_tokens": 20}});
    model.push(json_answer(&made));
    let body = json!({"model": "mine/painter", "prompt": "a cat", "n": 1});
    let reply = onyx.post("/v1/images/generations", &body).await.expect(200).json();
    assert_eq!(reply, made);
    let asked = model.last_request();
    assert!(asked.path.ends_with("/images/generations"), "{}", asked.path);
    assert_eq!(asked.body, json!({"model": "painter", "prompt": "a cat", "n": 1}));
    assert_eq!(asked.header("authorization"), Some(&*format!("Bearer {DEFAULT_KEY}")));

    model.push(Answer::status(200, "RIFF").header("content-type", "audio/wav"));
    let body = json!({"model": "mine/voice", "input": "hello", "voice": "v"});
    let reply = onyx.post("/v1/audio/speech", &body).await.expect(200);
    assert_eq!(
        (reply.text().as_str(), &reply.headers["content-type"]),
        ("RIFF", &"audio/wav".parse().unwrap())
    );

    model.push(json_answer(&json!({"text": "hello"})));
    let form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n\
        --b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nmine/whisper-1\r\n--b--\r\n";
    let send = crate::access::reqwest_client()
        .post(onyx.url("/v1/audio/transcriptions"))
        .bearer_auth(DEFAULT_TOKEN)
        .header("content-type", "multipart/form-data; boundary=b")
        .body(form);
    let reply: Value = send.send().await.unwrap().json().await.unwrap();
    assert_eq!(reply, json!({"text": "hello"}));
    let sent = String::from_utf8_lossy(&model.last_request().raw).into_owned();
    assert!(sent.contains("\r\n\r\nwhisper-1\r\n--b--") && sent.contains("RIFF"), "{sent}");

    model.push(json_answer(&json!({"id": "modr-1", "results": []})));
    let body = json!({"model": "mine/moderator", "input": "x"});
    let reply = onyx.post("/v1/moderations", &body).await.expect(200).json();
    assert_eq!(reply["id"], "modr-1");
}

#[tokio::test]
async fn where_no_provider_has_it_the_client_is_told_so() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let body = json!({"model": "gem/m", "prompt": "a cat"});
    let reply = onyx.post("/v1/images/generations", &body).await.expect(404).json();
    let said = reply["error"]["message"].as_str().unwrap();
    assert!(said.contains("`gem` has no `/v1/images/generations`"), "{said}");
    let _ = onyx.post("/v1/moderations", &json!({"input": "x"})).await.expect(404);
    model.push(Answer::status(404, "{\"error\": {\"message\": \"unknown url\"}}"));
    let body = json!({"model": "mine/painter", "prompt": "a cat"});
    let _ = onyx.post("/v1/images/generations", &body).await.expect(404);
    assert_eq!(model.request_count(), 1);
}

#[tokio::test]
async fn what_a_picture_took_counts_in_the_persons_day() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({
            "providers": {"mine": {"models": [{"id": "painter", "price": {"input": 100_000.0, "output": 100_000.0}}]}},
            "limits": {"max_cost_per_day": 1.0},
        }))
        .start()
        .await;
    let made = json!({"data": [], "usage": {"input_tokens": 1000, "output_tokens": 1000}});
    model.set_default(json_answer(&made));
    let body = json!({"model": "mine/painter", "prompt": "a cat"});
    let _ = onyx.post("/v1/images/generations", &body).await.expect(200);
    onyx_test_support::wait_for("the day's budget to be met", crate::SOON, async || {
        let reply = onyx.post("/v1/images/generations", &body).await;
        (reply.json()["error"]["code"] == "limit_budget").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_prompt_of_before_there_were_chats_is_completed() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    for target in ["onyx:main", "mine/m", "gem/m"] {
        let body =
            json!({"model": target, "prompt": "Once upon", "max_tokens": 20, "stop": ["END"]});
        let reply = onyx.post("/v1/completions", &body).await.expect(200).json();
        assert_eq!(
            (&reply["object"], &reply["choices"][0]["text"]),
            (&json!("text_completion"), &json!("ok"))
        );
        assert!(model.last_request().body.to_string().contains("Once upon"));
        let mut body = body;
        body["stream"] = true.into();
        let reply = onyx.post("/v1/completions", &body).await.expect(200);
        let chunks = frames(&reply.text());
        let said: String =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
        assert_eq!((said.as_str(), chunks.last().unwrap()), ("ok", &json!("[DONE]")));
    }
    let echo = json!({"model": "mine/m", "prompt": "x", "echo": true});
    let refused = onyx.post("/v1/completions", &echo).await.expect(400).json();
    assert_eq!(refused["error"]["param"], "echo");
}

#[tokio::test]
async fn tokens_are_embedded_by_who_knows_them() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let made = json!({"object": "list", "data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 2, "total_tokens": 2}});
    model.push(json_answer(&made));
    let body = json!({"model": "mine/e", "input": [[15339, 1917]]});
    let reply = onyx.post("/v1/embeddings", &body).await.expect(200).json();
    assert_eq!(reply, made);
    assert_eq!(model.last_request().body["input"], json!([[15339, 1917]]));
    let body = json!({"model": "gem/e", "input": [15339, 1917]});
    let refused = onyx.post("/v1/embeddings", &body).await.expect(400).json();
    assert_eq!(refused["error"]["param"], "input");
    let _ = onyx.post(CHAT, &ask("mine/m", "hi")).await.expect(200);
}
