//! Sign-ins at providers with a code or a browser, and model servers of this machine.

mod browser;
mod flow;
mod found;
mod shown;
pub(crate) mod tokens;

use onyx_test_support::{
    AuthorizationServer, Decision, OnyxBuilder, OnyxProcess, Reply, ScriptedModel, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{SOON, builder};

pub(crate) const LOGIN: &str = "/api/admin/providers/mine/login";

/// The provider `mine` with a sign-in instead of its key.
pub(crate) fn with_login(model: &ScriptedModel, login: &Value) -> OnyxBuilder {
    let settings = json!({
        "gateway": {"port": 0,
            "auth": {"mode": "token", "token": onyx_test_support::DEFAULT_TOKEN}},
        "providers": {"mine": {"kind": "openai", "baseUrl": model.base_url(), "login": login,
            "models": [{"id": "m", "price": {"input": 0, "output": 0}}]}},
        "agents": {"defaults": {"titles": "words"},
            "list": [{"id": "main", "default": true, "model": "mine/m", "tier": "act"}]},
    });
    builder(model).config(settings).env("ONYX_LOG", "debug")
}

pub(crate) async fn state(onyx: &OnyxProcess) -> Value {
    onyx.get(LOGIN).await.expect(200).json()
}

pub(crate) async fn begin(onyx: &OnyxProcess) -> Value {
    onyx.post(LOGIN, &json!({})).await.expect(201).json()
}

pub(crate) async fn sign_out(onyx: &OnyxProcess) {
    let _ = Reply::of(onyx.request(Method::DELETE, LOGIN)).await.expect(204);
}

/// Waits until the state is not `waiting` any more.
pub(crate) async fn ended(onyx: &OnyxProcess) -> Value {
    wait_for("the sign-in to end", SOON * 2, async || {
        let state = state(onyx).await;
        (state["state"] != "waiting").then_some(state)
    })
    .await
}

pub(crate) async fn sign_in(onyx: &OnyxProcess, server: &AuthorizationServer) {
    server.decide(Decision::Approve);
    begin(onyx).await;
    assert_eq!(ended(onyx).await["state"], "signed_in");
}

pub(crate) fn error_of(events: &[Value]) -> Value {
    events.iter().find(|event| event["type"] == "error").unwrap_or(&Value::Null).clone()
}
