use onyx_test_support::{Reply, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{onyx, said};

const CHAT: &str = "/api/agent/chat-stream";
const NOBODY: &str = "01936c00-0000-7000-8000-000000000001";

#[tokio::test]
async fn each_bad_body_gets_its_own_typed_error_and_the_server_stays_healthy() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let long = "x".repeat(1024 * 1024 + 1);
    let text = |value: Value| value.to_string().into_bytes();
    let cases: Vec<(&str, Vec<u8>, u16, &str, Value)> = vec![
        (CHAT, text(json!({"session_id": NOBODY, "message": "x"})), 404, "not_found", Value::Null),
        (
            CHAT,
            text(json!({"session_id": "../../etc", "message": "x"})),
            400,
            "invalid_request",
            json!("session_id"),
        ),
        (
            CHAT,
            text(json!({"session_id": 5, "message": "x"})),
            400,
            "invalid_request",
            json!("session_id"),
        ),
        (CHAT, text(json!({"agent": "nobody", "message": "x"})), 404, "not_found", Value::Null),
        (
            CHAT,
            text(json!({"agent": "../main", "message": "x"})),
            400,
            "invalid_request",
            json!("agent"),
        ),
        (CHAT, text(json!({"message": ""})), 400, "invalid_request", json!("message")),
        (CHAT, text(json!({"message": " \n"})), 400, "invalid_request", json!("message")),
        (CHAT, text(json!({"message": null})), 400, "invalid_request", json!("message")),
        (CHAT, text(json!({"message": ["x"]})), 400, "invalid_request", json!("message")),
        (CHAT, text(json!({})), 400, "invalid_request", json!("message")),
        (CHAT, text(json!([])), 400, "invalid_request", Value::Null),
        (
            CHAT,
            text(json!({"message": "x", "dry_run": "yes"})),
            400,
            "invalid_request",
            json!("dry_run"),
        ),
        (
            CHAT,
            text(json!({"message": "x", "confirm": "maybe"})),
            400,
            "invalid_request",
            json!("confirm"),
        ),
        (
            CHAT,
            text(json!({"message": "x", "confirm": ["../a"]})),
            400,
            "invalid_request",
            json!("confirm"),
        ),
        (CHAT, text(json!({"message": "x", "confirm": [NOBODY]})), 404, "not_found", Value::Null),
        (CHAT, text(json!({"action_id": "none"})), 404, "not_found", Value::Null),
        (CHAT, text(json!({"message": long})), 422, "limit_prompt", Value::Null),
        (CHAT, b"".to_vec(), 400, "invalid_request", Value::Null),
        (CHAT, b"{\"message\": ".to_vec(), 400, "invalid_request", Value::Null),
        (CHAT, b"{\"message\": \"\xc3\x28\"}".to_vec(), 400, "invalid_request", Value::Null),
        (CHAT, b"\x00\x01\x02".to_vec(), 400, "invalid_request", Value::Null),
        (CHAT, vec![b'['; 1024 * 1024], 400, "invalid_request", Value::Null),
        ("/api/agent/chat", text(json!({"message": ""})), 400, "invalid_request", json!("message")),
        ("/api/agent/stop", text(json!({})), 400, "invalid_request", json!("session_id")),
        (
            "/api/agent/stop",
            text(json!({"run_id": "../x"})),
            400,
            "invalid_request",
            json!("run_id"),
        ),
        (
            "/api/agent/session/clear",
            text(json!({"session_id": NOBODY})),
            404,
            "not_found",
            Value::Null,
        ),
        (
            "/api/agent/session/clear",
            text(json!({"session_id": "../x"})),
            400,
            "invalid_request",
            json!("session_id"),
        ),
        ("/api/agent/nothing", text(json!({})), 404, "not_found", Value::Null),
        ("/health", text(json!({})), 405, "invalid_request", Value::Null),
    ];
    for (path, body, status, code, field) in cases {
        let shown = String::from_utf8_lossy(&body).chars().take(60).collect::<String>();
        let reply = Reply::of(onyx.request(Method::POST, path).body(body)).await;
        let problem = reply.json();
        assert_eq!((reply.status, &problem["code"]), (status, &json!(code)), "{shown}: {problem}");
        assert_eq!(problem.get("field").unwrap_or(&Value::Null), &field, "{shown}: {problem}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
        for member in ["title", "detail", "hint"] {
            assert!(!problem[member].as_str().unwrap().is_empty(), "{member} of {problem}");
        }
        assert!(onyx.healthy().await, "after {shown}");
    }
    assert_eq!(model.request_count(), 0, "nothing of it reached the model");
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hello"})).await), "ok");
}

#[tokio::test]
async fn bad_queries_are_refused_too() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    for (path, status, code) in [
        ("/api/agent/session/history".to_owned(), 400, "invalid_request"),
        ("/api/agent/session/history?session_id=../../x".to_owned(), 400, "invalid_request"),
        (format!("/api/agent/session/history?session_id={NOBODY}"), 404, "not_found"),
        (format!("/api/agent/session/history?session_id={NOBODY}&limit=0"), 400, "invalid_request"),
        ("/v1/sessions?limit=1000000".to_owned(), 400, "invalid_request"),
        ("/v1/sessions?status=lost".to_owned(), 400, "invalid_request"),
        ("/v1/sessions/..%2f..%2fetc".to_owned(), 400, "invalid_request"),
        (format!("/v1/sessions/{NOBODY}/export?format=exe"), 400, "invalid_request"),
        (format!("/v1/sessions/{NOBODY}/turns"), 404, "not_found"),
    ] {
        let reply = onyx.get(&path).await;
        let problem = reply.json();
        assert_eq!((reply.status, &problem["code"]), (status, &json!(code)), "{path}: {problem}");
    }
    let stopped = onyx.post("/api/agent/stop", &json!({"session_id": NOBODY})).await;
    assert_eq!((stopped.status, stopped.json()), (200, json!({"stopped": false})));
}

#[tokio::test]
async fn a_body_of_fifty_megabytes_gets_a_clean_answer() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let body = json!({"message": "x".repeat(50 * 1024 * 1024)}).to_string();
    let declared = Reply::of(onyx.request(Method::POST, CHAT).body(body.clone())).await;
    let chunked = reqwest::Body::wrap_stream(futures::stream::iter(
        body.into_bytes()
            .chunks(64 * 1024)
            .map(|part| Ok::<_, std::io::Error>(part.to_vec()))
            .collect::<Vec<_>>(),
    ));
    let streamed = Reply::of(onyx.request(Method::POST, CHAT).body(chunked)).await;
    for reply in [declared, streamed] {
        assert_eq!((reply.status, &reply.json()["code"]), (413, &json!("too_large")));
    }
    assert!(onyx.healthy().await);
    assert_eq!(model.request_count(), 0);
}
