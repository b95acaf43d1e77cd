//! Moving a home into server mode and back.

use std::collections::BTreeMap;
use std::path::Path;

use onyx_test_support::{MASTER_KEY, OnyxProcess, ScriptedModel, ServerPlace};
use serde_json::{Value, json};

use super::{place, start};
use crate::drafts::{message, obedient};
use crate::{Ran, builder, command, run};

/// The files of people, agents and the shared area, by path.
pub(super) fn contents(home: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<_> = ["people", "agents", "shared"].map(|name| home.join(name)).into();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(home).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// An empty home whose config names a server.
pub(super) fn target(place: &ServerPlace) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut config = place.config("mover");
    config["gateway"]["port"] = 0.into();
    std::fs::write(home.path().join("onyx.json"), config.to_string()).unwrap();
    home
}

pub(super) async fn storage_move(home: &Path, keys: &Path, from: &str, to: &str) -> Ran {
    let mut command = command(home, &["storage", "move", "--from", from, "--to", to]);
    command.env("ONYX_KEYS", keys).env("ONYX_MASTER_KEY", MASTER_KEY);
    command.output().await.unwrap().into()
}

async fn filled(model: &ScriptedModel) -> (OnyxProcess, String) {
    let onyx = builder(model).start().await;
    let long = "All work and no play. ".repeat(5_000);
    let write = message(&[("write_file", json!({"path": "notes/long.md", "content": long}))]);
    let events = onyx.chat_stream(&json!({"message": write})).await;
    let session = events[0]["session_id"].as_str().unwrap().to_owned();
    let _ = onyx.chat_stream(&json!({"message": "And now?", "session_id": session})).await;
    let secret = json!({"value": "kept-through-the-move-1234"});
    let put = onyx.request(reqwest::Method::PUT, "/api/admin/secrets/thing").json(&secret);
    assert!(put.send().await.unwrap().status().is_success());
    (onyx, session)
}

/// Allows or denies writing Onyx's objects to the S3 server.
fn allow_objects(place: &ServerPlace, allow: bool) {
    let (method, body) = if allow {
        ("DELETE", String::new())
    } else {
        let resource = format!("arn:aws:s3:::{}/onyx/blobs/*", place.name);
        let statement = json!({"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": resource});
        ("PUT", json!({"Version": "2012-10-17", "Statement": [statement]}).to_string())
    };
    let status = place.servers.http(method, &format!("/{}?policy", place.name), &body);
    assert!((200..300).contains(&status), "{status}");
}

#[tokio::test]
async fn a_home_moves_into_server_mode_and_back_byte_for_byte() {
    let (place, model) = (place().await, obedient().await);
    let (mut onyx, session) = filled(&model).await;
    let history = onyx.history(&session).await;
    let (home, keys) = (onyx.home(), onyx.home().join("../keys"));
    let from = home.to_str().unwrap().to_owned();
    let target = target(&place);
    let refused = storage_move(target.path(), &keys, &from, "server").await;
    assert_eq!(refused.code, Some(3), "its server runs: {refused:?}");
    onyx.terminate().await;
    let before = contents(&home);
    let moved = storage_move(target.path(), &keys, &from, "server").await;
    assert_eq!(moved.code, Some(0), "{moved:?}");
    assert_eq!(contents(&home), before, "nothing was taken away");
    let again = storage_move(target.path(), &keys, &from, "server").await;
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.err.contains("the database holds something already"), "{again:?}");

    let mut one = start(&place, "one", &model).await;
    assert_eq!(one.history(&session).await, history);
    let chains = one.get("/api/admin/audit/verify").await.expect(200).json();
    let owner = &chains["chains"][0];
    assert_eq!(owner["whole"], true, "{chains}");
    assert!(owner["rows"].as_u64().unwrap() > 0, "{chains}");
    let secrets = one.get("/api/admin/secrets").await.expect(200).json();
    let secret = &secrets["secrets"][0];
    assert_eq!((&secret["name"], &secret["key"]), (&json!("thing"), &json!("master_key")));
    assert_eq!(secret["error"], Value::Null, "it opens with the master key: {secrets}");
    let back = tempfile::tempdir().unwrap();
    let to = back.path().join("home");
    let serving = storage_move(target.path(), &keys, "server", to.to_str().unwrap()).await;
    assert_eq!(serving.code, Some(1), "{serving:?}");
    assert!(serving.err.contains("gateways work on this database: one"), "{serving:?}");
    one.terminate().await;
    let returned = storage_move(target.path(), &keys, "server", to.to_str().unwrap()).await;
    assert_eq!(returned.code, Some(0), "{returned:?}");
    let after = contents(&to);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(after, before);
    // The result is an ordinary home with the conversations, secrets and config.
    let told = run(&to, &["sessions", "list"]).await;
    assert!(told.out.contains(&session[..8]), "{told:?}");
    let mut secrets = command(&to, &["secrets", "list"]);
    let secrets: Ran = secrets.env("ONYX_KEYS", &keys).output().await.unwrap().into();
    assert!(secrets.out.contains("thing") && secrets.code == Some(0), "{secrets:?}");
    let config = std::fs::read_to_string(to.join("onyx.json")).unwrap();
    assert!(config.contains("some-model") && !config.contains("postgres"), "{config}");
    let full = storage_move(target.path(), &keys, "server", to.to_str().unwrap()).await;
    assert_eq!(full.code, Some(1), "{full:?}");
    assert!(full.err.contains("the home holds something already"), "{full:?}");
}

#[tokio::test]
async fn a_move_that_was_cut_off_keeps_gateways_away_and_goes_on_where_it_was() {
    let (place, model) = (place().await, obedient().await);
    let (mut onyx, session) = filled(&model).await;
    let (home, keys) = (onyx.home(), onyx.home().join("../keys"));
    let from = home.to_str().unwrap().to_owned();
    let history = onyx.history(&session).await;
    onyx.terminate().await;
    let target = target(&place);
    allow_objects(&place, false);
    let cut_off = storage_move(target.path(), &keys, &from, "server").await;
    assert_eq!(cut_off.code, Some(1), "{cut_off:?}");
    assert!(cut_off.err.contains("continues where it stopped"), "{cut_off:?}");
    let mut serve = command(target.path(), &["serve"]);
    let refused: Ran = serve.env("ONYX_MASTER_KEY", MASTER_KEY).output().await.unwrap().into();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("was cut off"), "{refused:?}");
    let back = tempfile::tempdir().unwrap();
    let half = back.path().join("home");
    let out = storage_move(target.path(), &keys, "server", half.to_str().unwrap()).await;
    assert_eq!(out.code, Some(1), "half of a home is nothing to be read: {out:?}");
    allow_objects(&place, true);
    let moved = storage_move(target.path(), &keys, &from, "server").await;
    assert_eq!(moved.code, Some(0), "{moved:?}");
    assert!(moved.out.contains("were already there from an earlier attempt"), "{moved:?}");
    let one = start(&place, "one", &model).await;
    assert_eq!(one.history(&session).await, history);
}
