use std::time::Instant;

use onyx_test_support::{DEFAULT_PASSWORD as PASSWORD, OnyxProcess, Reply, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use super::{most_guesses, set_password, stranger_at};
use crate::builder;

async fn with_gateway(gateway: Value) -> (ScriptedModel, OnyxProcess) {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"gateway": gateway})).start().await;
    set_password(&onyx, "owner").await;
    (model, onyx)
}

/// The attributes of the cookie after a sign-in with these headers.
async fn cookie(onyx: &OnyxProcess, from: u8, heads: &[(&str, &str)]) -> String {
    let body = json!({"person": "owner", "password": PASSWORD});
    let mut request = stranger_at(from).post(onyx.url("/api/auth/login")).json(&body);
    for (name, value) in heads {
        request = request.header(*name, *value);
    }
    let reply = Reply::of(request).await.expect(200);
    reply.headers["set-cookie"].to_str().unwrap().split_once(';').unwrap().1.to_owned()
}

#[tokio::test]
async fn behind_tls_the_cookie_is_for_tls_alone() {
    let front = json!({"publicUrl": "https://onyx.example", "trustedProxies": ["127.0.0.7"]});
    let (_model, onyx) = with_gateway(front).await;
    let plain = " Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000";
    let secure = format!("{plain}; Secure");
    let by_https = ("x-forwarded-proto", "https");
    assert_eq!(cookie(&onyx, 1, &[]).await, plain);
    assert_eq!(cookie(&onyx, 1, &[("host", "onyx.example")]).await, secure);
    assert_eq!(cookie(&onyx, 7, &[by_https]).await, secure);
    assert_eq!(cookie(&onyx, 7, &[("x-forwarded-proto", "http")]).await, plain);
    // Anybody can send this header; only the configured proxy is trusted.
    assert_eq!(cookie(&onyx, 1, &[by_https]).await, plain);
    let host = ("host", "onyx.example");
    let with_origin = [host, ("origin", "https://onyx.example")];
    assert_eq!(cookie(&onyx, 1, &with_origin).await, secure);
}

#[tokio::test]
async fn a_trusted_proxy_says_whose_guesses_they_are_and_nobody_else_does() {
    let (_model, onyx) = with_gateway(json!({"trustedProxies": ["127.0.0.7"]})).await;
    let guess = async |from: u8, client: String, password: &str| {
        let body = json!({"person": "owner", "password": password});
        let request = stranger_at(from).post(onyx.url("/api/auth/login")).json(&body);
        Reply::of(request.header("x-forwarded-for", client)).await.status
    };
    let (begun, mut taken) = (Instant::now(), 0);
    while guess(7, format!("203.0.113.{taken}"), "wrong").await == 401 {
        taken += 1;
        assert!(taken <= most_guesses(begun), "one network has one count");
    }
    assert!(taken >= 10, "{taken}");
    assert_eq!(guess(7, "198.51.100.1".to_owned(), PASSWORD).await, 200);
    // A sender that is no trusted proxy cannot invent clients: all its requests count as one.
    let (begun, mut looked_at) = (Instant::now(), 0);
    for number in 0..20 {
        looked_at += usize::from(guess(1, format!("192.0.{number}.1"), "wrong").await == 401);
    }
    assert!((10..=most_guesses(begun)).contains(&looked_at), "{looked_at}");
}

#[tokio::test]
async fn a_public_address_that_is_none_is_refused_by_its_name() {
    let (_model, onyx) = with_gateway(json!({})).await;
    let text = r#"{"gateway": {"publicUrl": "onyx.example/path"}}"#;
    let request = onyx.request(Method::PUT, "/api/admin/config").json(&json!({"text": text}));
    let refused = Reply::of(request).await;
    assert_eq!((refused.status, &refused.json()["field"]), (400, &json!("gateway.publicUrl")));
}

#[tokio::test]
async fn browsers_take_every_answer_for_what_it_is_said_to_be() {
    let (_model, onyx) = with_gateway(json!({})).await;
    let page = "<!doctype html><script>alert(1)</script>";
    let written = onyx.request(Method::PUT, "/v1/memory/files/vault/page.md").body(page);
    let _ = Reply::of(written).await.expect(204);
    let file = "/v1/memory/files/vault/page.md";
    for path in [file, "/v1/memory/files", "/v1/sessions", "/health", "/x"] {
        let reply = onyx.get(path).await;
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{path}");
    }
}

#[tokio::test]
async fn a_sent_file_has_a_name_that_files_can_have() {
    let (_model, onyx) = with_gateway(json!({})).await;
    let source = |name: &str| {
        json!({"scope": {"type": "agent", "id": "main"}, "kind": "file", "name": name,
            "data": "aGk="})
    };
    let space = onyx.post("/api/spaces", &json!({"name": "Test"})).await.expect(201).json();
    let capture = format!("/api/spaces/{}/capture", space["id"].as_str().unwrap());
    for name in ["..", "../etc/passwd", "a/../../b.txt", "a\\..\\b.txt", "/etc/passwd", ".", ""] {
        let refused = onyx.post("/api/sources", &source(name)).await;
        assert_eq!((refused.status, &refused.json()["field"]), (400, &json!("name")), "{name:?}");
        let refused = onyx.post(&capture, &json!({"name": name, "data": "aGk="})).await;
        assert_eq!((refused.status, &refused.json()["field"]), (400, &json!("name")), "{name:?}");
    }
    for name in ["a\0b.txt", "a\u{1b}[2Jb.txt"] {
        let refused = onyx.post("/api/sources", &source(name)).await;
        assert_eq!((refused.status, &refused.json()["field"]), (400, &json!("name")), "{name:?}");
        let refused = onyx.post(&capture, &json!({"name": name, "data": "aGk="})).await;
        assert_eq!((refused.status, &refused.json()["field"]), (400, &json!("name")), "{name:?}");
    }
    for name in ["report..final.txt", "folder/notes.md", "Brief an Jürgen.txt"] {
        let _ = onyx.post("/api/sources", &source(name)).await.expect(201);
    }
}
