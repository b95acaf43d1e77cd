//! Requests with ids of another person's things.

use std::collections::BTreeMap;
use std::path::Path;

use onyx_api::Access;
use onyx_test_support::{AgentClient, OnyxProcess, Reply, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use crate::builder;

async fn client_of(onyx: &OnyxProcess, person: &str) -> AgentClient {
    let body = json!({"name": person, "people": [person]});
    let made = onyx.post("/api/admin/tokens", &body).await.expect(201).json();
    AgentClient::new(onyx.base_url(), made["token"].as_str().unwrap())
}

/// All files under a folder with their bytes.
pub(crate) fn files_under(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                all.insert(path.display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[tokio::test]
async fn everything_of_one_person_is_not_there_for_another_and_stays_as_it_was() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"people": ["anna", "bert"]})).start().await;
    let (anna, bert) = (client_of(&onyx, "anna").await, client_of(&onyx, "bert").await);
    let events = anna.chat_stream(&json!({"message": "hello"})).await;
    let (session, run) = (events[0]["session_id"].clone(), events[0]["run_id"].clone());
    let path = format!("/v1/sessions/{}/turns", session.as_str().unwrap());
    let turns = anna.get(&path).await.expect(200).json();
    let turn = turns["turns"][0]["id"].clone();
    let before = files_under(&onyx.home().join("people/anna"));
    assert!(!before.is_empty());
    let asked = model.request_count();

    let body = json!({"title": "stolen", "turn_id": turn, "status": "archived"});
    let mut tried = 0;
    for route in onyx_api::routes().table() {
        let personal = matches!(route.access, Access::Read | Access::Write | Access::Chat);
        if !personal || !route.path.contains('{') {
            continue;
        }
        let id = if route.path.contains("/runs/") { &run } else { &session };
        let pieces = route.path.split('/');
        let pieces = pieces.map(|at| if at.starts_with('{') { id.as_str().unwrap() } else { at });
        let path = pieces.collect::<Vec<_>>().join("/");
        let method: Method = route.method.parse().unwrap();
        let request = bert.request(method, &path).json(&body);
        let reply = Reply::of(request).await;
        let is_sessions = path.starts_with("/v1/sessions/") || path.starts_with("/api/runs/");
        // This status means that there is nothing to resume, so it is no success.
        let is_nothing = reply.status == 204 && route.path == "/api/v1/chat/{id}/stream";
        let is_kept = is_nothing || !(200..300).contains(&reply.status);
        assert!(is_kept, "{route:?} {}", reply.text());
        if is_sessions {
            assert_eq!(reply.status, 404, "{route:?} {}", reply.text());
            tried += 1;
        }
    }
    assert!(tried >= 9, "{tried} routes with ids");
    for (path, body) in [
        ("/api/agent/chat-stream", json!({"session_id": session, "message": "x"})),
        ("/api/agent/chat", json!({"session_id": session, "message": "x"})),
        ("/api/agent/stop", json!({"session_id": session})),
        ("/api/agent/stop", json!({"run_id": run})),
        ("/api/agent/session/clear", json!({"session_id": session})),
    ] {
        let reply = bert.post(path, &body).await;
        let stopped_nothing = reply.status == 200 && reply.json()["stopped"] == json!(false);
        assert!(reply.status == 404 || stopped_nothing, "{path} {body} {}", reply.text());
    }
    let path = format!("/api/agent/session/history?session_id={}", session.as_str().unwrap());
    assert_eq!(bert.get(&path).await.status, 404);
    let before_cursor = format!("/v1/sessions?before={}", session.as_str().unwrap());
    assert_eq!(bert.get(&before_cursor).await.status, 404);
    assert_eq!(bert.get("/v1/sessions").await.json(), json!({"sessions": []}));
    assert_eq!(files_under(&onyx.home().join("people/anna")), before);
    assert_eq!(model.request_count(), asked);
    let own = anna.get("/v1/sessions").await.json();
    assert_eq!(own["sessions"][0]["id"], session);
    assert_ne!(own["sessions"][0]["title"], Value::from("stolen"));
}
