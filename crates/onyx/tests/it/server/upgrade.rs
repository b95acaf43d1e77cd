//! The upgrade of a database from older tables, with the binary: `onyx migrate`, then a gateway that serves what was there.

use onyx_storage::SCHEMA_VERSION;
use onyx_test_support::{
    OLD_TABLES, OnyxProcess, ServerPlace, TableContents, copy_into_old_tables, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{gateway, place, run_with};
use crate::SOON;
use crate::drafts::{message, obedient};

/// The settings of a gateway on one database whose objects are in the bucket of another.
fn with_objects_of(place: &ServerPlace) -> Value {
    json!({"storage": {"objects": place.storage()["objects"]}})
}

/// Gives a gateway a session with a large change that waits for approval, a secret and a note. Returns the session and the
/// change.
async fn fill(one: &OnyxProcess) -> (String, String) {
    let long = "A heron stood in the marsh near Ribe. ".repeat(2_000);
    let write = message(&[("write_file", json!({"path": "birds.md", "content": long}))]);
    let events = one.chat_stream(&json!({"message": write})).await;
    let session = events[0]["session_id"].as_str().unwrap().to_owned();
    let draft = events.iter().find(|event| event["type"] == "draft").expect("a draft");
    let draft = draft["draft_id"].as_str().unwrap().to_owned();
    let secret = json!({"value": "kept-through-the-upgrade-1234"});
    let put = one.request(Method::PUT, "/api/admin/secrets/thing").json(&secret);
    assert!(put.send().await.unwrap().status().is_success());
    let herons =
        json!({"text": "Herons stand in the marsh.", "target": "memory", "heading": "Birds"});
    assert!(one.post("/v1/memory", &herons).await.status < 300);
    (session, draft)
}

#[tokio::test]
async fn a_database_of_an_older_version_is_migrated_and_served_with_all_that_was_in_it() {
    let (newest, model) = (place().await, obedient().await);
    let agents = json!({
        "agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
        ]},
        "memory": {"embedder": "mine/embed"},
    });
    let mut one = gateway(&newest, "one", &model)
        .merge(agents.clone())
        .env("ONYX_TEST_SEALING", "1")
        .start()
        .await;
    let (session, draft) = fill(&one).await;
    let sql = newest.sql().await;
    wait_for("a sealed log and a vector", SOON * 3, async || {
        let count = "SELECT (SELECT count(*) FROM segments) > 0
                        AND (SELECT count(*) FROM vectors) > 0";
        sql.query_one(count, &[]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    let (history, sessions) = (one.history(&session).await, listed(&one).await);
    one.terminate().await;

    let old = ServerPlace::new().await;
    let tables = old.sql().await;
    copy_into_old_tables(&sql, &tables).await;
    let held = TableContents::of(&tables).await;
    let mut config = old.config("one");
    config["gateway"]["port"] = 0.into();
    config["storage"]["objects"] = newest.storage()["objects"].clone();
    let refused = run_with(&config, &["serve"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let words = format!("are of version {OLD_TABLES}; this Onyx needs {SCHEMA_VERSION}");
    assert!(refused.err.contains(&words) && refused.err.contains("onyx migrate"), "{refused:?}");
    let migrated = run_with(&config, &["migrate"]).await;
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    let ran = SCHEMA_VERSION - OLD_TABLES;
    let words = format!("are now of version {SCHEMA_VERSION}; {ran} migrations ran");
    assert!(migrated.out.contains(&words), "{migrated:?}");
    assert_eq!(held.missing_from(&held.again(&tables).await), [""; 0]);

    let again = gateway(&old, "one", &model).merge(agents).merge(with_objects_of(&newest));
    let again = again.start().await;
    assert_eq!(again.history(&session).await, history);
    assert_eq!(listed(&again).await, sessions);
    let secrets = again.get("/api/admin/secrets").await.expect(200).json();
    assert_eq!(secrets["secrets"][0]["error"], Value::Null, "it opens: {secrets}");
    let approve = format!("/api/pending-changes/{draft}/approve");
    let _ = again.post(&approve, &json!({})).await.expect(200);
    let more = json!({"message": "And now?", "session_id": session});
    again.chat_stream(&more).await;
    assert!(again.history(&session).await.len() > history.len());
}

/// The names of the sessions as a gateway lists them.
async fn listed(onyx: &OnyxProcess) -> Vec<Value> {
    let list = onyx.get("/v1/sessions").await.expect(200).json();
    list["sessions"].as_array().unwrap().iter().map(|session| session["id"].clone()).collect()
}
