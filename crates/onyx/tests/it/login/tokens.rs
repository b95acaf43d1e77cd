//! Tokens over time: renewed once for all users, exchanged, refused for good, and stored with the
//! secrets.

use std::time::Duration;

use futures::future::join_all;
use onyx_test_support::{Answer, AuthorizationServer, ErrorKind, Grant, ScriptedModel, canary};
use serde_json::{Value, json};

use super::{error_of, sign_in, state, with_login};
use crate::{run, said};

/// Makes the model server accept only this token.
pub(crate) fn take_only(model: &ScriptedModel, token: &str) {
    let wanted = format!("Bearer {token}");
    model.respond_with(move |request| match request.header("authorization") {
        Some(given) if given == wanted => Answer::text("ok"),
        Some(_) | None => Answer::error(ErrorKind::Auth),
    });
}

#[tokio::test]
async fn ten_chats_with_an_old_token_wait_for_one_renewal() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings()).start().await;
    // The token expires at once.
    server.set_grant(Grant { seconds: Some(0), refreshes: true });
    sign_in(&onyx, &server).await;
    server.set_grant(Grant { seconds: Some(3600), refreshes: true });
    server.delay_refreshes(Duration::from_millis(500));
    let chat = async || said(&onyx.chat_stream(&json!({"message": "hi"})).await);
    let all = join_all((0..10).map(|_| chat())).await;
    assert_eq!(all, ["ok"; 10]);
    assert_eq!(server.refreshes(), 1);
    let bearer = format!("Bearer {}", server.access_token());
    let asked = model.requests();
    assert_eq!(asked.len(), 10);
    assert!(asked.iter().all(|it| it.header("authorization") == Some(bearer.as_str())));
}

#[tokio::test]
async fn ten_chats_with_a_refused_token_wait_for_one_renewal_and_ask_again() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    // The token has no known end, so only a refusal shows that it has expired.
    server.set_grant(Grant { seconds: None, refreshes: true });
    let mut onyx = with_login(&model, &server.settings()).start().await;
    sign_in(&onyx, &server).await;
    take_only(&model, &server.access_token().replace("access-1", "access-2"));
    server.delay_refreshes(Duration::from_millis(500));
    let chat = async || said(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert_eq!(join_all((0..10).map(|_| chat())).await, ["ok"; 10]);
    assert_eq!(server.refreshes(), 1);
    // A restart finds the renewed tokens.
    onyx.terminate().await;
    onyx.restart().await;
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    assert_eq!(server.refreshes(), 1);
}

#[tokio::test]
async fn a_token_is_exchanged_for_a_short_lived_one_and_that_is_what_the_model_sees() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    // The tokens have no end and cannot be renewed, like GitHub's.
    server.set_grant(Grant { seconds: None, refreshes: false });
    let mut onyx = with_login(&model, &server.settings_with_exchange()).start().await;
    sign_in(&onyx, &server).await;
    assert_eq!(server.exchanges(), 1);
    let chat = async |onyx: &onyx_test_support::OnyxProcess| {
        said(&onyx.chat_stream(&json!({"message": "hi"})).await)
    };
    assert_eq!(chat(&onyx).await, "ok");
    let bearer = |token: String| format!("Bearer {token}");
    let seen = || model.last_request().header("authorization").map(str::to_owned);
    assert_eq!(seen(), Some(bearer(server.short_token())));
    // After a refusal the token is exchanged again; the sign-in is kept.
    take_only(&model, &server.short_token().replace("short-1", "short-2"));
    assert_eq!(chat(&onyx).await, "ok");
    assert_eq!((server.exchanges(), server.refreshes()), (2, 0));
    // The short-lived token is not stored, so a restart gets a new one.
    take_only(&model, &server.short_token().replace("short-2", "short-3"));
    onyx.restart().await;
    assert_eq!(chat(&onyx).await, "ok");
    // If the account may not use the provider any more, the provider's message is shown and the
    // sign-in is kept.
    take_only(&model, "none");
    server.set_exchange_status(403);
    let error = error_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert_eq!(error["code"], "provider_auth", "{error}");
    assert_eq!(state(&onyx).await["state"], "signed_in");
    server.set_exchange_status(401);
    let error = error_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert!(error["hint"].as_str().unwrap().starts_with("Sign in again"), "{error}");
    assert_eq!(state(&onyx).await["state"], "sign_in_again");
}

#[tokio::test]
async fn a_sign_in_that_cannot_be_used_fails_at_once() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings_with_exchange()).start().await;
    server.set_exchange_status(403);
    server.decide(onyx_test_support::Decision::Approve);
    super::begin(&onyx).await;
    let ended = super::ended(&onyx).await;
    assert_eq!(ended["state"], "failed", "{ended}");
    assert!(ended["error"].as_str().unwrap().contains("no token to ask with"), "{ended}");
}

#[tokio::test]
async fn a_sign_in_that_is_refused_for_good_must_be_made_again_and_everything_says_so() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    server.set_grant(Grant { seconds: Some(0), refreshes: true });
    let mut onyx = with_login(&model, &server.settings()).start().await;
    sign_in(&onyx, &server).await;
    // A temporary failure ends no sign-in.
    server.fail_next(3);
    let error = error_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert_eq!(error["code"], "provider_unavailable", "{error}");
    assert_eq!(state(&onyx).await["state"], "signed_in");

    server.refuse_refreshes("bad_refresh_token");
    let events = onyx.chat_stream(&json!({"message": "hi"})).await;
    let error = error_of(&events);
    assert_eq!(
        (&error["code"], &error["hint"]),
        (
            &json!("provider_auth"),
            &json!("Sign in again: Settings → Providers, or `onyx providers login mine`")
        )
    );
    assert_eq!(model.request_count(), 0);
    let everywhere = async |onyx: &onyx_test_support::OnyxProcess| {
        let state = state(onyx).await;
        assert_eq!(
            (&state["state"], &state["account"]),
            (&json!("sign_in_again"), &json!("octocat"))
        );
        let ready = onyx.get("/ready").await.json().to_string();
        assert!(ready.contains("sign in again"), "{ready}");
        let list = onyx.get("/api/admin/providers").await.json();
        let mine = &list["providers"][0];
        assert_eq!(
            (&mine["login"]["state"], &mine["state"]),
            (&json!("sign_in_again"), &json!("disabled"))
        );
        for words in [["providers", "list"], ["providers", "status"]] {
            let shown = run(&onyx.home(), &words).await;
            assert!(shown.out.contains("sign in again"), "{shown:?}");
        }
        let ask = json!({"model": "mine/m", "messages": [{"role": "user", "content": "hi"}]});
        let refused = onyx.post("/v1/chat/completions", &ask).await.expect(502).text();
        assert!(refused.contains("sign in again"), "{refused}");
    };
    everywhere(&onyx).await;
    let asked = server.refreshes();
    onyx.terminate().await;
    onyx.restart().await;
    everywhere(&onyx).await;
    // A token that was refused for good is not used again.
    assert_eq!(server.refreshes(), asked);
    server.set_grant(Grant { seconds: Some(3600), refreshes: true });
    sign_in(&onyx, &server).await;
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
}

#[tokio::test]
async fn a_token_is_not_sent_to_an_address_that_was_set_after_the_sign_in() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let other = ScriptedModel::start().await;
    let onyx = with_login(&model, &server.settings()).start().await;
    sign_in(&onyx, &server).await;
    let path = "/api/admin/providers/mine";
    let settings = json!({"settings": {"kind": "openai", "baseUrl": other.base_url(),
        "login": server.settings()}});
    let put = onyx.request(reqwest::Method::PUT, path).json(&settings);
    let _ = onyx_test_support::Reply::of(put).await.expect(200);
    assert_eq!(state(&onyx).await["state"], "sign_in_again");
    let error = error_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert_eq!(error["code"], "provider_auth", "{error}");
    let _ = onyx.post(&format!("{path}/test"), &json!({})).await.expect(200);
    assert_eq!(other.connections(), 0);
}

/// At its end the harness searches everything that the server wrote and answered for the canary.
#[tokio::test]
async fn a_token_is_nowhere_but_in_the_sealed_store() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let mut onyx = with_login(&model, &server.settings_with_exchange()).start().await;
    sign_in(&onyx, &server).await;
    // The model server echoes the key in an error.
    let echo = format!(r#"{{"error":{{"message":"bad key {}"}}}}"#, server.short_token());
    model.push(Answer::status(400, echo));
    let error = error_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert!(error["message"].as_str().unwrap().contains("bad key ***"), "{error}");
    // A person who pastes the token does not reveal it to the model, the transcript or the index.
    let words = format!("is it {} or {}?", server.access_token(), server.short_token());
    onyx.chat_stream(&json!({"message": words})).await;
    let told = model.last_request().body.to_string();
    assert!(told.contains("is it [secret] or [secret]?"), "{told}");
    assert!(!told.contains(canary::CANARY));
    for path in ["/ready", "/api/admin/providers", "/api/admin/logs", "/api/admin/secrets"] {
        let shown = onyx.get(path).await.expect(200);
        assert!(!shown.text().contains("access-1"), "{path}");
    }
    // Neither a list nor a reference shows the token.
    assert_eq!(onyx.get("/api/admin/secrets").await.json(), json!({"secrets": []}));
    let rotated = run(&onyx.home(), &["secrets", "rotate", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&rotated.out).unwrap(), json!({"rotated": 1}));
    onyx.terminate().await;
    onyx.restart().await;
    assert_eq!(state(&onyx).await["state"], "signed_in");
    let text = onyx.log();
    canary::assert_absent("the log", text.as_bytes());
}
