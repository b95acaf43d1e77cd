//! Pages of other sites that the owner allows.

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, ScriptedModel};
use reqwest::Method;
use serde_json::json;

use super::{CHAT, ask};
use crate::builder;

const SITE: &str = "https://app.example.org";

async fn server(model: &ScriptedModel) -> OnyxProcess {
    builder(model).merge(json!({"gateway": {"cors": {"origins": [SITE]}}})).start().await
}

#[tokio::test]
async fn a_page_of_a_site_that_is_let_in_asks_first_and_then_comes_with_its_token() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let http = crate::access::reqwest_client();
    let asked = http
        .request(Method::OPTIONS, onyx.url(CHAT))
        .header("origin", SITE)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type,x-stainless-os")
        .send()
        .await
        .unwrap();
    assert_eq!(asked.status(), 204);
    assert_eq!(asked.headers()["access-control-allow-origin"], SITE);
    assert!(asked.headers()["access-control-allow-methods"].to_str().unwrap().contains("POST"));
    let allowed = asked.headers()["access-control-allow-headers"].to_str().unwrap();
    assert!(allowed.contains("authorization") && allowed.contains("x-stainless-os"), "{allowed}");
    assert!(!asked.headers().contains_key("access-control-allow-credentials"));

    let send = http.post(onyx.url(CHAT)).header("origin", SITE).bearer_auth(DEFAULT_TOKEN);
    let reply = send.json(&ask("mine/m", "hi")).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.headers()["access-control-allow-origin"], SITE);
    let exposed = reply.headers()["access-control-expose-headers"].to_str().unwrap();
    assert!(exposed.contains("x-onyx-session-id") && exposed.contains("retry-after"), "{exposed}");
    let vary: Vec<_> = reply.headers().get_all("vary").iter().collect();
    assert!(vary.iter().any(|value| value.as_bytes() == b"Origin"), "{vary:?}");
}

#[tokio::test]
async fn other_sites_stay_out_and_are_told_of_the_key() {
    let model = ScriptedModel::start().await;
    let onyx = server(&model).await;
    let http = crate::access::reqwest_client();
    let send = http.post(onyx.url(CHAT)).header("origin", "https://evil.example");
    let reply = send.bearer_auth(DEFAULT_TOKEN).json(&ask("mine/m", "hi")).send().await.unwrap();
    assert_eq!(reply.status(), 403);
    assert!(!reply.headers().contains_key("access-control-allow-origin"));
    assert!(reply.text().await.unwrap().contains("gateway.cors.origins"));
    assert_eq!(model.request_count(), 0);
}
