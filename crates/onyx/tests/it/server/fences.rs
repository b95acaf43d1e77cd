//! A gateway is frozen in the middle of its work for so long that it loses its leases, and then
//! continues. A lock in the database sets where it stops; the lock is held until the gateway is
//! alive again.

use std::sync::Arc;
use std::time::Duration;

use onyx_test_support::{
    OnyxBuilder, OnyxProcess, Page, ScriptedModel, ServerPlace, Site, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_postgres::Client;

use super::{gateway, place};
use crate::SOON;
use crate::drafts::{draft_of, message};
use crate::gate::{events_of, obedient};

/// How soon a draft that a dead gateway was applying is settled. Gateways look for such drafts
/// every half minute.
const FAILOVER: Duration = Duration::from_secs(60);

/// Two agents that may act. Words that one asks of the other were not written by a person, so they
/// need one.
fn acting(place: &ServerPlace, id: &str, model: &ScriptedModel) -> OnyxBuilder {
    gateway(place, id, model).merge(json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "act"},
        {"id": "helper", "model": "mine/some-model", "tier": "act"},
    ]}}))
}

/// A lock in the database at which a gateway stops.
struct Obstacle {
    holder: Client,
}

impl Obstacle {
    async fn put(place: &ServerPlace, lock: &str) -> Self {
        let holder = place.sql().await;
        holder.batch_execute(&format!("BEGIN; {lock}")).await.unwrap();
        Self { holder }
    }

    /// Freezes the gateway as soon as it waits for the lock, until it has lost its leases. Then it
    /// continues.
    async fn freeze(self, place: &ServerPlace, one: &OnyxProcess) {
        let sql = place.sql().await;
        let is_true = async |what: &str, select: &str| {
            wait_for(what, SOON * 3, async || {
                sql.query_one(select, &[]).await.unwrap().get::<_, bool>(0).then_some(())
            })
            .await;
        };
        let waits = "SELECT count(*) > 0 FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        is_true("it to wait for the lock", waits).await;
        one.freeze();
        let over = "SELECT until < clock_timestamp() FROM gateways WHERE id = 'one'";
        is_true("its life to be over", over).await;
        one.thaw();
        let lives = "SELECT until > clock_timestamp() FROM gateways WHERE id = 'one'";
        is_true("it to live again", lives).await;
        self.holder.batch_execute("COMMIT").await.unwrap();
    }
}

async fn draft_at(onyx: &OnyxProcess, id: &str) -> Value {
    onyx.get(&format!("/api/pending-changes/{id}")).await.expect(200).json()
}

/// Two gateways that may reach the site.
async fn two_reaching(
    place: &ServerPlace,
    model: &ScriptedModel,
    site: &Site,
) -> (OnyxProcess, OnyxProcess) {
    let web = json!({"tools": {"web": {"allowPrivateHosts": [site.address().to_string()]}}});
    let one = acting(place, "one", model).merge(web.clone());
    let two = acting(place, "two", model).merge(web);
    tokio::join!(one.start(), two.start())
}

/// The id of a draft that waits for a person, and that would send something to the site.
async fn to_be_sent(onyx: &OnyxProcess, site: &Site) -> String {
    let fetch = message(&[("web_fetch", json!({"url": site.url("/?q=secret")}))]);
    let ask = ("ask_agent", json!({"agent": "helper", "message": fetch}));
    onyx.chat_stream(&json!({"message": message(&[ask])})).await;
    let drafts = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(drafts["drafts"][0]["tool"], "web_fetch", "{drafts:#}");
    drafts["drafts"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_gateway_frozen_between_approval_and_effect_does_nothing_and_the_draft_says_why() {
    let site = Site::start(|_| Page::html("<p>hit</p>")).await;
    let (place, model) = (place().await, obedient().await);
    let (one, two) = two_reaching(&place, &model, &site).await;
    let id = to_be_sent(&one, &site).await;
    let path = format!("/api/pending-changes/{id}/approve");
    let obstacle = Obstacle::put(&place, "SELECT FROM drafts FOR UPDATE").await;
    let approval = tokio::spawn(one.request(Method::POST, &path).json(&json!({})).send());
    obstacle.freeze(&place, &one).await;
    assert_eq!(approval.await.unwrap().unwrap().status(), 200);
    assert!(site.requests().is_empty(), "{:?}", site.requests());
    let draft = draft_at(&two, &id).await;
    assert_eq!(draft["state"], "failed", "{draft:#}");
    assert!(draft["output"].as_str().unwrap().contains("silent for too long"), "{draft:#}");
}

#[tokio::test]
async fn what_a_gateway_had_done_when_it_was_frozen_is_settled_as_unknown_by_another_one() {
    let answered = Arc::new(Notify::new());
    let after = Arc::clone(&answered);
    let page = move |_: &str| Page { after: Some(Arc::clone(&after)), ..Page::html("<p>hit</p>") };
    let site = Site::start(page).await;
    let (place, model) = (place().await, obedient().await);
    let (one, two) = two_reaching(&place, &model, &site).await;
    let id = to_be_sent(&one, &site).await;
    let path = format!("/api/pending-changes/{id}/approve");
    let approval = tokio::spawn(one.request(Method::POST, &path).json(&json!({})).send());
    wait_for("the site to be asked", SOON, async || (!site.requests().is_empty()).then_some(()))
        .await;
    // The outcome is recorded together with a row of the audit chain.
    let obstacle = Obstacle::put(&place, "SELECT FROM audit_heads FOR UPDATE").await;
    answered.notify_one();
    obstacle.freeze(&place, &one).await;
    let answer = approval.await.unwrap().unwrap();
    assert_eq!(answer.status(), 503, "{}", answer.text().await.unwrap());
    let settled = wait_for("another gateway to settle it", FAILOVER, async || {
        Some(draft_at(&two, &id).await).filter(|draft| draft["state"] != "applying")
    })
    .await;
    assert_eq!(settled["state"], "unknown", "{settled:#}");
    assert!(settled["output"].as_str().unwrap().contains("outcome is not known"), "{settled:#}");
    assert_eq!(site.requests().len(), 1, "nobody asked the site again");
}

#[tokio::test]
async fn a_change_that_a_frozen_gateway_was_writing_is_finished_by_another_one() {
    let (place, model) = (place().await, obedient().await);
    let suggesting = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
    ]}});
    let one = gateway(&place, "one", &model).merge(suggesting.clone());
    let two = gateway(&place, "two", &model).merge(suggesting);
    let (one, two) = tokio::join!(one.start(), two.start());
    let propose = async |content: &str| {
        let call = ("write_file", json!({"path": "a.md", "content": content}));
        let (_, id) = draft_of(&one, json!({"message": message(&[call])})).await;
        (format!("/api/pending-changes/{id}/approve"), id)
    };
    let (approve, _) = propose("before").await;
    let _ = one.post(&approve, &json!({})).await.expect(200);
    let (approve, id) = propose("after").await;
    let lock = "SELECT FROM files WHERE path LIKE '%/vault/a.md' FOR UPDATE";
    let obstacle = Obstacle::put(&place, lock).await;
    let approval = tokio::spawn(one.request(Method::POST, &approve).json(&json!({})).send());
    obstacle.freeze(&place, &one).await;
    let answer = approval.await.unwrap().unwrap();
    assert_eq!(answer.status(), 503, "{}", answer.text().await.unwrap());
    wait_for("the change to be finished", FAILOVER, async || {
        (draft_at(&two, &id).await["state"] == "applied").then_some(())
    })
    .await;
    let read = message(&[("read_file", json!({"path": "a.md"}))]);
    let start = &two.chat_stream(&json!({"message": read})).await[0];
    let events = events_of(&two, start).await;
    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert!(result["output"].as_str().unwrap().contains("after"), "{result:#}");
}
