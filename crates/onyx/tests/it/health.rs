//! The health of everything that Onyx uses, as people see it, and the log level.

use onyx_test_support::ScriptedModel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::builder;
use crate::drafts::{message, obedient};

/// The entry with this name.
fn named<'a>(all: &'a Value, name: &str) -> &'a Value {
    let mut rows = all["dependencies"].as_array().unwrap().iter();
    rows.find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:#}"))
}

#[tokio::test]
async fn health_tells_of_everything_with_what_to_do() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let all = onyx.get("/api/health").await.expect(200).json();
    for name in ["config", "storage", "provider:mine", "disk", "index", "sandbox", "docker"] {
        assert!(named(&all, name)["state"].is_string(), "{all:#}");
    }
    assert!(named(&all, "disk")["detail"].as_str().unwrap().ends_with("MiB free"));
    for (name, key) in [("search", "tools.web.search.baseUrl"), ("embedder", "memory.embedder")] {
        let row = named(&all, name);
        assert_eq!(row["state"], "off", "{row}");
        assert!(row["hint"].as_str().unwrap().contains(key), "{row}");
    }
    assert_eq!(named(&all, "jobs")["state"], "off");
    assert_eq!(named(&all, "mcp")["state"], "off");
    // Dependencies that are not set up do not make the server less ready.
    let ready = onyx.get("/ready").await.expect(200).json();
    assert_eq!(ready["status"], "ready");

    let missing = json!({
        "mcp": {"servers": {"gone": {"command": "/nowhere/at-all"}}},
        "tools": {"web": {"search": {"baseUrl": "http://127.0.0.1:9/"}}},
    });
    let onyx = builder(&model).merge(missing).start().await;
    let all = onyx.get("/api/health").await.expect(200).json();
    let gone = named(&all, "mcp:gone");
    assert!(gone["detail"].is_string());
    assert_eq!((&gone["kind"], &gone["instance"]), (&json!("mcp"), &json!("gone")));
    assert_eq!(
        (&named(&all, "disk")["kind"], named(&all, "disk").get("instance")),
        (&json!("disk"), None)
    );
    assert_eq!(named(&all, "search")["detail"], "http://127.0.0.1:9/search");
    let stranger = crate::stranger().get(onyx.url("/api/health")).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
}

#[tokio::test]
async fn the_log_level_changes_at_run_time_is_audited_and_goes_back_at_the_next_start() {
    let model = obedient().await;
    let mut onyx = builder(&model).start().await;
    let level = "/api/admin/logs/level";
    let set = async |body: Value| {
        let sent = onyx.request(Method::PUT, level).json(&body).send().await.unwrap();
        (sent.status().as_u16(), sent.json::<Value>().await.unwrap())
    };
    let usual = json!({"level": "info", "at_start": "info"});
    assert_eq!(onyx.get(level).await.expect(200).json(), usual);
    let (status, refused) = set(json!({"level": "loud"})).await;
    assert_eq!((status, &refused["field"]), (400, &json!("level")), "{refused}");
    assert_eq!(set(json!({})).await.0, 400);

    // At the level of warnings the change itself is not logged any more.
    let logged = async |words: &str| {
        let lines = onyx.get("/api/admin/logs?limit=2000").await.expect(200).json();
        let lines = lines["lines"].as_array().unwrap().clone();
        lines.iter().filter(|line| line["message"].as_str().unwrap().contains(words)).count()
    };
    assert_eq!(set(json!({"level": "warn"})).await.0, 200);
    assert_eq!(logged("the log level was changed").await, 0);
    let (_, now) = set(json!({"level": "debug"})).await;
    assert_eq!(now, json!({"level": "debug", "at_start": "info"}));
    assert_eq!(logged("the log level was changed").await, 1);
    let audit = onyx.get("/api/admin/audit").await.expect(200).text();
    assert!(audit.contains("log level: info → warn"), "{audit}");
    assert!(audit.contains("log level: warn → debug"), "{audit}");

    let reset = onyx.request(Method::DELETE, level).send().await.unwrap();
    assert_eq!(reset.json::<Value>().await.unwrap(), usual);
    set(json!({"level": "error"})).await;
    onyx.restart().await;
    assert_eq!(onyx.get(level).await.expect(200).json(), usual);
    // Runs work at every log level.
    let told = onyx.chat_stream(&json!({"message": message(&[])})).await;
    assert_eq!(told.last().unwrap()["status"], "done");
}
