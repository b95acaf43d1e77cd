//! Approvals through one gateway for a run that works at another.

use std::time::Duration;

use onyx_test_support::{Answer, OnyxProcess, Page, ScriptedCall, ScriptedModel, Site, wait_for};
use serde_json::{Value, json};

use super::silent_database::behind;
use super::{gateway, place};
use crate::SOON;
use crate::drafts::{message, obedient};

#[tokio::test]
async fn an_approval_through_the_other_gateway_holds_for_the_whole_run_if_the_person_says_so() {
    let site = Site::start(|_| Page::html("<p>here</p>")).await;
    let fetch = |id: &str, path: &str| {
        Answer::tool_calls([ScriptedCall::new(id, "web_fetch", &json!({"url": site.url(path)}))])
    };
    let model = ScriptedModel::with_answers([
        fetch("a", "/one"),
        fetch("b", "/two"),
        fetch("c", "/three"),
        Answer::text("done"),
    ])
    .await;
    let web = json!({"tools": {"web": {"allowPrivateHosts": [site.address().to_string()]}}});
    let place = place().await;
    let one = gateway(&place, "one", &model).merge(web.clone());
    let two = gateway(&place, "two", &model).merge(web);
    let (one, two) = tokio::join!(one.start(), two.start());
    let mut lines = one.chat_lines(&json!({"message": "look around"})).await;
    for scope in ["once", "run"] {
        let confirm = lines.until("confirm").await;
        let draft = confirm["draft_id"].as_str().unwrap();
        let approve = format!("/api/pending-changes/{draft}/approve");
        let _ = two.post(&approve, &json!({"scope": scope})).await.expect(200);
    }
    let end = loop {
        let line = lines.next().await.expect("the run goes on");
        assert_ne!(line["type"], "confirm", "it was approved for the whole run: {line}");
        if line["type"] == "done" {
            break line;
        }
    };
    assert_eq!(end["status"], "done", "{end}");
    assert_eq!(site.requests().len(), 3);
}

/// Whoever takes the lease of a draft waits for the row of `gate`, and the lease is then noted.
const HELD_UP: &str = "CREATE TABLE gate (id INTEGER);
    INSERT INTO gate VALUES (1);
    CREATE TABLE taken (name TEXT);
    CREATE FUNCTION held_up() RETURNS TRIGGER LANGUAGE plpgsql AS $held_up$
        BEGIN
            IF NEW.name LIKE 'draft %' THEN
                PERFORM FROM gate FOR UPDATE;
                INSERT INTO taken VALUES (NEW.name);
            END IF;
            RETURN NEW;
        END $held_up$;
    CREATE TRIGGER held_up AFTER INSERT ON owners FOR EACH ROW EXECUTE FUNCTION held_up()";

/// How many drafts a gateway holds, as the owner sees it at another one.
async fn drafts_held(by: &str, seen_at: &OnyxProcess) -> Value {
    let list = seen_at.get("/api/admin/gateways").await.expect(200).json();
    let mut gateways = list["gateways"].as_array().unwrap().iter();
    gateways.find(|gateway| gateway["id"] == by).expect("it is listed")["drafts"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_whose_lease_was_taken_without_an_answer_is_given_back() {
    let (place, model) = (place().await, obedient().await);
    let suggests = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
    ]}});
    let one = gateway(&place, "one", &model).merge(suggests.clone());
    let two = gateway(&place, "two", &model).merge(suggests);
    let ((proxy, one), two) = tokio::join!(behind(&place, one), two.start());
    let write = message(&[("write_file", json!({"path": "birds.md", "content": "A heron."}))]);
    let events = two.chat_stream(&json!({"message": write})).await;
    let draft = events.iter().find(|event| event["type"] == "draft").expect("a draft");
    let approve = format!("/api/pending-changes/{}/approve", draft["draft_id"].as_str().unwrap());

    let (sql, mut holder) = (place.sql().await, place.sql().await);
    sql.batch_execute(HELD_UP).await.unwrap();
    let gate = holder.transaction().await.unwrap();
    gate.batch_execute("SELECT FROM gate FOR UPDATE").await.unwrap();
    let nothing = json!({});
    let cut_off = async {
        wait_for("the lease to be asked for", SOON, async || {
            let waits = "SELECT count(*) > 0 FROM pg_stat_activity
                         WHERE datname = current_database() AND wait_event_type = 'Lock'
                           AND query LIKE 'INSERT INTO owners%'";
            sql.query_one(waits, &[]).await.unwrap().get::<_, bool>(0).then_some(())
        })
        .await;
        proxy.cut();
    };
    let (unanswered, ()) = tokio::join!(one.post(&approve, &nothing), cut_off);
    assert_eq!(unanswered.status, 503, "{}", unanswered.text());
    proxy.heal();
    gate.commit().await.unwrap();
    wait_for("the lease to be taken", SOON, async || {
        let taken = "SELECT count(*) > 0 FROM taken";
        sql.query_one(taken, &[]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    wait_for("the lease to be given back", SOON, async || {
        (drafts_held("one", &two).await == json!(0)).then_some(())
    })
    .await;
    let _ = two.post(&approve, &nothing).await.expect(200);
}

/// Without the lease, another gateway could take the draft for one that a crash left half applied.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_waits_for_the_lease_of_the_draft() {
    let (place, model) = (place().await, obedient().await);
    let suggests = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
    ]}});
    let one = gateway(&place, "one", &model).merge(suggests.clone());
    let two = gateway(&place, "two", &model).merge(suggests);
    let (one, two) = tokio::join!(one.start(), two.start());
    let write = message(&[("write_file", json!({"path": "birds.md", "content": "A heron."}))]);
    let events = one.chat_stream(&json!({"message": write})).await;
    let draft = events.iter().find(|event| event["type"] == "draft").expect("a draft");
    let draft = draft["draft_id"].as_str().unwrap();
    let sql = place.sql().await;
    let name = format!("draft {draft}");
    let take = "INSERT INTO owners (name, gateway, incarnation, fence)
                SELECT $1::TEXT, id, incarnation, 1000000 FROM gateways WHERE id = 'two'";
    assert_eq!(sql.execute(take, &[&name]).await.unwrap(), 1, "the other gateway has the lease");

    let (approve, nothing) = (format!("/api/pending-changes/{draft}/approve"), json!({}));
    let mut approved = std::pin::pin!(one.post(&approve, &nothing));
    let told_at_once = tokio::time::timeout(Duration::from_secs(2), &mut approved).await;
    assert!(told_at_once.is_err(), "it waits: {}", told_at_once.unwrap().text());
    let shown = two.get(&format!("/api/pending-changes/{draft}")).await.expect(200).json();
    assert_eq!(shown["state"], "pending", "{shown}");
    sql.execute("DELETE FROM owners WHERE name = $1", &[&name]).await.unwrap();
    let _ = approved.await.expect(200);
}
