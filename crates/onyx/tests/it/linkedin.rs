//! People's own LinkedIn accounts through the real server, with a LinkedIn server of the test.

use std::time::Duration;

use futures::future::join_all;
use onyx_test_support::{
    AgentClient, LinkedInFault, LinkedInServer, OnyxProcess, Reply, ScriptedModel, wait_for,
};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::accounts::run_with_input;
use crate::attack::members::member;
use crate::drafts::{message, obedient, path};
use crate::gate::events_of;
use crate::{SOON, builder, run};

const ACCOUNT: &str = "/api/linkedin";

async fn start(model: &ScriptedModel, server: &LinkedInServer) -> OnyxProcess {
    let settings = json!({"tools": {"linkedin": server.settings()}});
    let onyx = builder(model).merge(settings).env("ONYX_LOG", "debug").start().await;
    give_client_secret(&onyx).await;
    onyx
}

async fn give_client_secret(onyx: &OnyxProcess) {
    let secret = LinkedInServer::client_secret();
    let set = run_with_input(&onyx.home(), &["secrets", "set", "linkedin"], &secret).await;
    assert_eq!(set.code, Some(0), "{set:?}");
    wait_for("the secret to count", SOON, async || {
        onyx.get(ACCOUNT).await.json()["trouble"].is_null().then_some(())
    })
    .await;
}

/// Connects the owner's account. The config already names this server.
pub(crate) async fn with_account(onyx: &OnyxProcess, server: &LinkedInServer) {
    give_client_secret(onyx).await;
    connect(onyx, server).await;
}

async fn login_state(onyx: &AgentClient) -> Value {
    onyx.get(ACCOUNT).await.expect(200).json()["login"].clone()
}

/// Plays the browser at LinkedIn, which agrees and returns. The result is what the page passes to
/// the app.
async fn go_and_come_back(onyx: &AgentClient, server: &LinkedInServer) -> Value {
    let begun = onyx.post("/api/linkedin/login", &json!({})).await.expect(201).json();
    let back = server.agree(begun["verification_uri"].as_str().unwrap());
    let back = Url::parse(&back).unwrap();
    assert_eq!(back.path(), "/api/linkedin/callback");
    let page = format!("{}?{}", back.path(), back.query().unwrap());
    #[allow(clippy::disallowed_methods, reason = "a browser that is not signed in")]
    let browser = reqwest::Client::builder().no_proxy().build().unwrap();
    let page = browser.get(onyx.url(&page)).send().await.unwrap();
    assert_eq!(page.headers()["cache-control"], "no-store");
    let page = page.text().await.unwrap().replace("&amp;", "&");
    let (_, brought) = page.split_once("url=/settings/you#linkedin?").unwrap();
    let brought = Url::parse(&format!("back:?{}", brought.split('"').next().unwrap())).unwrap();
    let fields = brought.query_pairs().map(|(name, value)| (name.into_owned(), json!(value)));
    Value::Object(fields.collect())
}

async fn connect(onyx: &AgentClient, server: &LinkedInServer) {
    let brought = go_and_come_back(onyx, server).await;
    let _ = onyx.post("/api/linkedin/login/callback", &brought).await.expect(200);
    wait_for("the tokens", SOON, async || {
        let state = login_state(onyx).await;
        assert!(state["error"].is_null(), "{state}");
        (state["state"] == "signed_in").then_some(())
    })
    .await;
}

/// The result of the tool's call.
async fn called(onyx: &OnyxProcess, tool: &str, arguments: Value) -> Value {
    let call = message(&[(tool, arguments)]);
    let lines = onyx.chat_stream(&json!({"message": call})).await;
    let events = events_of(onyx, &lines[0]).await;
    events.iter().find(|event| event["type"] == "tool_result").unwrap().clone()
}

/// Lets the agent propose a post and approves it in the Inbox. Returns the final draft.
async fn post_approved(onyx: &OnyxProcess, text: &str) -> Value {
    let call = message(&[("linkedin_post", json!({"text": text}))]);
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": call}]});
    drop(onyx.post("/v1/chat/completions", &body).await.expect(200));
    let list = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    let draft = list["drafts"][0]["id"].as_str().unwrap().to_owned();
    drop(onyx.post(&format!("{}/approve", path(&draft)), &json!({})).await.expect(200));
    onyx.get(&path(&draft)).await.expect(200).json()
}

#[tokio::test]
async fn a_person_connects_their_account_posts_after_saying_yes_and_takes_it_back() {
    let (model, server) = (obedient().await, LinkedInServer::start().await);
    let mut onyx = start(&model, &server).await;
    let before = onyx.get(ACCOUNT).await.expect(200).json();
    assert_eq!((&before["configured"], &before["login"]["state"]), (&json!(true), &json!("none")));
    assert_eq!(before["redirect_uri"], onyx.url("/api/linkedin/callback"));
    connect(&onyx, &server).await;
    let connected = login_state(&onyx).await;
    assert_eq!(connected["account"], "member1@example.org");
    let linkedin =
        async || onyx.get("/api/agent/health").await.expect(200).json()["linkedin"].clone();
    let unused = json!({"token_present": true, "last_validated_at": null, "last_error": null});
    assert_eq!(linkedin().await, unused);
    let checked = onyx.post("/api/linkedin/check", &json!({})).await.expect(200).json();
    assert!(
        checked["last_validated_at"].is_string() && checked["last_error"].is_null(),
        "{checked}"
    );

    let done = post_approved(&onyx, "Hello from the ferry").await;
    assert_eq!(done["state"], "applied", "{done}");
    assert_eq!(server.posts()[0]["commentary"], "Hello from the ferry");
    let folder = onyx.home().join("people/owner/vault/agent/linkedin");
    let [record]: [_; 1] =
        std::fs::read_dir(folder).unwrap().collect::<Vec<_>>().try_into().unwrap();
    let record = std::fs::read_to_string(record.unwrap().path()).unwrap();
    assert!(
        record.contains("Hello from the ferry") && record.contains("urn:li:share:1"),
        "{record}"
    );

    // A restart keeps the sign-in; the command line shows it and ends it.
    onyx.terminate().await;
    onyx.restart().await;
    let told = run(&onyx.home(), &["linkedin", "status"]).await;
    assert_eq!(told.out.trim(), "signed in as member1@example.org", "{told:?}");
    let told = run(&onyx.home(), &["linkedin", "check"]).await;
    assert!(told.code == Some(0) && told.out.contains("taken at"), "{told:?}");
    let told = run(&onyx.home(), &["linkedin", "logout"]).await;
    assert_eq!(told.out.trim(), "the account is no longer connected", "{told:?}");
    assert_eq!(server.revoked().len(), 1);
    assert_eq!(login_state(&onyx).await["state"], "none");
    assert!(!onyx.log().contains("linkedin-code-"), "codes are in no log");
}

#[tokio::test]
async fn only_who_began_a_sign_in_can_end_it_and_nobody_posts_as_another() {
    let (model, server) = (obedient().await, LinkedInServer::start().await);
    let onyx = start(&model, &server).await;
    let anna = member(&onyx).await;
    let brought = go_and_come_back(&onyx, &server).await;
    // A person who opens the page of somebody else's sign-in connects nothing.
    let callback = "/api/linkedin/login/callback";
    let refused = anna.post(callback, &brought).await.expect(400).json();
    assert_eq!(refused["detail"], "No sign-in waits.", "{refused}");
    drop(anna.post("/api/linkedin/login", &json!({})).await.expect(201));
    let refused = anna.post(callback, &brought).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("does not belong"), "{refused}");
    connect(&onyx, &server).await;
    let owners = login_state(&onyx).await["account"].clone();
    assert_eq!(login_state(&anna).await["account"], Value::Null);
    connect(&anna, &server).await;
    assert_ne!(login_state(&anna).await["account"], owners);
    // Removing a person removes their sign-in.
    drop(onyx.delete("/api/admin/people/anna").await.expect(204));
    assert_eq!(server.revoked().len(), 1);
    assert_eq!(login_state(&onyx).await["account"], owners);
    drop(onyx.post(callback, &json!({"state": "x"})).await.expect(400));
}

#[tokio::test]
async fn a_sign_in_that_linkedin_takes_no_more_is_told_in_one_sentence_and_can_be_made_again() {
    let (model, server) = (obedient().await, LinkedInServer::start().await);
    server.give_no_refresh_tokens();
    let onyx = start(&model, &server).await;
    connect(&onyx, &server).await;
    assert!(login_state(&onyx).await["until"].is_string(), "it cannot be renewed");
    server.remove_access();
    let result = called(&onyx, "linkedin_profile", json!({})).await;
    let told = result["output"].as_str().unwrap();
    assert!(
        told.starts_with("LinkedIn no longer accepts the sign-in (401); connect again"),
        "{told}"
    );
    let state = login_state(&onyx).await;
    assert_eq!(
        (&state["state"], &state["error"]),
        (
            &json!("sign_in_again"),
            &json!("LinkedIn no longer accepts the sign-in of member1@example.org. Connect again.")
        )
    );
    let health = onyx.get("/api/agent/health").await.expect(200).json();
    assert_eq!(health["linkedin"]["token_present"], false);
    assert!(
        health["linkedin"]["last_error"].as_str().unwrap().contains("Connect again"),
        "{health}"
    );
    let told = run(&onyx.home(), &["linkedin", "check"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    connect(&onyx, &server).await;
    assert_eq!(login_state(&onyx).await["account"], "member2@example.org");
}

#[tokio::test]
async fn calls_with_an_old_token_wait_for_one_renewal() {
    let (model, server) = (obedient().await, LinkedInServer::start().await);
    let onyx = start(&model, &server).await;
    connect(&onyx, &server).await;
    server.expire_tokens();
    server.delay_refreshes(Duration::from_millis(500));
    let all = join_all((0..6).map(|_| called(&onyx, "linkedin_profile", json!({})))).await;
    assert!(all.iter().all(|result| result["ok"] == true), "{all:?}");
    assert_eq!(server.refreshes(), 1);
}

#[tokio::test]
async fn what_linkedin_does_not_confirm_is_said_and_forgotten_all_the_same() {
    let (model, server) = (obedient().await, LinkedInServer::start().await);
    let onyx = start(&model, &server).await;
    connect(&onyx, &server).await;
    server.answer_revocations_with(500);
    let revoked = onyx.request(Method::DELETE, "/api/linkedin/login");
    let revoked = Reply::of(revoked).await.expect(200).json();
    assert_eq!(revoked["confirmed"], false, "{revoked}");
    assert!(revoked["detail"].as_str().unwrap().contains("Permitted services"), "{revoked}");
    assert_eq!(login_state(&onyx).await["state"], "none");
    // Without an account the tools are not offered; a call of them gets the reason.
    let result = called(&onyx, "linkedin_post", json!({"text": "x"})).await;
    assert_eq!(result["ok"], false, "{result}");
    assert!(server.posts().is_empty());
}

#[tokio::test]
async fn a_config_that_names_no_application_says_what_is_missing() {
    let (model, server) = (ScriptedModel::start().await, LinkedInServer::start().await);
    let onyx = builder(&model).start().await;
    let account = onyx.get(ACCOUNT).await.expect(200).json();
    assert_eq!((&account["configured"], &account["trouble"]), (&json!(false), &Value::Null));
    let refused = onyx.post("/api/linkedin/login", &json!({})).await.expect(400).json();
    assert!(refused["hint"].as_str().unwrap().contains("tools.linkedin.clientId"), "{refused}");
    let onyx =
        builder(&model).merge(json!({"tools": {"linkedin": server.settings()}})).start().await;
    let account = onyx.get(ACCOUNT).await.expect(200).json();
    let trouble = account["trouble"].as_str().unwrap();
    assert!(trouble.contains("onyx secrets set linkedin"), "{trouble}");
    let health = onyx.get("/api/agent/health").await.expect(200).json();
    assert_eq!(health["linkedin"]["last_error"], trouble);
}

#[tokio::test]
async fn a_refusal_names_the_product_that_is_missing_and_a_fault_that_passes_is_tried_again() {
    let (model, server) = (obedient().await, LinkedInServer::start().await);
    let onyx = start(&model, &server).await;
    connect(&onyx, &server).await;
    server.fail_next_posts([LinkedInFault::Status(403, None)]);
    let done = post_approved(&onyx, "Not allowed").await;
    assert_eq!(done["state"], "failed", "{done}");
    assert!(done.to_string().contains("Share on LinkedIn"), "{done}");
    server.fail_next_posts([LinkedInFault::Status(429, Some(1))]);
    let done = post_approved(&onyx, "Allowed").await;
    assert_eq!(done["state"], "applied", "{done}");
    let said: Vec<Value> = server.posts().iter().map(|post| post["commentary"].clone()).collect();
    assert_eq!(said, [json!("Allowed")]);
}
