//! What one gateway did for all is given back although the database was away at that moment. Otherwise
//! no other gateway could do it as long as this one lives.

use std::time::Duration;

use onyx_test_support::{ScriptedModel, ServerPlace, wait_for};
use serde_json::json;
use tokio_postgres::Client;

use super::{gateway, place};
use crate::SOON;
use crate::drafts::{draft_of, message, obedient};

/// How long it may take, with a try every second. A next piece of work would give the duty back too,
/// but it comes later.
const GIVEN_BACK: Duration = Duration::from_secs(15);

/// The database is away at the first five tries to give back duties whose names begin like this.
async fn away_when_released(place: &ServerPlace, name: &str) -> Client {
    let sql = place.sql().await;
    let away = "CREATE SEQUENCE tries;
        CREATE FUNCTION away() RETURNS TRIGGER LANGUAGE plpgsql AS $away$
            BEGIN
                IF starts_with(OLD.name, 'NAME') THEN
                    IF nextval('tries') <= 5 THEN
                        RAISE EXCEPTION 'away' USING ERRCODE = '57P03';
                    END IF;
                END IF;
                RETURN OLD;
            END $away$;
        CREATE TRIGGER away BEFORE DELETE ON owners FOR EACH ROW EXECUTE FUNCTION away()";
    sql.batch_execute(&away.replace("NAME", name)).await.unwrap();
    sql
}

async fn given_back(sql: &Client, name: &str) {
    wait_for("it to be given back", GIVEN_BACK, async || {
        let owned = "SELECT count(*) FROM owners WHERE starts_with(name, $1)";
        let owned: i64 = sql.query_one(owned, &[&name]).await.unwrap().get(0);
        let tried: bool = sql.query_one("SELECT is_called FROM tries", &[]).await.unwrap().get(0);
        (owned == 0 && tried).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_draft_is_given_back_when_the_database_was_away() {
    let (place, model) = (place().await, obedient().await);
    let suggesting = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
    ]}});
    let one = gateway(&place, "one", &model).merge(suggesting).start().await;
    let write = ("write_file", json!({"path": "a.md", "content": "x"}));
    let (_, id) = draft_of(&one, json!({"message": message(&[write])})).await;
    let sql = away_when_released(&place, "draft ").await;
    let _ = one.post(&format!("/api/pending-changes/{id}/approve"), &json!({})).await.expect(200);
    given_back(&sql, "draft ").await;
}

#[tokio::test]
async fn the_making_of_vectors_is_given_back_when_the_database_was_away() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let embedder = json!({"memory": {"embedder": "mine/embed"}});
    let one = gateway(&place, "one", &model).merge(embedder).start().await;
    let sql = away_when_released(&place, "vectors").await;
    let words =
        json!({"text": "Herons stand in the marsh.", "target": "memory", "heading": "Birds"});
    let kept = one.post("/v1/memory", &words).await;
    assert!(kept.status < 300, "{}", kept.text());
    wait_for("the vector to be made", SOON * 3, async || {
        let made: i64 = sql.query_one("SELECT count(*) FROM vectors", &[]).await.unwrap().get(0);
        (made > 0).then_some(())
    })
    .await;
    given_back(&sql, "vectors").await;
}
