//! Signing in with a code in OpenAI's form and in a browser, at an authorization server of the
//! test.

use std::sync::Arc;
use std::time::Duration;

use onyx_providers::{
    LoginState, LoginStatus, LoginWay, Logins, NoTokens, ProviderSettings, Registry, Setup,
};
use onyx_test_support::{AuthorizationServer, Decision, Grant, wait_until};
use onyx_types::{ModelFailureClass, SystemClock};
use serde_json::{Value, json};

use crate::page_server::PageServer;
use crate::support::{NO_BREAKER, NO_RETRY, ask, class_of};

const SOON: Duration = Duration::from_secs(20);

fn registry(name: &str, settings: Value) -> Registry {
    let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
    let logins = Arc::new(Logins::new(Arc::new(NoTokens), Arc::new(SystemClock::new())));
    let setup = Setup { logins, ..Setup::new(&|_| None) };
    Registry::resolve_with([(name.to_owned(), settings)], setup)
        .with_retry(NO_RETRY)
        .with_breaker(NO_BREAKER)
}

fn status(registry: &Registry, name: &str) -> LoginStatus {
    registry.login(name).unwrap().unwrap()
}

async fn ended(registry: &Registry, name: &str) -> LoginStatus {
    let is_over = || status(registry, name).state != LoginState::Waiting;
    wait_until("the sign-in to end", SOON, is_over).await;
    status(registry, name)
}

#[allow(clippy::disallowed_methods, reason = "a browser is no client of ours")]
fn browser() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// The status and text of the page that a browser sees at the address.
async fn visit(address: &str) -> (u16, String) {
    let answer = browser().get(address).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn chatgpt_is_signed_in_to_with_a_code_and_asked_as_that_account() {
    let server = AuthorizationServer::start().await;
    server.set_identity(json!({"email": "jo@example.org",
        "https://api.openai.com/auth": {"chatgpt_account_id": "acct-7"}}));
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let base = format!("{}/backend-api/codex", backend.origin());
    let login = server.settings_as_openai();
    let registry = registry("chatgpt", json!({"baseUrl": base, "login": login}));
    let begun = registry.begin_login("chatgpt", None).await.unwrap();
    assert_eq!(begun.way, LoginWay::Code);
    assert_eq!(begun.user_code.as_deref(), Some("ABCD-0001"));
    assert_eq!(begun.verification_uri, server.url("/codex/device"));
    wait_until("a poll that brings nothing", SOON, || !server.polls().is_empty()).await;
    assert_eq!(status(&registry, "chatgpt").state, LoginState::Waiting);
    server.decide(Decision::Approve);
    let signed_in = ended(&registry, "chatgpt").await;
    assert_eq!(
        (signed_in.state, signed_in.account.as_deref(), signed_in.error),
        (LoginState::SignedIn, Some("jo@example.org"), None)
    );
    assert_eq!(signed_in.ways, [LoginWay::Code, LoginWay::Browser]);

    ask(&registry.model("chatgpt/gpt-5.2").unwrap()).await;
    let asked = &backend.asked()[0];
    assert_eq!(asked.line, "POST /backend-api/codex/responses");
    let bearer = format!("authorization: Bearer {}", server.access_token());
    assert!(asked.head.contains(&bearer), "{}", asked.head);
    assert!(asked.head.contains("chatgpt-account-id: acct-7"), "{}", asked.head);
    assert_eq!((&asked.body["store"], &asked.body["stream"]), (&json!(false), &json!(true)));
    assert_eq!(asked.body["max_output_tokens"], Value::Null, "its server takes no limit");
}

#[tokio::test]
async fn a_browser_comes_back_with_a_code_that_only_this_sign_in_can_redeem() {
    let server = AuthorizationServer::start().await;
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let login = server.settings_for_browser();
    let registry =
        registry("mine", json!({"kind": "openai", "baseUrl": backend.origin(), "login": login}));
    assert_eq!(status(&registry, "mine").ways, [LoginWay::Browser]);
    let begun = registry.begin_login("mine", None).await.unwrap();
    assert_eq!((begun.way, begun.user_code.as_deref()), (LoginWay::Browser, None));
    assert!(begun.verification_uri.starts_with(&server.url("/authorize?")), "{begun:?}");
    // A second request joins the first attempt.
    assert_eq!(registry.begin_login("mine", None).await.unwrap(), begun);

    let back = server.agree(&begun.verification_uri);
    // A page of a stranger can neither end nor take over the sign-in.
    let forged = back.replace("state=", "state=x");
    assert_eq!(visit(&forged).await.0, 400);
    let elsewhere = back.replace("/callback", "/other");
    assert_eq!(visit(&elsewhere).await.0, 404);
    assert_eq!(status(&registry, "mine").state, LoginState::Waiting);
    let (code, page) = visit(&back).await;
    assert_eq!(code, 200);
    assert!(page.contains("You are signed in"), "{page}");
    let signed_in = ended(&registry, "mine").await;
    assert_eq!(
        (signed_in.state, signed_in.account.as_deref()),
        (LoginState::SignedIn, Some("octocat"))
    );
    ask(&registry.model("mine/m").unwrap()).await;
    let bearer = format!("authorization: Bearer {}", server.access_token());
    assert!(backend.asked()[0].head.contains(&bearer));
    // The port is free again.
    assert!(browser().get(&back).send().await.is_err());
}

#[tokio::test]
async fn where_the_browser_is_elsewhere_its_last_address_is_pasted() {
    let server = AuthorizationServer::start().await;
    let login = server.settings_as_openai();
    let registry = registry("chatgpt", json!({"login": login}));
    let no_one = registry.finish_login("chatgpt", "http://127.0.0.1/callback").unwrap_err();
    assert!(no_one.message.contains("No browser sign-in"), "{no_one:?}");
    let begun = registry.begin_login("chatgpt", Some(LoginWay::Browser)).await.unwrap();
    assert!(begun.verification_uri.contains("codex_cli_simplified_flow=true"), "{begun:?}");
    let back = server.agree(&begun.verification_uri);
    for wrong in
        ["no address", "http://127.0.0.1/callback?code=x", &back.replace("state=", "state=x")]
    {
        let refused = registry.finish_login("chatgpt", wrong).unwrap_err();
        assert_eq!(refused.code, onyx_types::ErrorCode::InvalidRequest, "{wrong}");
    }
    registry.finish_login("chatgpt", &back).unwrap();
    assert_eq!(ended(&registry, "chatgpt").await.state, LoginState::SignedIn);
}

#[tokio::test]
async fn a_browser_that_comes_back_with_a_refusal_says_so() {
    let server = AuthorizationServer::start().await;
    let login = server.settings_for_browser();
    let settings = json!({"kind": "openai", "baseUrl": "http://127.0.0.1:9", "login": login});
    let registry = registry("mine", settings);
    let begun = registry.begin_login("mine", None).await.unwrap();
    let back = server.agree(&begun.verification_uri);
    let refused = back.replace("code=", "error=access_denied&x=");
    let (_, page) = visit(&refused).await;
    assert!(page.contains("not signed in"), "{page}");
    let failed = ended(&registry, "mine").await;
    assert_eq!(
        (failed.state, failed.error.as_deref()),
        (LoginState::Failed, Some("the sign-in was refused there"))
    );
    // A code that was already redeemed does not sign in.
    let begun = registry.begin_login("mine", None).await.unwrap();
    let stale = server.agree(&begun.verification_uri);
    server.agree(&begun.verification_uri);
    visit(&stale).await;
    let failed = ended(&registry, "mine").await;
    assert!(failed.error.unwrap().contains("invalid_grant"));
}

#[tokio::test]
async fn a_lapsed_chatgpt_sign_in_is_renewed_once_and_a_revoked_one_must_be_made_again() {
    let server = AuthorizationServer::start().await;
    server.set_identity(json!({"email": "jo@example.org",
        "https://api.openai.com/auth": {"chatgpt_account_id": "acct-7"}}));
    // These tokens are expired as soon as they are issued.
    server.set_grant(Grant { seconds: Some(0), refreshes: true });
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let login = server.settings_as_openai();
    let registry = registry("chatgpt", json!({"baseUrl": backend.origin(), "login": login}));
    let begun = registry.begin_login("chatgpt", Some(LoginWay::Browser)).await.unwrap();
    registry.finish_login("chatgpt", &server.agree(&begun.verification_uri)).unwrap();
    ended(&registry, "chatgpt").await;
    server.set_grant(Grant { seconds: Some(3600), refreshes: true });
    server.delay_refreshes(Duration::from_millis(200));
    let model = registry.model("chatgpt/gpt-5.2").unwrap();
    let asks = (0..10).map(|_| ask(&model));
    futures::future::join_all(asks).await;
    assert_eq!(server.refreshes(), 1);
    assert!(backend.asked().iter().all(|asked| asked.head.contains("chatgpt-account-id: acct-7")));

    server.set_grant(Grant { seconds: Some(0), refreshes: true });
    server.refuse_refreshes("refresh_token_reused");
    let refusing = self::registry("chatgpt", json!({"login": server.settings_as_openai()}));
    let begun = refusing.begin_login("chatgpt", Some(LoginWay::Browser)).await.unwrap();
    refusing.finish_login("chatgpt", &server.agree(&begun.verification_uri)).unwrap();
    ended(&refusing, "chatgpt").await;
    let events = ask(&refusing.model("chatgpt/gpt-5.2").unwrap()).await;
    let provider = "chatgpt".to_owned();
    assert_eq!(class_of(&events), ModelFailureClass::SignIn { provider });
    assert_eq!(status(&refusing, "chatgpt").state, LoginState::SignInAgain);
}

#[tokio::test]
async fn what_a_person_sets_for_a_browser_must_come_back_to_this_machine() {
    let server = AuthorizationServer::start().await;
    for redirect in ["https://example.org/callback", "http://example.org/callback", "nonsense"] {
        let mut login = server.settings_for_browser();
        login["redirectUrl"] = redirect.into();
        let settings = json!({"kind": "openai", "baseUrl": "http://127.0.0.1:9", "login": login});
        let registry = registry("mine", settings);
        let refused = registry.begin_login("mine", None).await.unwrap_err();
        assert!(refused.message.contains("redirectUrl"), "{redirect}: {refused:?}");
    }
    let only_codes = registry(
        "mine",
        json!({"kind": "openai", "baseUrl": "http://127.0.0.1:9", "login": server.settings()}),
    );
    let refused = only_codes.begin_login("mine", Some(LoginWay::Browser)).await.unwrap_err();
    assert!(refused.hint().contains("authorizeUrl"));
}
