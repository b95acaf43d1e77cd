//! A sign-in with a code, and every way in which it can fail.

use std::time::Duration;

use onyx_test_support::{AuthorizationServer, Decision, ScriptedModel, wait_until};
use serde_json::{Value, json};

use super::{begin, ended, sign_in, sign_out, state, with_login};
use crate::{SOON, builder, onyx, said};

#[tokio::test]
async fn a_person_enters_the_code_and_the_token_is_the_providers_key() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let mut onyx = with_login(&model, &server.settings()).start().await;
    let none = json!({"state": "none", "account": null, "user_code": null,
        "verification_uri": null, "expires_at": null, "error": null, "until": null,
        "ways": ["code"], "quota": null});
    assert_eq!(state(&onyx).await, none);
    let begun = begin(&onyx).await;
    let address = server.url("/enter");
    let expires = begun["expires_at"].as_str().unwrap().to_owned();
    assert!(expires.parse::<onyx_types::Timestamp>().is_ok(), "{expires}");
    assert_eq!(
        begun,
        json!({"state": "waiting", "way": "code", "user_code": "ABCD-0001",
            "verification_uri": address, "verification_uri_complete": format!("{address}?code=ABCD-0001"),
            "expires_at": expires})
    );
    assert_eq!(
        state(&onyx).await,
        json!({"state": "waiting", "account": null, "user_code": "ABCD-0001",
            "verification_uri": address, "expires_at": expires, "error": null, "until": null,
            "ways": ["code"], "quota": null})
    );
    // A second request joins the sign-in of the first.
    assert_eq!(begin(&onyx).await, begun);
    assert_eq!(server.codes(), 1);
    wait_until("a poll that brings nothing", SOON, || !server.polls().is_empty()).await;
    assert_eq!(state(&onyx).await["state"], "waiting");
    server.decide(Decision::Approve);
    let signed_in = json!({"state": "signed_in", "account": "octocat", "user_code": null,
        "verification_uri": null, "expires_at": null, "error": null, "until": null,
        "ways": ["code"], "quota": null});
    assert_eq!(ended(&onyx).await, signed_in);
    let asked = server.requests();
    assert!(asked[0].contains("client_id=client-of-the-tests&scope=read%3Auser"), "{}", asked[0]);
    assert!(asked[0].to_lowercase().contains("accept: application/json"), "{}", asked[0]);

    let bearer = format!("Bearer {}", server.access_token());
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    assert_eq!(model.last_request().header("authorization"), Some(bearer.as_str()));
    let test = onyx.post("/api/admin/providers/mine/test", &json!({})).await.expect(200).json();
    assert_eq!(test["ok"], true, "{test}");

    // A restart keeps the sign-in and sends no request for it.
    let before = server.requests().len();
    onyx.terminate().await;
    onyx.restart().await;
    assert_eq!(state(&onyx).await, signed_in);
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    assert_eq!(model.last_request().header("authorization"), Some(bearer.as_str()));
    assert_eq!(server.requests().len(), before);

    sign_out(&onyx).await;
    assert_eq!(state(&onyx).await, none);
    let error = super::error_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    assert_eq!(error["code"], "provider_auth", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("onyx providers login mine"), "{error}");
    onyx.restart().await;
    assert_eq!(state(&onyx).await, none);
}

#[tokio::test]
async fn a_server_that_wants_it_slower_is_asked_five_seconds_later() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings()).start().await;
    server.slow_down(1);
    sign_in(&onyx, &server).await;
    let polls = server.polls();
    assert_eq!(polls.len(), 2);
    // The interval is one second, and the server added five.
    assert!(polls[1] - polls[0] >= Duration::from_secs(6), "{:?}", polls[1] - polls[0]);
}

#[tokio::test]
async fn a_sign_in_that_is_refused_or_not_made_in_time_says_so_and_can_be_made_again() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings()).start().await;
    let failed = async |words: &str| {
        begin(&onyx).await;
        let ended = ended(&onyx).await;
        assert_eq!(
            (&ended["state"], &ended["error"], &ended["user_code"]),
            (&json!("failed"), &json!(words), &Value::Null)
        );
    };
    server.decide(Decision::Refuse("access_denied"));
    failed("the sign-in was refused there").await;
    server.send_errors_as_rfc();
    server.decide(Decision::Refuse("expired_token"));
    failed("the code was not entered in time").await;
    server.decide(Decision::Refuse("device_flow_disabled"));
    failed("about device_flow_disabled (device_flow_disabled)").await;
    // This also holds if the server keeps answering that it waits.
    server.decide(Decision::Pending);
    server.set_code_seconds(1);
    failed("the code was not entered in time").await;
    server.set_code_seconds(900);
    sign_in(&onyx, &server).await;
    assert_eq!(server.codes(), 5);
}

#[tokio::test]
async fn a_server_in_trouble_is_asked_again_and_a_stopped_sign_in_is_not() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings()).start().await;
    server.fail_next(1);
    sign_in(&onyx, &server).await;
    sign_out(&onyx).await;

    server.decide(Decision::Pending);
    begin(&onyx).await;
    sign_out(&onyx).await;
    assert_eq!(state(&onyx).await["state"], "none");
    server.decide(Decision::Approve);
    let before = server.polls().len();
    // A later sign-in polls only for its own code.
    begin(&onyx).await;
    assert_eq!(ended(&onyx).await["state"], "signed_in");
    assert_eq!(server.polls().len(), before + 1);
}

#[tokio::test]
async fn what_cannot_be_signed_in_at_is_refused_with_what_to_set() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let mut elsewhere = server.settings();
    elsewhere["tokenUrl"] = "http://example.org/token".into();
    let mut stranger = server.settings();
    stranger["clientId"] = "somebody".into();
    let mut gone = server.settings();
    gone["deviceUrl"] = "http://127.0.0.1:9/device".into();
    let at = |login: Value| json!({"kind": "openai", "baseUrl": model.base_url(), "login": login});
    let onyx = builder(&model)
        .merge(json!({"providers": {
            "plain": {"kind": "openai", "baseUrl": model.base_url()},
            "github_copilot": {},
            "elsewhere": at(elsewhere), "stranger": at(stranger), "gone": at(gone),
        }}))
        .start()
        .await;
    let post = async |name: &str, status: u16| {
        let path = format!("/api/admin/providers/{name}/login");
        let refused = onyx.post(&path, &json!({})).await.expect(status).json();
        let text = |field: &str| refused[field].as_str().unwrap_or_default().to_owned();
        (text("code"), format!("{} | {}", text("detail"), text("hint")))
    };
    for (name, status, code, words) in [
        ("plain", 400, "invalid_request", "`providers.plain.login`"),
        ("github_copilot", 400, "invalid_request", "`providers.github_copilot.login.clientId`"),
        ("mine", 400, "invalid_request", "`providers.mine.apiKey`"),
        ("elsewhere", 400, "invalid_request", "`login.tokenUrl` is not an https address"),
        ("stranger", 422, "provider_refused", "`providers.stranger.login.clientId`"),
        ("gone", 502, "provider_unavailable", "`providers.gone.login.deviceUrl`"),
        ("nobody", 404, "not_found", "There is no provider"),
    ] {
        let (found, said) = post(name, status).await;
        assert_eq!(found, code, "{name}: {said}");
        assert!(said.contains(words), "{name}: {said}");
    }
    let path = "/api/admin/providers/plain/login";
    assert_eq!(onyx.get(path).await.expect(200).json()["state"], "none");
    let _ = onyx.get("/api/admin/providers/nobody/login").await.expect(404);
    let list = onyx.get("/api/admin/providers").await.json();
    let login_of = |name: &str| {
        let all = list["providers"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap()["login"].clone()
    };
    assert_eq!((login_of("plain"), &login_of("gone")["state"]), (Value::Null, &json!("none")));
}

#[tokio::test]
async fn a_removed_provider_takes_its_sign_in_with_it() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = onyx(&model).await;
    let path = "/api/admin/providers/second";
    let settings = json!({"settings": {"kind": "openai", "baseUrl": model.base_url(),
        "login": server.settings()}});
    let put = || onyx.request(reqwest::Method::PUT, path).json(&settings);
    let made = onyx_test_support::Reply::of(put()).await.expect(200).json();
    // An address is not treated as a secret, whatever its field is called.
    assert_eq!(made["settings"]["login"], server.settings());
    server.decide(Decision::Approve);
    let login = format!("{path}/login");
    let _ = onyx.post(&login, &json!({})).await.expect(201);
    let signed_in = async || onyx.get(&login).await.json()["state"] == "signed_in";
    onyx_test_support::wait_for("the sign-in", SOON, async || signed_in().await.then_some(()))
        .await;
    let delete = onyx.request(reqwest::Method::DELETE, path);
    let _ = onyx_test_support::Reply::of(delete).await.expect(204);
    let _ = onyx_test_support::Reply::of(put()).await.expect(200);
    assert_eq!(onyx.get(&login).await.json()["state"], "none");
}
