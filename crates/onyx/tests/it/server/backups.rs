//! Backups of what gateways share, made while they work.

use std::collections::BTreeSet;
use std::path::Path;

use onyx_test_support::{MASTER_KEY, OnyxProcess, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use super::moving::{contents, target};
use super::{gateway, place, start};
use crate::drafts::{message, obedient};
use crate::jobs::{known, run_now};
use crate::{Ran, command, said};

async fn onyx(home: &Path, arguments: &[&str]) -> Ran {
    let mut command = command(home, arguments);
    command.env("ONYX_KEYS", home.join("../keys")).env("ONYX_MASTER_KEY", MASTER_KEY);
    command.output().await.unwrap().into()
}

/// Makes a conversation, a file large enough for the object store, and a secret.
async fn fill(one: &OnyxProcess) -> String {
    let long = "All work and no play. ".repeat(5_000);
    let write = message(&[("write_file", json!({"path": "notes/long.md", "content": long}))]);
    let events = one.chat_stream(&json!({"message": write})).await;
    let session = events[0]["session_id"].as_str().unwrap().to_owned();
    let secret = json!({"value": "kept-in-the-backup-1234"});
    let put = one.request(Method::PUT, "/api/admin/secrets/thing").json(&secret);
    assert!(put.send().await.unwrap().status().is_success());
    session
}

fn report(made: &Ran) -> Value {
    assert_eq!(made.code, Some(0), "{made:?}");
    serde_json::from_str(&made.out).unwrap()
}

#[tokio::test]
async fn a_server_backed_up_while_it_serves_is_restored_as_a_home_and_as_a_server() {
    let (first, model) = (place().await, obedient().await);
    let one = start(&first, "one", &model).await;
    let session = fill(&one).await;
    let history = one.history(&session).await;
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backups");
    let to = to.to_str().unwrap();

    let whole = report(&onyx(&one.home(), &["backup", "--to", to, "--json"]).await);
    assert!(whole["files"].as_u64().unwrap() >= 4, "{whole}");
    let again = report(&onyx(&one.home(), &["backup", "--to", to, "--json"]).await);
    assert!(again["read_files"].as_u64() < whole["read_files"].as_u64(), "{whole} {again}");
    assert!(again["new_bytes"].as_u64().unwrap() < 60_000, "the large file is known: {again}");
    let verified = onyx(&one.home(), &["backup", "verify", "--to", to]).await;
    assert!(verified.code == Some(0) && verified.out.contains("all intact"), "{verified:?}");

    // The backup is restored into an empty home, which then serves the same data.
    let home = scratch.path().join("home");
    let restored = onyx(&home, &["restore", to]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let long = std::fs::read(home.join("people/owner/vault/notes/long.md")).unwrap();
    assert_eq!(long.len(), 22 * 5_000);
    let shown = onyx(&home, &["sessions", "show", &session, "--json"]).await;
    assert!(shown.out.contains("All work and no play."), "{shown:?}");
    let secrets = onyx(&home, &["secrets", "list"]).await;
    assert!(secrets.out.contains("thing") && !secrets.out.contains("cannot"), "{secrets:?}");
    let config = std::fs::read_to_string(home.join("onyx.json")).unwrap();
    assert!(config.contains("some-model") && !config.contains("postgres"), "{config}");

    // The export writes plain files.
    let out = scratch.path().join("mine");
    let made = onyx(&one.home(), &["export", "--everything", out.to_str().unwrap()]).await;
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(std::fs::read(out.join("home/people/owner/vault/notes/long.md")).unwrap(), long);
    assert_eq!(std::fs::read_dir(out.join("conversations/owner")).unwrap().count(), 1);

    // The backup is restored into an empty database and bucket, but not over one with data.
    let refused = onyx(&one.home(), &["restore", to]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let second = place().await;
    let empty = target(&second);
    let restored = onyx(empty.path(), &["restore", to]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert!(!empty.path().join("cache/restoring").exists(), "nothing of it stays on this disk");
    let two = start(&second, "two", &model).await;
    assert_eq!(two.history(&session).await, history);
    let secrets = two.get("/api/admin/secrets").await.expect(200).json();
    assert_eq!(secrets["secrets"][0]["error"], Value::Null, "{secrets}");
    let events = two.chat_stream(&json!({"message": "go on", "session_id": session})).await;
    assert!(!said(&events).is_empty());
}

#[tokio::test]
async fn one_session_and_one_file_come_back_while_gateways_serve() {
    let (place, model) = (place().await, obedient().await);
    let one = start(&place, "one", &model).await;
    let two = start(&place, "two", &model).await;
    let session = fill(&one).await;
    let history = one.history(&session).await;
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backups");
    let to = to.to_str().unwrap();
    report(&onyx(&one.home(), &["backup", "--to", to, "--json"]).await);
    let path = "people/owner/vault/notes/long.md";
    let file = "/v1/memory/files/vault/notes/long.md";

    // The deleted conversation is restored for all gateways.
    let gone = two.request(Method::DELETE, &format!("/v1/sessions/{session}"));
    assert!(gone.send().await.unwrap().status().is_success());
    let gone = two.request(Method::DELETE, file);
    assert!(gone.send().await.unwrap().status().is_success());
    assert_eq!(one.get(file).await.status, 404);
    let restored = onyx(&one.home(), &["restore", to, "--session", &session]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert!(restored.out.contains(&format!("Session {session} is restored")), "{restored:?}");
    let restored = onyx(&one.home(), &["restore", to, "--file", path]).await;
    assert!(restored.code == Some(0) && restored.out.starts_with(path), "{restored:?}");
    for gateway in [&one, &two] {
        assert_eq!(gateway.history(&session).await, history);
        assert_eq!(gateway.get(file).await.expect(200).text().len(), 22 * 5_000);
    }
    let events = two.chat_stream(&json!({"message": "go on", "session_id": session})).await;
    assert!(!said(&events).is_empty());

    // A second restore makes a copy and keeps the existing conversation.
    let longer = two.history(&session).await;
    let restored = onyx(&two.home(), &["restore", to, "--session", &session]).await;
    assert!(restored.out.contains("beside the existing one"), "{restored:?}");
    let copy = restored.out.split_whitespace().nth(1).unwrap().to_owned();
    assert_ne!(copy, session);
    assert_eq!(two.history(&session).await, longer);
    assert_eq!(two.history(&copy).await.len(), history.len());
    let restored = onyx(&two.home(), &["restore", to, "--file", path]).await;
    assert!(restored.out.contains("long (restored "), "{restored:?}");
    let unknown = onyx(&two.home(), &["restore", to, "--file", "people/owner/vault/none.md"]).await;
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
}

/// The ids of ended runs in the ledger, and of the ends in the logs.
fn ended(home: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let ledger = rusqlite::Connection::open(home.join("onyx.db")).unwrap();
    let mut statement = ledger.prepare("SELECT run FROM runs WHERE status IS NOT NULL").unwrap();
    let runs = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut ends = BTreeSet::new();
    for (path, bytes) in contents(home) {
        if !path.ends_with(".jsonl") || !path.contains("/sessions/") {
            continue;
        }
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let turn: Value = serde_json::from_slice(line).unwrap();
            if turn["type"] == "run_end" {
                ends.insert(turn["run_id"].as_str().unwrap().to_owned());
            }
        }
    }
    (runs, ends)
}

#[tokio::test]
async fn a_backup_while_gateways_write_is_of_one_moment() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let one = start(&place, "one", &model).await;
    let two = start(&place, "two", &model).await;
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backups");
    let to = to.to_str().unwrap();
    let chat = async |gateway: &OnyxProcess| loop {
        let events = gateway.chat_stream(&json!({"message": "hello"})).await;
        assert_eq!(said(&events), "ok");
    };
    let backups = async {
        let mut most = 0;
        for number in 0..5 {
            let made = onyx(&one.home(), &["backup", "--to", to, "--json"]).await;
            let made = report(&made);
            let home = scratch.path().join(format!("home {number}"));
            let id = made["snapshot"].as_str().unwrap();
            let restored = onyx(&home, &["restore", to, "--snapshot", id]).await;
            assert_eq!(restored.code, Some(0), "{restored:?}");
            let (runs, ends) = ended(&home);
            assert!(runs.is_subset(&ends), "backup {number}: {runs:?} {ends:?}");
            // An end is in the log a moment before it is in the ledger, and each gateway has one
            // run at a time.
            assert!(ends.len() <= runs.len() + 2, "backup {number}: {} {}", ends.len(), runs.len());
            assert!(runs.len() >= most, "{} after {most}", runs.len());
            most = runs.len();
        }
        assert!(most > 0);
    };
    tokio::select! {
        () = backups => {}
        () = chat(&one) => {}
        () = chat(&two) => {}
    }
}

#[tokio::test]
async fn the_config_of_gateways_has_them_backed_up_into_a_bucket() {
    let (place, model) = (place().await, obedient().await);
    let bucket = format!("{}-backups", place.name);
    place.servers.make_bucket(&bucket);
    let to = format!("s3://{bucket}/all");
    let job = json!({"jobs": {"backup": {"to": to, "keep": 2}}});
    let one = gateway(&place, "one", &model).merge(job).start().await;
    let session = fill(&one).await;
    known(&one, "system:backup").await;
    for _ in 0..3 {
        let run = run_now(&one, "system:backup").await;
        assert_eq!(run["outcome"], "nothing", "{run}");
    }
    // The command reads the place from the shared config, and the keys from `storage.s3`.
    let listed = onyx(&one.home(), &["backup", "list", "--json"]).await;
    assert_eq!(report(&listed)["snapshots"].as_array().unwrap().len(), 2, "{listed:?}");
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("home");
    let mut restore = command(&home, &["restore", &to]);
    restore
        .env("ONYX_KEYS", scratch.path().join("keys"))
        .env("AWS_ENDPOINT_URL", format!("http://{}", place.servers.objects))
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test");
    let restored: Ran = restore.output().await.unwrap().into();
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let shown = onyx(&home, &["sessions", "show", &session, "--json"]).await;
    assert!(shown.out.contains("All work and no play."), "{shown:?}");
}
