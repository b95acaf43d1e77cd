//! Changes that people make to conversations: ratings, tags, temporary chats, attaching.

use onyx_test_support::{OnyxProcess, ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{SOON, builder, run};

async fn patch(onyx: &OnyxProcess, session: &str, body: &Value) -> (u16, Value) {
    let request = onyx.request(Method::PATCH, &format!("/v1/sessions/{session}")).json(body);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Sends a message and returns the session.
async fn talk(onyx: &OnyxProcess, body: &Value) -> String {
    let told = onyx.chat_stream(body).await;
    told[0]["session_id"].as_str().unwrap().to_owned()
}

async fn turn(onyx: &OnyxProcess, session: &str, kind: &str) -> String {
    let page = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let turns = page["turns"].as_array().unwrap();
    turns.iter().find(|turn| turn["type"] == kind).unwrap()["id"].as_str().unwrap().to_owned()
}

async fn listed(onyx: &OnyxProcess, query: &str) -> Vec<String> {
    let list = onyx.get(&format!("/v1/sessions?{query}")).await.expect(200).json();
    let ids = list["sessions"].as_array().unwrap().iter();
    ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_rating_is_kept_in_the_log_exported_and_never_shown_to_a_model() {
    let model = ScriptedModel::start().await;
    model.set_default("Boil it for an hour.");
    let mut onyx = builder(&model).start().await;
    let session = talk(&onyx, &json!({"message": "How do I cook an egg?"})).await;
    let (answer, question) =
        (turn(&onyx, &session, "assistant_text").await, turn(&onyx, &session, "user").await);
    let place = |turn: &str| format!("/v1/sessions/{session}/turns/{turn}/feedback");
    let rate = async |turn: &str, body: Value| {
        let request = onyx.request(Method::PUT, &place(turn)).json(&body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let before = onyx.get(&format!("/v1/sessions/{session}")).await.expect(200).json();
    let (status, _) = rate(&answer, json!({"rating": "good"})).await;
    assert_eq!(status, 200);
    let bad = json!({"rating": "bad", "note": " CANARYNOTE: ten minutes \n"});
    let (_, kept) = rate(&answer, bad).await;
    let expected = json!({"about": answer, "rating": "bad", "note": "CANARYNOTE: ten minutes"});
    assert_eq!(kept, expected);

    // Only answers can be rated, and only with valid ratings.
    assert_eq!(rate(&question, json!({"rating": "good"})).await.0, 404);
    let elsewhere = "01890000-0000-7000-8000-000000000000";
    assert_eq!(rate(elsewhere, json!({"rating": "good"})).await.0, 404);
    assert_eq!(rate(&answer, json!({"rating": "superb"})).await.0, 400);
    let (status, refused) = rate(&answer, json!({"rating": "bad", "note": "x".repeat(4001)})).await;
    assert_eq!((status, &refused["field"]), (400, &json!("note")), "{refused}");

    // No prompt contains the rating, and the rating does not change the conversation's time.
    talk(&onyx, &json!({"message": "Thanks.", "session_id": session})).await;
    let heard = model.last_request().body.to_string();
    assert!(heard.contains("Boil it") && !heard.contains("CANARYNOTE"), "{heard}");
    let log = onyx.get(&format!("/v1/sessions/{session}/export")).await.expect(200).text();
    assert!(log.lines().any(|line| line.contains("\"feedback\"") && line.contains("CANARYNOTE")));
    let page = format!("/v1/sessions/{session}/export?format=markdown");
    let page = onyx.get(&page).await.expect(200).text();
    assert!(page.contains("Boil it for an hour.\n\n> Rated bad: CANARYNOTE"), "{page}");
    assert!(!page.contains("Rated good"), "{page}");

    // Without the database the rating is read from the log.
    onyx.kill().await;
    for name in ["onyx.db", "onyx.db-wal", "onyx.db-shm"] {
        let _ = std::fs::remove_file(onyx.home().join(name));
    }
    let done = run(&onyx.home(), &["reindex"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    onyx.restart().await;
    let shown = onyx.get(&format!("/v1/sessions/{session}")).await.expect(200).json();
    assert_eq!(shown["message_count"], json!(4));
    assert!(shown["updated_at"].as_str().unwrap() >= before["updated_at"].as_str().unwrap());
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let said = turns["turns"].as_array().unwrap().iter().filter(|turn| turn["type"] == "feedback");
    assert_eq!(said.count(), 2);
}

#[tokio::test]
async fn tags_sort_conversations_with_their_forks() {
    let model = ScriptedModel::start().await;
    model.set_default("ok");
    let onyx = builder(&model).start().await;
    let boats = talk(&onyx, &json!({"message": "boats"})).await;
    let bread = talk(&onyx, &json!({"message": "bread"})).await;
    let (status, view) =
        patch(&onyx, &boats, &json!({"tags": ["sea", " home  work ", "sea"]})).await;
    assert_eq!((status, &view["tags"]), (200, &json!(["home work", "sea"])));
    patch(&onyx, &bread, &json!({"tags": ["home work"]})).await;
    assert_eq!(listed(&onyx, "tag=sea").await, std::slice::from_ref(&boats));
    assert_eq!(listed(&onyx, "tag=home%20work").await, [bread.clone(), boats.clone()]);
    assert_eq!(listed(&onyx, "tag=se").await, Vec::<String>::new());

    let answer = turn(&onyx, &boats, "run_end").await;
    let fork = onyx.post(&format!("/v1/sessions/{boats}/fork"), &json!({"turn_id": answer})).await;
    let fork = fork.expect(201).json();
    assert_eq!(fork["tags"], json!(["home work", "sea"]));
    let tags = async || onyx.get("/v1/tags").await.expect(200).json()["tags"].clone();
    let both =
        json!([{"tag": "home work", "conversations": 2}, {"tag": "sea", "conversations": 1}]);
    assert_eq!(tags().await, both);

    let (status, refused) = patch(&onyx, &boats, &json!({"tags": ["a", " "]})).await;
    assert_eq!((status, &refused["field"]), (400, &json!("tags[1]")), "{refused}");
    let many: Vec<_> = (0..17).map(|number| number.to_string()).collect();
    assert_eq!(patch(&onyx, &boats, &json!({"tags": many})).await.0, 400);
    let fork = fork["id"].as_str().unwrap();
    patch(&onyx, fork, &json!({"tags": []})).await;
    assert_eq!(tags().await, json!([{"tag": "home work", "conversations": 1}]));
}

#[tokio::test]
async fn a_temporary_chat_is_in_no_list_index_or_memory_and_goes_after_a_day() {
    let model = ScriptedModel::start().await;
    model.set_default("Nobody will know.");
    let mut onyx = builder(&model).start().await;
    let temporary = json!({"message": "My secret is CANARYFISH.", "temporary": true});
    let secret = talk(&onyx, &temporary).await;
    let tools = model.last_request().body["tools"].to_string();
    assert!(tools.contains("memory_search") && !tools.contains("memory_write"), "{tools}");
    let plain = talk(&onyx, &json!({"message": "My boat is CANARYBOAT."})).await;
    assert!(model.last_request().body["tools"].to_string().contains("memory_write"));
    assert_eq!(listed(&onyx, "limit=10").await, std::slice::from_ref(&plain));
    let shown = onyx.get(&format!("/v1/sessions/{secret}")).await.expect(200).json();
    assert_eq!((&shown["origin"], &shown["unread"]), (&json!("temporary"), &json!(false)));
    // A later message is found, so the index is past the temporary chat and has left it out.
    wait_for("the index", SOON, async || {
        let found = listed(&onyx, "q=CANARYBOAT").await;
        let hits = onyx.get("/v1/memory/search?q=CANARYBOAT").await.expect(200).json();
        let is_found = hits["results"].as_array().is_some_and(|hits| !hits.is_empty());
        (found == [plain.clone()] && is_found).then_some(())
    })
    .await;
    assert_eq!(listed(&onyx, "q=CANARYFISH").await, Vec::<String>::new());
    let hits = onyx.get("/v1/memory/search?q=CANARYFISH").await.expect(200).text();
    assert!(!hits.contains("secret is"), "{hits}");
    let twice = json!({"message": "x", "temporary": true, "session_id": plain});
    let _ = onyx.post("/api/agent/chat", &twice).await.expect(400);

    // The chat survives a restart. It is deleted a day after its last message.
    onyx.restart().await;
    let _ = onyx.get(&format!("/v1/sessions/{secret}")).await.expect(200);
    onyx.kill().await;
    age(&onyx, &secret);
    age(&onyx, &plain);
    onyx.restart().await;
    wait_for("the temporary chat to go", SOON, async || {
        let gone = onyx.get(&format!("/v1/sessions/{secret}")).await.status == 404;
        gone.then_some(())
    })
    .await;
    let _ = onyx.get(&format!("/v1/sessions/{plain}")).await.expect(200);
    let logs = onyx.home().join("people/owner/sessions/main");
    assert!(!logs.join(format!("{secret}.jsonl")).exists());
}

/// Makes a session 25 hours older.
fn age(onyx: &OnyxProcess, session: &str) {
    let books = rusqlite::Connection::open(onyx.home().join("onyx.db")).unwrap();
    let hours = 25 * 60 * 60 * 1000;
    let older = "UPDATE sessions SET created_at = created_at - ?1, updated_at = updated_at - ?1
                 WHERE session = ?2";
    assert_eq!(books.execute(older, rusqlite::params![hours, session]).unwrap(), 1);
}

#[tokio::test]
async fn a_conversation_is_attached_to_a_task_and_listed_there() {
    let model = ScriptedModel::start().await;
    model.set_default("ok");
    let onyx = builder(&model).start().await;
    let _ = onyx.post("/api/spaces", &json!({"name": "Garden", "id": "garden"})).await.expect(201);
    let new = json!({"title": "Prune the roses"});
    let task = onyx.post("/api/spaces/garden/tasks", &new).await.expect(201).json();
    let id = task["id"].as_str().unwrap();
    let about = format!("/api/spaces/garden/tasks/{id}/conversations");
    let attached = async || {
        let list = onyx.get(&about).await.expect(200).json();
        let ids = list["sessions"].as_array().unwrap().iter();
        ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(attached().await, Vec::<String>::new());
    let session = talk(&onyx, &json!({"message": "When are roses pruned?"})).await;
    let entity = json!({"space": "garden", "kind": "task", "id": id});
    let (status, view) = patch(&onyx, &session, &json!({"attached": entity})).await;
    assert_eq!((status, &view["attached"]), (200, &entity));
    assert_eq!(attached().await, std::slice::from_ref(&session));

    let nowhere = json!({"space": "garden", "kind": "task", "id": "nothing"});
    assert_eq!(patch(&onyx, &session, &json!({"attached": nowhere})).await.0, 404);
    assert_eq!(patch(&onyx, &session, &json!({"attached": "roses"})).await.0, 400);
    // Other changes keep the attachment, and `null` removes it.
    let (_, view) = patch(&onyx, &session, &json!({"title": "Roses"})).await;
    assert_eq!(view["attached"], entity);
    let (_, view) = patch(&onyx, &session, &json!({"attached": null})).await;
    assert_eq!(view.get("attached"), None);
    assert_eq!(attached().await, Vec::<String>::new());
    let _ = onyx.get("/api/spaces/garden/tasks/nothing/conversations").await.expect(404);
}
