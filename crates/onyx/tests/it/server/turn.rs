//! A conversation with PostgreSQL and S3 through real HTTP.

use onyx_test_support::{
    Answer, MASTER_KEY, OnyxProcess, Script, ScriptedModel, ServerPlace, Step, wait_for,
};
use reqwest::Method;
use serde_json::json;

use super::{gateway, place, start};
use crate::drafts::{message, obedient};
use crate::{Ran, SOON, builder, command, said, types};

#[tokio::test]
async fn a_whole_turn_is_kept_in_the_database_and_nothing_of_it_in_the_home() {
    let place = place().await;
    let model = ScriptedModel::with_answers([Answer::text("Forty-two.")]).await;
    let mut onyx = start(&place, "one", &model).await;
    let events = onyx.chat_stream(&json!({"message": "What is the answer?"})).await;
    assert_eq!(said(&events), "Forty-two.");
    assert_eq!(types(&events).last(), Some(&"done"));
    let session = events[0]["session_id"].as_str().unwrap().to_owned();
    let history = onyx.history(&session).await;
    assert_eq!(history.len(), 2, "{history:#?}");
    // A new process has only the database.
    onyx.terminate().await;
    onyx.restart().await;
    assert_eq!(onyx.history(&session).await, history);
    model.push(Answer::text("Still forty-two."));
    let more = json!({"message": "Sure?", "session_id": session});
    assert_eq!(said(&onyx.chat_stream(&more).await), "Still forty-two.");
    assert_eq!(onyx.history(&session).await.len(), 4);
    let list = onyx.get("/v1/sessions").await.expect(200).json();
    assert_eq!(list["sessions"][0]["id"], session.as_str());
    let rows = "SELECT (SELECT count(*) FROM turns) + (SELECT count(*) FROM segments)";
    assert!(place.sql().await.query_one(rows, &[]).await.unwrap().get::<_, i64>(0) > 0);
    let here = onyx.home();
    assert!(!here.join("onyx.db").exists(), "there is no database of its own");
    let people: Vec<_> = std::fs::read_dir(here.join("people")).unwrap().collect();
    assert!(people.is_empty(), "{people:?}");
    assert_eq!(onyx.get("/ready").await.status, 200);
}

#[tokio::test]
async fn tools_write_files_that_are_proposed_approved_read_and_found() {
    let (place, model) = (place().await, obedient().await);
    let onyx = gateway(&place, "one", &model)
        .merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
        ]}}))
        .start()
        .await;
    let words = "A heron stood in the marsh near Ribe. ".repeat(2_000);
    let write = message(&[("write_file", json!({"path": "birds.md", "content": words}))]);
    let events = onyx.chat_stream(&json!({"message": write})).await;
    let draft = events.iter().find(|event| event["type"] == "draft").expect("a draft");
    let id = draft["draft_id"].as_str().unwrap();
    let approve = format!("/api/pending-changes/{id}/approve");
    let _ = onyx.post(&approve, &json!({})).await.expect(200);
    let read = message(&[("read_file", json!({"path": "birds.md"}))]);
    onyx.chat_stream(&json!({"message": read})).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("A heron stood in the marsh"), "{heard}");
    // The file is too large for a row, so it is in the object store.
    let stored = "SELECT bool_or(sha256 IS NOT NULL) FROM files WHERE path LIKE '%/vault/birds.md'";
    assert!(place.sql().await.query_one(stored, &[]).await.unwrap().get::<_, bool>(0));
    let found = wait_for("the file to be found", SOON, async || {
        let found = onyx.get("/v1/memory/search?q=heron").await.text();
        found.contains("birds.md").then_some(found)
    })
    .await;
    assert!(found.contains("heron"), "{found}");
}

#[tokio::test]
async fn commands_are_offered_whether_the_files_lie_on_the_disk_or_in_a_database() {
    let (place, model) = (place().await, obedient().await);
    let may_count = json!({"agents": {"list": [{
        "id": "main", "default": true, "model": "mine/some-model", "tier": "act",
        "tools": {"commands": [["wc", "-w"]]},
    }]}});
    let offered = async |onyx: &OnyxProcess| -> Vec<String> {
        let write = ("write_file", json!({"path": "a.md", "content": "one two three"}));
        let count = ("exec", json!({"argv": ["wc", "-w", "a.md"]}));
        onyx.chat_stream(&json!({"message": message(&[write, count])})).await;
        let request = model.last_request();
        assert!(request.body["messages"].to_string().contains("3 a.md"), "{}", request.body);
        let tools = request.body["tools"].as_array().unwrap().clone();
        let names = tools.iter().map(|tool| &tool["function"]["name"]);
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let alone = builder(&model).merge(may_count.clone()).start().await;
    let one_of_several = gateway(&place, "one", &model).merge(may_count).start().await;
    for onyx in [&alone, &one_of_several] {
        let names = offered(onyx).await;
        for name in ["exec", "process", "read_file"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        let mut doctor = command(&onyx.home(), &["doctor"]);
        doctor.env("ONYX_KEYS", onyx.home().join("../keys")).env("ONYX_MASTER_KEY", MASTER_KEY);
        let said: Ran = doctor.output().await.unwrap().into();
        assert!(
            said.out.contains("run in bubblewrap") || said.out.contains("run behind Landlock"),
            "{said:?}"
        );
    }
}

/// Allows new connections to the database, or denies them and closes all that are open.
async fn let_in(place: &ServerPlace, allow: &str) {
    let elsewhere = place.servers.url("postgres");
    let (client, connection) =
        tokio_postgres::connect(&elsewhere, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let set = ["ALTER DATABASE ", &place.name, " ALLOW_CONNECTIONS ", allow].concat();
    client.batch_execute(&set).await.unwrap();
    // A connection that the gateway opens as soon as it may is one with which it goes on.
    if allow == "false" {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
        client.query(end, &[&place.name]).await.unwrap();
    }
}

#[tokio::test]
async fn a_database_that_goes_away_is_told_and_heals_by_itself() {
    let place = place().await;
    let model = ScriptedModel::start().await;
    let onyx = start(&place, "one", &model).await;
    let close = async |allow: &str| let_in(&place, allow).await;
    close("false").await;
    let refused = onyx.get("/v1/sessions").await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("storage_unavailable"), "{}", refused.text());
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(onyx.get("/ready").await.status, 503);
    close("true").await;
    wait_for("it to heal", SOON, async || (onyx.get("/ready").await.status == 200).then_some(()))
        .await;
    model.push(Answer::text("Here again."));
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "Hello?"})).await), "Here again.");
}

/// The gateway stays alive and could keep the session until its lease expires, which takes longer
/// than this test waits.
#[tokio::test]
async fn a_run_whose_end_could_not_be_written_gets_an_end_when_the_database_is_back() {
    let place = place().await;
    let model =
        ScriptedModel::with_answers([Script::new([Step::Text("half".into()), Step::Hang])]).await;
    let onyx = start(&place, "one", &model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let start = lines.until("start").await;
    lines.until("text").await;
    let run = start["run_id"].as_str().unwrap().to_owned();
    let_in(&place, "false").await;
    // Stopping the run writes its end, which fails.
    let cancel = onyx.request(Method::POST, &format!("/api/runs/{run}/cancel")).json(&json!({}));
    let cancelled = tokio::spawn(cancel.send());
    let events = lines.rest().await;
    assert!(events.iter().any(|event| event["type"] == "error"), "{events:#?}");
    assert_ne!(events.last().unwrap()["status"], "cancelled", "nothing of that is on disk");
    drop(cancelled.await.unwrap());
    let_in(&place, "true").await;
    let sql = place.sql().await;
    wait_for("the run to have an end", SOON, async || {
        let ended = "SELECT status FROM runs WHERE run = $1 AND status IS NOT NULL";
        sql.query_opt(ended, &[&run]).await.unwrap()
    })
    .await;
    let session = start["session_id"].as_str().unwrap();
    assert_eq!(onyx.history(session).await.len(), 2, "what was said is kept");
    model.push(Answer::text("Here again."));
    let more = json!({"message": "Still there?", "session_id": session});
    assert_eq!(said(&onyx.chat_stream(&more).await), "Here again.");
}
