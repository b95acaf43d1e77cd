//! The object store becomes unavailable while a gateway works, and its key loses rights.

use onyx_test_support::{FaultProxy, OnyxProcess, ServerPlace, wait_for};
use serde_json::{Value, json};

use super::{gateway, place};
use crate::drafts::{message, obedient};
use crate::{SOON, said};

const LARGE: &str = "/v1/memory/files/vault/large.md";

/// A call that writes a file that is too large for a row of the database and unlike any other.
fn write(path: &str) -> Value {
    let words = format!("{path}: a heron stood in the marsh near Ribe. ").repeat(2_000);
    json!({"message": message(&[("write_file", json!({"path": path, "content": words}))])})
}

async fn dependency(onyx: &OnyxProcess, name: &str) -> Value {
    let ready = onyx.get("/ready").await.expect(200).json();
    let all = ready["dependencies"].as_array().unwrap().clone();
    let found = all.into_iter().find(|dependency| dependency["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {ready:#}"))
}

async fn in_state(onyx: &OnyxProcess, state: &str) -> Value {
    wait_for("the store to be seen as it is", SOON * 2, async || {
        let objects = dependency(onyx, "objects").await;
        (objects["state"] == state).then_some(objects)
    })
    .await
}

#[tokio::test]
async fn without_the_store_a_gateway_says_so_keeps_what_was_said_and_heals() {
    let (place, model) = (place().await, obedient().await);
    let proxy = FaultProxy::before(place.servers.objects.parse().unwrap()).await;
    let endpoint = format!("http://{}", proxy.address);
    let onyx = gateway(&place, "one", &model)
        .merge(json!({"storage": {"s3": {"endpoint": endpoint}}}))
        .start()
        .await;
    onyx.chat_stream(&write("large.md")).await;
    assert!(onyx.get(LARGE).await.expect(200).text().contains("marsh"));
    in_state(&onyx, "ok").await;

    proxy.cut();
    let refused = onyx.get(LARGE).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.headers.contains_key("retry-after"), "{:?}", refused.headers);
    assert!(refused.text().contains("storage_unavailable"), "{}", refused.text());
    let away = in_state(&onyx, "degraded").await;
    assert!(away["hint"].as_str().unwrap().contains("storage.s3"), "{away}");
    let health = onyx.get("/api/health").await;
    assert!(health.text().contains("objects"), "{}", health.text());
    let events = onyx.chat_stream(&write("other.md")).await;
    assert_eq!(events.last().unwrap()["status"], "done", "{events:#?}");
    let session = events[0]["session_id"].as_str().unwrap();
    let answer = said(&events);
    let history = onyx.history(session).await;
    let last = history.last().unwrap().to_string();
    assert!(!answer.is_empty() && last.contains(&answer), "{answer}: {history:#?}");
    let heard = model.last_request().body["messages"].to_string();
    let told = heard.rsplit("\"role\":\"tool\"").next().unwrap();
    assert!(!told.contains("wrote other.md"), "the agent is told: {told}");

    proxy.heal();
    in_state(&onyx, "ok").await;
    assert!(onyx.get(LARGE).await.expect(200).text().contains("marsh"));
}

/// Denies an action on the objects of the bucket.
fn deny(place: &ServerPlace, action: &str) {
    let bucket = &place.name;
    let policy = json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Action": format!("s3:{action}"),
        "Resource": format!("arn:aws:s3:::{bucket}/*"),
    }]});
    let status = place.servers.http("PUT", &format!("/{bucket}?policy"), &policy.to_string());
    assert!((200..300).contains(&status));
}

#[tokio::test]
async fn a_right_that_the_key_loses_is_named() {
    let (place, model) = (place().await, obedient().await);
    let onyx = gateway(&place, "one", &model).start().await;
    onyx.chat_stream(&write("large.md")).await;
    deny(&place, "GetObject");
    let refused = onyx.get(LARGE).await;
    assert_eq!(refused.status, 500, "{}", refused.text());
    assert!(refused.text().contains("does not let this key get"), "{}", refused.text());
    let lost = in_state(&onyx, "degraded").await;
    assert!(lost["hint"].as_str().unwrap().contains("rights"), "{lost}");
}
