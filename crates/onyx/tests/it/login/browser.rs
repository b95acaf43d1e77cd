//! Signing in with a browser, and this machine's own identity instead of a sign-in.

use onyx_test_support::{AuthorizationServer, Page, Reply, ScriptedModel, Site};
use reqwest::Method;
use serde_json::{Value, json};

use super::{LOGIN, ended, state, with_login};
use crate::{builder, command, said};

#[allow(clippy::disallowed_methods, reason = "a browser is no client of ours")]
fn browser() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

#[tokio::test]
async fn a_person_signs_in_in_a_browser_that_comes_back_or_is_told_where_it_ended() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings_for_browser()).start().await;
    assert_eq!(state(&onyx).await["ways"], json!(["browser"]));
    let begin = async || {
        let begun = onyx.post(&format!("{LOGIN}?way=browser"), &json!({})).await.expect(201).json();
        assert_eq!((&begun["way"], &begun["user_code"]), (&json!("browser"), &Value::Null));
        server.agree(begun["verification_uri"].as_str().unwrap())
    };
    let back = begin().await;
    let paste = async |address: &str| {
        onyx.post(&format!("{LOGIN}/callback"), &json!({"address": address})).await
    };
    let refused = paste("http://127.0.0.1/callback?code=x&state=y").await.expect(400).json();
    assert_eq!(refused["code"], "invalid_request", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("whole address"), "{refused}");
    assert_eq!(browser().get(&back).send().await.unwrap().status(), 200);
    let signed_in = ended(&onyx).await;
    assert_eq!(
        (&signed_in["state"], &signed_in["account"]),
        (&json!("signed_in"), &json!("octocat"))
    );
    let bearer = format!("Bearer {}", server.access_token());
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    assert_eq!(model.last_request().header("authorization"), Some(bearer.as_str()));

    super::sign_out(&onyx).await;
    let back = begin().await;
    let _ = paste(&back).await.expect(200);
    assert_eq!(ended(&onyx).await["state"], "signed_in");
    let _ = paste(&back).await.expect(400);
    let unknown = onyx.post(&format!("{LOGIN}?way=carrier-pigeon"), &json!({})).await;
    let _ = unknown.expect(400);
}

#[tokio::test]
async fn the_command_line_shows_the_page_that_a_browser_opens() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings_for_browser()).start().await;
    let words = ["providers", "login", "mine", "--browser"];
    let mut login = command(&onyx.home(), &words).spawn().unwrap();
    let said = super::shown::read_until(&mut login, "code_challenge_method=S256").await;
    let page = said.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    assert!(browser().get(server.agree(page)).send().await.unwrap().status().is_success());
    let ran: crate::Ran = login.wait_with_output().await.unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("signed in as octocat"), "{ran:?}");
}

#[tokio::test]
async fn an_application_of_entra_answers_and_its_secret_goes_with_its_provider() {
    let model = ScriptedModel::start().await;
    let token = onyx_test_support::canary::secret("token-of-entra");
    let given = token.clone();
    let entra = Site::start(move |_| {
        Page::json(json!({"access_token": given, "expires_in": 3600}).to_string())
    })
    .await;
    let onyx = builder(&model)
        .merge(json!({"agents": {"list": [{"id": "main", "default": true, "model": "work/m",
            "tier": "act"}]}}))
        .start()
        .await;
    let put = async |path: &str, body: &Value| {
        Reply::of(onyx.request(Method::PUT, path).json(body)).await
    };
    let secret = onyx_test_support::canary::secret("of-the-application");
    let value = json!({"value": secret});
    let _ = put("/api/admin/secrets/work.clientSecret", &value).await.expect(204);
    let azure = json!({"tenant": "contoso.example", "clientId": "app-1",
        "clientSecret": "secret:work.clientSecret", "authority": entra.url("")});
    let settings = json!({"kind": "openai", "baseUrl": model.base_url(),
        "models": [{"id": "m", "price": {"input": 0, "output": 0}}],
        "credentials": {"azure": azure}});
    let path = "/api/admin/providers/work";
    let made = put(path, &json!({"settings": settings})).await.expect(200).json();
    assert_eq!(made["account"], "application app-1", "{made}");
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    let bearer = format!("Bearer {token}");
    assert_eq!(model.last_request().header("authorization"), Some(bearer.as_str()));
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "again"})).await), "ok");
    assert_eq!(entra.requests().len(), 1, "the token is kept until it is old");
    let doctor = crate::run(&onyx.home(), &["doctor"]).await;
    assert!(doctor.out.contains("provider work"), "{doctor:?}");
    let _ = Reply::of(onyx.request(Method::DELETE, path)).await.expect(204);
    let left = onyx.get("/api/admin/secrets").await.expect(200).json();
    assert_eq!(left["secrets"], json!([]), "{left}");
}
