use onyx_test_support::{ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::json;

use crate::{SOON, builder, stranger};

const SITE: &str = "https://www.example.org";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_named_site_talks_to_an_agent_and_another_site_does_not() {
    let model = ScriptedModel::start().await;
    model.set_default("We open at nine.");
    let account = json!({"origins": [SITE], "open": true});
    let config = json!({"connectors": {"widget": {"accounts": {"shop": account}}}});
    let user = ("people/owner/USER.md", "My bank is CANARYBANK.");
    let onyx = builder(&model).merge(config).file(user.0, user.1).start().await;
    // The browser belongs to a visitor without a token.
    let browser = stranger();
    let at = |method: Method, path: &str| browser.request(method, onyx.client().url(path));
    let ask = |method: Method, origin: &str| {
        let request = at(method, "/widget/shop/messages").header("origin", origin);
        request.header("x-onyx-visitor", SECRET)
    };
    let script = at(Method::GET, "/widget/shop/widget.js");
    let script = script.send().await.unwrap();
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
    assert!(script.text().await.unwrap().contains("x-onyx-visitor"));

    let preflight = ask(Method::OPTIONS, SITE)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-onyx-visitor,content-type");
    let preflight = preflight.send().await.unwrap();
    assert_eq!(preflight.status(), 204);
    assert_eq!(preflight.headers()["access-control-allow-origin"], SITE);
    assert!(!preflight.headers().contains_key("access-control-allow-credentials"));

    let message = json!({"id": "1", "text": "When do you open?"});
    let stranger = ask(Method::POST, "https://evil.example").json(&message).send().await.unwrap();
    assert_eq!(stranger.status(), 403);
    assert!(!stranger.headers().contains_key("access-control-allow-origin"));
    // A widget's site may use only the widget's routes.
    let elsewhere = at(Method::GET, "/health").header("origin", SITE);
    assert_eq!(elsewhere.send().await.unwrap().status(), 403);

    let written = ask(Method::POST, SITE).json(&message).send().await.unwrap();
    assert_eq!(written.status(), 204, "{}", written.text().await.unwrap());
    let answer = wait_for("the answer", SOON, async || {
        let read = ask(Method::GET, SITE).send().await.unwrap();
        assert!(!read.headers().contains_key("set-cookie"));
        let read: serde_json::Value = read.json().await.unwrap();
        read["messages"].as_array().unwrap().first().cloned()
    })
    .await;
    assert_eq!(answer["text"], "We open at nine.");
    let request = model.last_request().body.to_string();
    assert!(request.contains("When do you open?") && !request.contains("CANARYBANK"), "{request}");
}
