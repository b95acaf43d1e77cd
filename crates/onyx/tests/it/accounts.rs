//! People, tokens and pairing, over HTTP and on the command line, with and without a server.

use std::path::Path;
use std::process::Stdio;

use onyx_test_support::{
    AgentClient, DEFAULT_PASSWORD, OnyxProcess, Reply, Script, ScriptedModel, Step, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::{Ran, SOON, builder, command, config, onyx, run};

/// Runs a command whose input comes through a pipe.
pub(crate) async fn run_with_input(home: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut child = command(home, arguments).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    child.wait_with_output().await.unwrap().into()
}

async fn run_json(home: &Path, arguments: &[&str]) -> Value {
    let ran = run(home, arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

async fn basic(onyx: &OnyxProcess, person: &str, password: &str) -> u16 {
    #[allow(clippy::disallowed_methods)]
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.get(onyx.url("/api/auth/me")).basic_auth(person, Some(password));
    Reply::of(request).await.status
}

#[tokio::test]
async fn people_and_tokens_are_managed_from_the_command_line_beside_a_server_and_without() {
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    let home = onyx.home();
    let added = run_json(&home, &["people", "add", "anna", "--name", "Anna", "--json"]).await;
    assert_eq!((&added["id"], &added["role"]), (&json!("anna"), &json!("member")));
    let typed = format!("{DEFAULT_PASSWORD}\n");
    let set = run_with_input(&home, &["people", "password", "anna"], &typed).await;
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(basic(&onyx, "anna", DEFAULT_PASSWORD).await, 200);
    let made = run_json(
        &home,
        &["tokens", "create", "laptop", "-p", "anna", "-s", "read", "-d", "7", "--json"],
    )
    .await;
    let token = made["token"].as_str().unwrap();
    let client = AgentClient::new(onyx.base_url(), token);
    let me = client.get("/api/auth/me").await.expect(200).json();
    assert_eq!((&me["person"], &me["scopes"]), (&json!("anna"), &json!(["read"])));
    // The same commands work on the home after its server has ended.
    onyx.terminate().await;
    let people = run_json(&home, &["people", "list", "--json"]).await;
    let names: Vec<_> = people["people"].as_array().unwrap().iter().map(|at| &at["id"]).collect();
    assert_eq!(names, ["anna", "owner"]);
    let listed = run_json(&home, &["tokens", "list", "--json"]).await;
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1);
    assert!(!listed.to_string().contains(token));
    let plain = run(&home, &["tokens", "list"]).await;
    assert!(plain.out.contains("laptop") && !plain.out.contains(token), "{plain:?}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(run_json(&home, &["tokens", "revoke", id, "--json"]).await, json!({"ok": true}));
    assert_eq!(run(&home, &["tokens", "revoke", id]).await.code, Some(4));
    let removed = run(&home, &["people", "password", "anna", "--remove"]).await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    onyx.restart().await;
    let client = AgentClient::new(onyx.base_url(), token);
    assert_eq!(client.get("/api/auth/me").await.status, 401);
    assert_eq!(basic(&onyx, "anna", DEFAULT_PASSWORD).await, 401);
    assert_eq!(run(&home, &["people", "remove", "anna"]).await.code, Some(0));
    assert_eq!(run(&home, &["people", "remove", "anna"]).await.code, Some(4));
    let owner = run(&home, &["people", "remove", "owner"]).await;
    assert!(owner.code == Some(1) && owner.err.contains("forbidden"), "{owner:?}");
    let files = std::fs::read(home.join("onyx.db")).unwrap();
    let log = onyx.log();
    for secret in [token, DEFAULT_PASSWORD] {
        assert!(!files.windows(secret.len()).any(|window| window == secret.as_bytes()));
        assert!(!log.contains(secret));
    }
}

#[tokio::test]
async fn a_device_is_let_in_with_a_code_that_the_owner_approves() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"people": ["anna"]})).start().await;
    let stranger = AgentClient::new(onyx.base_url(), "");
    let begin = async |body: Value| {
        let begun = stranger.post("/api/auth/pair", &body).await.expect(201).json();
        let path = format!("/api/auth/pair/{}", begun["pairing_id"].as_str().unwrap());
        (path, begun["code"].as_str().unwrap().to_owned())
    };
    let (path, code) = begin(json!({"name": "phone", "client": "device"})).await;
    assert_eq!(stranger.get(&path).await.json(), json!({"status": "pending"}));
    let waiting = run_json(&onyx.home(), &["pair", "list", "--json"]).await;
    assert_eq!(waiting["pairings"][0]["code"], code.as_str());
    let approved =
        run(&onyx.home(), &["pair", "approve", &code.to_lowercase(), "-p", "anna"]).await;
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let picked = stranger.get(&path).await.expect(200).json();
    assert_eq!(picked["status"], "approved");
    let phone = AgentClient::new(onyx.base_url(), picked["token"].as_str().unwrap());
    assert_eq!(phone.get("/api/auth/me").await.expect(200).json()["person"], "anna");
    assert_eq!(stranger.get(&path).await.status, 404);
    // A browser gets a cookie instead.
    let (path, code) = begin(json!({})).await;
    let _ = onyx.post("/api/admin/pairings/approve", &json!({"code": code})).await.expect(204);
    let picked = stranger.get(&path).await.expect(200);
    assert_eq!(picked.json()["status"], "approved");
    assert!(picked.json()["page_key"].as_str().unwrap().starts_with("onyx_pk_"));
    assert!(picked.headers["set-cookie"].to_str().unwrap().starts_with("onyx_session=onyx_cs_"));
    let (path, code) = begin(json!({})).await;
    assert_eq!(run(&onyx.home(), &["pair", "reject", &code]).await.code, Some(0));
    assert_eq!(stranger.get(&path).await.json(), json!({"status": "rejected"}));
    assert_eq!(run(&onyx.home(), &["pair", "approve", "BBBB-BBBB"]).await.code, Some(4));
}

#[tokio::test]
async fn revoking_a_token_ends_its_streams_and_no_others() {
    let model = ScriptedModel::start().await;
    model.set_default(Script::new([Step::Text("half".into()), Step::Hang]));
    let onyx = onyx(&model).await;
    let made = onyx.post("/api/admin/tokens", &json!({"name": "x"})).await.expect(201).json();
    let theirs = AgentClient::new(onyx.base_url(), made["token"].as_str().unwrap());
    let mut ours = onyx.chat_lines(&json!({"message": "mine"})).await;
    let run = ours.until("start").await["run_id"].as_str().unwrap().to_owned();
    ours.until("text").await;
    let mut chat = theirs.chat_lines(&json!({"message": "theirs"})).await;
    chat.until("text").await;
    // The stream must not be that of a run that ends by itself. This one can end only with the
    // credential.
    let events = theirs.request(Method::GET, &format!("/api/runs/{run}/events"));
    let mut events = events.send().await.unwrap();
    let waiting = theirs.clone();
    let collected =
        tokio::spawn(
            async move { waiting.post("/api/agent/chat", &json!({"message": "x"})).await },
        );
    wait_for("three runs", SOON, async || (model.answering() == 3).then_some(())).await;
    let path = format!("/api/admin/tokens/{}", made["id"].as_str().unwrap());
    let _ = Reply::of(onyx.request(Method::DELETE, &path)).await.expect(204);
    let ended = async {
        while chat.next().await.is_some() {}
        while let Ok(Some(_)) = events.chunk().await {}
        assert_eq!(collected.await.unwrap().status, 401);
    };
    tokio::time::timeout(SOON, ended).await.expect("what the token had open ends");
    wait_for("its runs to end", SOON, async || (model.answering() == 1).then_some(())).await;
    assert_eq!(onyx.stop(&session_of(&onyx, &run).await).await.json(), json!({"stopped": true}));
}

async fn session_of(onyx: &OnyxProcess, run: &str) -> String {
    let sessions = onyx.get("/v1/sessions").await.json();
    let sessions = sessions["sessions"].as_array().unwrap();
    let found = sessions.iter().find(|session| session["last_run"] == run);
    found.unwrap_or(&sessions[0])["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn people_of_the_config_and_of_the_environment_come_and_go_while_the_server_runs() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({"people": ["anna"]}))
        .env("VALID_PERSONS", "sebastian, petra")
        .start()
        .await;
    let names = async || -> Vec<String> {
        let people = onyx.get("/api/admin/people").await.expect(200).json();
        let people = people["people"].as_array().unwrap().clone();
        people.iter().map(|at| at["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names().await, ["anna", "owner", "petra", "sebastian"]);
    let body = json!({"name": "t", "people": ["anna"]});
    let made = onyx.post("/api/admin/tokens", &body).await.expect(201).json();
    let anna = AgentClient::new(onyx.base_url(), made["token"].as_str().unwrap());
    assert_eq!(anna.get("/v1/sessions").await.status, 200);
    let refused = Reply::of(onyx.request(Method::DELETE, "/api/admin/people/anna")).await;
    assert_eq!(refused.status, 400);
    let mut without = config(&model);
    without["people"] = json!([]);
    std::fs::write(onyx.config_path(), without.to_string()).unwrap();
    wait_for("anna to be gone", SOON, async || {
        (anna.get("/v1/sessions").await.status == 401).then_some(())
    })
    .await;
    assert_eq!(names().await, ["owner", "petra", "sebastian"]);
}

#[tokio::test]
async fn an_sdk_works_with_short_tokens_and_refreshes_them() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let tokens = onyx.post("/api/auth/token", &json!({})).await.expect(200).json();
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(900)));
    let sdk = AgentClient::new(onyx.base_url(), tokens["access_token"].as_str().unwrap());
    assert_eq!(sdk.get("/api/auth/me").await.expect(200).json()["credential"], "access");
    let stranger = AgentClient::new(onyx.base_url(), "");
    let refresh = async |token: &Value| {
        stranger.post("/api/auth/refresh", &json!({"refresh_token": token})).await
    };
    let next = refresh(&tokens["refresh_token"]).await.expect(200).json();
    let sdk = AgentClient::new(onyx.base_url(), next["access_token"].as_str().unwrap());
    let _ = sdk.post("/api/auth/logout", &json!({})).await.expect(204);
    assert_eq!(sdk.get("/api/auth/me").await.status, 401);
    assert_eq!(refresh(&next["refresh_token"]).await.status, 401);
    // A refresh token that is used twice was copied, so it and all tokens made from it are revoked.
    let tokens = onyx.post("/api/auth/token", &json!({})).await.expect(200).json();
    let next = refresh(&tokens["refresh_token"]).await.expect(200).json();
    assert_eq!(refresh(&tokens["refresh_token"]).await.status, 401);
    let sdk = AgentClient::new(onyx.base_url(), next["access_token"].as_str().unwrap());
    assert_eq!(sdk.get("/api/auth/me").await.status, 401);
}
