//! Vectors where several transactions write the index at the same time.

use onyx_test_support::{OnyxProcess, ScriptedModel, wait_for};
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::{gateway, place};
use crate::SOON;

const NEWER: &str = "SELECT count(*) FROM vectors WHERE chunk > $1";
const OF_CHUNK: &str = "SELECT count(*) FROM vectors WHERE chunk = $1";

async fn keep(onyx: &OnyxProcess, words: Value) {
    let kept = onyx.post("/v1/memory", &words).await;
    assert!(kept.status < 300, "{}", kept.text());
}

/// Waits until this count of vectors is not zero.
async fn embedded(sql: &Client, count: &str, chunk: i64) {
    wait_for("the vector to be made", SOON * 3, async || {
        let found: i64 = sql.query_one(count, &[&chunk]).await.unwrap().get(0);
        (found > 0).then_some(())
    })
    .await;
}

async fn newest_vector(sql: &Client) -> i64 {
    let newest = "SELECT coalesce(max(chunk), 0) FROM vectors";
    sql.query_one(newest, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_text_that_is_seen_later_than_one_with_a_higher_number_gets_its_vector() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let embedder = json!({"memory": {"embedder": "mine/embed"}});
    let one = gateway(&place, "one", &model).merge(embedder).start().await;
    let sql = place.sql().await;
    let daily = |text: &str| json!({"agent": "main", "text": text, "target": "daily"});
    let herons =
        json!({"text": "Herons stand in the marsh.", "target": "memory", "heading": "Birds"});
    keep(&one, herons).await;
    embedded(&sql, NEWER, 0).await;
    // Another gateway writes a text, and its transaction stays open.
    let other = place.sql().await;
    let write = "INSERT INTO chunks (source, start_line, end_line, heading, origin, text, hash)
                 SELECT source, 9, 9, heading, origin, 'Bitterns boom.', sha256('Bitterns boom.')
                 FROM chunks ORDER BY id LIMIT 1 RETURNING id, source";
    other.batch_execute("BEGIN").await.unwrap();
    let written = other.query_one(write, &[]).await.unwrap();
    let (chunk, source): (i64, i64) = (written.get(0), written.get(1));
    // Each pass begins after the one before has noted how far it came.
    for text in ["Terns dive.", "Gulls follow the boats."] {
        let before = newest_vector(&sql).await.max(chunk);
        keep(&one, daily(text)).await;
        embedded(&sql, NEWER, before).await;
    }
    let change = "UPDATE source_changes SET seq = NULL, is_text = TRUE WHERE source = $1";
    assert_eq!(other.execute(change, &[&source]).await.unwrap(), 1);
    other.batch_execute("COMMIT").await.unwrap();
    keep(&one, daily("Ducks sleep.")).await;
    embedded(&sql, OF_CHUNK, chunk).await;
}
