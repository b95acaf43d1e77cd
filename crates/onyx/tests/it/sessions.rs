//! Sessions over HTTP: settings, several agents, titles, families, lists.

use onyx_test_support::{
    Answer, ErrorKind, OnyxProcess, RecordedRequest, Reply, Script, ScriptedCall, ScriptedModel,
    Step, wait_for, wait_until,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{SOON, builder, onyx, said, types};

async fn patch(onyx: &OnyxProcess, session: &str, body: &Value) -> Reply {
    Reply::of(onyx.request(Method::PATCH, &format!("/v1/sessions/{session}")).json(body)).await
}

async fn set(onyx: &OnyxProcess, session: &str, body: &Value) {
    let reply = patch(onyx, session, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

async fn shown(onyx: &OnyxProcess, session: &str) -> Value {
    onyx.get(&format!("/v1/sessions/{session}")).await.expect(200).json()
}

/// A server with the agents ada (the default), bob and cyd, each with a model of the same name.
async fn three_agents(model: &ScriptedModel, limits: Value) -> OnyxProcess {
    let agent = |id: &str| json!({"id": id, "model": format!("mine/{id}"), "tier": "act"});
    let agents = json!({"list": [agent("ada"), agent("bob"), agent("cyd")]});
    let free = |id: &str| json!({"id": id, "price": {"input": 0, "output": 0}});
    let providers = json!({"mine": {"models": [free("ada"), free("bob"), free("cyd")]}});
    let config = json!({"agents": agents, "limits": limits, "providers": providers});
    builder(model).merge(config).start().await
}

/// Each model answers with its name and the message.
fn speak_by_name(model: &ScriptedModel) {
    model.respond_with(|request| Answer::text(format!("I am {}.", asked(request))));
}

fn asked(request: &RecordedRequest) -> String {
    request.body["model"].as_str().unwrap().to_owned()
}

fn session_of(events: &[Value]) -> String {
    events[0]["session_id"].as_str().unwrap().to_owned()
}

/// The prompt without its instructions, as one text.
fn conversation(request: &RecordedRequest) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] != "system").map(Value::to_string).collect()
}

#[tokio::test]
async fn several_agents_answer_in_order_and_each_sees_what_those_before_said() {
    let model = ScriptedModel::start().await;
    speak_by_name(&model);
    let onyx = three_agents(&model, json!({})).await;
    let alone = onyx.chat_stream(&json!({"message": "first"})).await;
    assert_eq!(types(&alone), ["start", "text", "done"]);
    assert!(alone[1].get("agent").is_none() && alone[1].get("lane").is_none(), "{alone:?}");
    let session = session_of(&alone);
    let reply = patch(&onyx, &session, &json!({"agents": ["bob", "ada"]})).await.expect(200);
    assert_eq!(reply.json()["agents"], json!(["bob", "ada"]));
    assert_eq!(reply.json()["mode"], "sequential");

    let told = onyx.chat_stream(&json!({"message": "second", "session_id": session})).await;
    assert_eq!(told[0]["agents"], json!(["bob", "ada"]));
    let texts: Vec<_> = told.iter().filter(|event| event["type"] == "text").collect();
    assert_eq!(
        texts,
        [
            &json!({"type": "text", "delta": "I am bob.", "agent": "bob", "lane": 0}),
            &json!({"type": "text", "delta": "\n\nI am ada.", "agent": "ada", "lane": 1}),
        ]
    );
    let requests = model.requests();
    let [bob, ada] = &requests[requests.len() - 2..] else { panic!("{requests:?}") };
    assert_eq!((asked(bob).as_str(), asked(ada).as_str()), ("bob", "ada"));
    assert!(conversation(bob).contains("[ada]: I am ada."), "{}", conversation(bob));
    assert!(conversation(ada).contains("[bob]: I am bob."), "{}", conversation(ada));
    let own = |message: &&Value| message["role"] == "assistant";
    let of_ada: Vec<_> = ada.body["messages"].as_array().unwrap().iter().filter(own).collect();
    assert_eq!(of_ada.len(), 1, "its own words are its own: {of_ada:?}");

    let history = onyx.history(&session).await;
    let who: Vec<_> = history.iter().map(|message| message["agent"].as_str()).collect();
    assert_eq!(who, [None, Some("ada"), None, Some("bob"), Some("ada")]);
    let both = json!({"message": "x", "session_id": session});
    let reply = onyx.post("/api/agent/chat", &both).await.expect(200).json();
    assert_eq!(reply["message"], "[bob]: I am bob.\n\n[ada]: I am ada.");

    let one = json!({"message": "only you", "session_id": session, "agent": "bob"});
    assert_eq!(said(&onyx.chat_stream(&one).await), "I am bob.");
    let stranger = json!({"message": "x", "session_id": session, "agent": "cyd"});
    let refused = onyx.post("/api/agent/chat-stream", &stranger).await.expect(400).json();
    assert_eq!(refused["field"], "agent");
}

#[tokio::test]
async fn agents_in_parallel_answer_beside_each_other() {
    let model = ScriptedModel::start().await;
    let onyx = three_agents(&model, json!({})).await;
    let session = session_of(&onyx.chat_stream(&json!({"message": "first"})).await);
    let settings = json!({"agents": ["ada", "bob", "cyd"], "mode": "parallel"});
    set(&onyx, &session, &settings).await;
    let hanging = || Script::new([Step::Text("I begin".into()), Step::Hang]);
    model.respond_with(move |request| match asked(request).as_str() {
        "cyd" => Answer::text("I am done."),
        _ => Answer::script(hanging()),
    });
    let mut lines = onyx.chat_lines(&json!({"message": "all", "session_id": session})).await;
    let mut begun = std::collections::BTreeSet::new();
    while begun.len() < 3 {
        let text = lines.until("text").await;
        begun.insert((text["lane"].as_u64().unwrap(), text["agent"].as_str().unwrap().to_owned()));
    }
    let all = [(0, "ada"), (1, "bob"), (2, "cyd")].map(|(lane, agent)| (lane, agent.to_owned()));
    assert_eq!(begun, all.into(), "they speak at the same time");
    let finished = wait_for("cyd's answer in the log", SOON, async || {
        let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
        let turns = turns["turns"].as_array().unwrap();
        turns.iter().find(|turn| turn["content"] == "I am done.").map(|turn| turn["lane"].clone())
    });
    assert_eq!(finished.await, json!(2));
    assert_eq!(onyx.stop(&session).await.status, 200);
    assert_eq!(lines.rest().await.last().unwrap()["status"], "cancelled");
    let history = onyx.history(&session).await;
    let ends: Vec<_> = history[history.len() - 3..]
        .iter()
        .map(|message| (message["agent"].as_str().unwrap(), message["status"].as_str().unwrap()))
        .collect();
    for end in [("ada", "cancelled"), ("bob", "cancelled"), ("cyd", "complete")] {
        assert!(ends.contains(&end), "{ends:?}");
    }
}

#[tokio::test]
async fn limits_are_those_of_the_run_and_an_agent_that_fails_leaves_the_others() {
    let model = ScriptedModel::start().await;
    speak_by_name(&model);
    let onyx = three_agents(&model, json!({"max_steps": 2})).await;
    let session = session_of(&onyx.chat_stream(&json!({"message": "first"})).await);
    set(&onyx, &session, &json!({"agents": ["ada", "bob", "cyd"]})).await;
    let told = onyx.chat_stream(&json!({"message": "all", "session_id": session})).await;
    let error = told.iter().find(|event| event["type"] == "error").unwrap();
    assert_eq!((&error["code"], &error["agent"]), (&json!("limit_steps"), &json!("cyd")));
    assert_eq!(said(&told), "I am ada.\n\nI am bob.");

    model.respond_with(|request| match asked(request).as_str() {
        "ada" => Answer::error(ErrorKind::Auth),
        other => Answer::text(format!("I am {other}.")),
    });
    set(&onyx, &session, &json!({"agents": ["ada", "bob"]})).await;
    let told = onyx.chat_stream(&json!({"message": "again", "session_id": session})).await;
    assert_eq!(said(&told), "I am bob.");
    assert_eq!(told.last().unwrap()["status"], "error");
    let history = onyx.history(&session).await;
    let last = history.last().unwrap();
    assert_eq!((&last["agent"], &last["status"]), (&json!("bob"), &json!("complete")));
}

#[tokio::test]
async fn what_cannot_be_set_is_refused_with_its_place() {
    let model = ScriptedModel::start().await;
    let onyx = three_agents(&model, json!({})).await;
    let session = session_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    for (body, field) in [
        (json!({"title": "  \n "}), "title"),
        (json!({"title": "x".repeat(201)}), "title"),
        (json!({"title": 5}), "title"),
        (json!({"status": "gone"}), "status"),
        (json!({"mode": "at_once"}), "mode"),
        (json!({"agents": []}), "agents"),
        (json!({"agents": "ada"}), "agents"),
        (json!({"agents": ["ada", "Not An Id"]}), "agents[1]"),
        (json!({"agents": ["ada", "bob", "ada"]}), "agents[2]"),
    ] {
        let problem = patch(&onyx, &session, &body).await.expect(400).json();
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
    let unknown = patch(&onyx, &session, &json!({"agents": ["ada", "nobody"]})).await;
    assert_eq!(unknown.expect(404).json()["field"], "agents[1]");
    let unknown = onyx.get(&format!("/v1/sessions/{session}/turns?before=1")).await;
    assert_eq!(unknown.expect(404).json()["field"], "before");
    let unknown = "0197f3a0-0000-7000-8000-000000000001";
    assert_eq!(patch(&onyx, unknown, &json!({"title": "x"})).await.status, 404);
    let after = shown(&onyx, &session).await;
    assert_eq!((&after["title"], &after["agents"]), (&json!("hi"), &json!(["ada"])));
}

#[tokio::test]
async fn a_session_at_work_can_be_renamed_and_what_is_set_survives_the_loss_of_the_database() {
    let model = ScriptedModel::start().await;
    let mut onyx = three_agents(&model, json!({})).await;
    model.push(Script::new([Step::Text("on and".into()), Step::Hang]));
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let session = session_of(&[lines.until("start").await]);
    lines.until("text").await;
    let body = json!({
        "title": " Boats \n", "status": "archived", "agents": ["bob", "ada"], "mode": "parallel",
    });
    set(&onyx, &session, &body).await;
    assert_eq!(onyx.stop(&session).await.status, 200);
    let fields = |shown: &Value| {
        ["title", "status", "agents", "mode", "origin"].map(|name| shown[name].clone())
    };
    let expected = [
        json!("Boats"),
        json!("archived"),
        json!(["bob", "ada"]),
        json!("parallel"),
        json!("chat"),
    ];
    assert_eq!(fields(&shown(&onyx, &session).await), expected);
    onyx.terminate().await;
    for file in ["onyx.db", "onyx.db-wal", "onyx.db-shm"] {
        std::fs::remove_file(onyx.home().join(file)).ok();
    }
    onyx.restart().await;
    assert_eq!(fields(&shown(&onyx, &session).await), expected);
    let beside = onyx.home().join(format!("people/owner/sessions/ada/{session}.json"));
    assert!(beside.exists());
    let path = format!("/v1/sessions/{session}");
    assert_eq!(onyx.request(Method::DELETE, &path).send().await.unwrap().status(), 204);
    assert!(!beside.exists(), "nothing of a deleted session stays");
}

async fn named_by_models(model: &ScriptedModel) -> OnyxProcess {
    builder(model).merge(json!({"agents": {"defaults": {"titles": "model"}}})).start().await
}

#[tokio::test]
async fn a_model_names_a_session_once_and_its_cost_is_counted() {
    let model = ScriptedModel::start().await;
    model.set_titles(Script::text("\"Greetings and boats\"\nwhy not"));
    let onyx = named_by_models(&model).await;
    let told = onyx.chat_stream(&json!({"message": "hello there"})).await;
    let session = session_of(&told);
    assert_eq!(told.last().unwrap()["usage"]["input"], 10, "done does not wait for the title");
    let named = wait_for("a title", SOON, async || {
        let shown = shown(&onyx, &session).await;
        (shown["title"] == "Greetings and boats").then_some(shown)
    });
    assert_eq!(named.await["token_count"], 30, "15 for the answer, 15 for the title");
    let [request] = &model.title_requests()[..] else { panic!("one request for a title") };
    let words = request.body.to_string();
    assert!(words.contains("hello there") && words.contains("Agent: ok"), "{words}");
    onyx.chat_stream(&json!({"message": "more", "session_id": session})).await;
    onyx.chat_stream(&json!({"message": "another"})).await;
    wait_until("the other session's request", SOON, || model.title_requests().len() == 2).await;
    assert_eq!(shown(&onyx, &session).await["title"], "Greetings and boats");
}

#[tokio::test]
async fn a_persons_title_stays_and_without_a_models_the_first_words_name_it() {
    let model = ScriptedModel::start().await;
    model.set_titles(Answer::text("By the model").first_delay_ms(300));
    let onyx = named_by_models(&model).await;
    let session = session_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    set(&onyx, &session, &json!({"title": "Mine"})).await;
    wait_for("the title's tokens to be counted", SOON, async || {
        (shown(&onyx, &session).await["token_count"] == 30).then_some(())
    })
    .await;
    assert_eq!(shown(&onyx, &session).await["title"], "Mine");

    model.set_titles(Answer::error(ErrorKind::InvalidRequest));
    let long = format!("{}\nsecond line", "word ".repeat(30));
    let told = onyx.chat_stream(&json!({"message": long})).await;
    wait_until("the second request for a title", SOON, || model.title_requests().len() == 2).await;
    let kept = shown(&onyx, &session_of(&told)).await;
    assert_eq!(kept["title"], format!("{}…", "word ".repeat(12)));
    assert_eq!(kept["preview"], "ok");
    assert_eq!(told.last().unwrap()["status"], "done");
}

#[tokio::test]
async fn a_first_message_costs_one_call_unless_models_are_to_name_sessions() {
    let model = ScriptedModel::start().await;
    model.set_titles(Script::text("By the model"));
    let onyx = onyx(&model).await;
    let session = session_of(&onyx.chat_stream(&json!({"message": "hi"})).await);
    onyx.chat_stream(&json!({"message": "more", "session_id": session})).await;
    assert_eq!(
        (model.title_requests().len(), shown(&onyx, &session).await["title"].clone()),
        (0, json!("hi"))
    );
}

#[tokio::test]
async fn a_family_is_listed_by_its_newest_and_told_in_the_order_it_was_made() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let root = session_of(&onyx.chat_stream(&json!({"message": "first"})).await);
    onyx.chat_stream(&json!({"message": "second", "session_id": root})).await;
    let turns = onyx.get(&format!("/v1/sessions/{root}/turns")).await.expect(200).json();
    let users: Vec<_> =
        turns["turns"].as_array().unwrap().iter().filter(|t| t["type"] == "user").collect();
    let second = &users[1]["id"];
    let edit = json!({"turn_id": second, "before": true});
    let fork = onyx.post(&format!("/v1/sessions/{root}/fork"), &edit).await.expect(201).json();
    let fork = fork["id"].as_str().unwrap();
    onyx.chat_stream(&json!({"message": "rather this", "session_id": fork})).await;
    let words: Vec<_> = onyx.history(fork).await.iter().map(|m| m["content"].clone()).collect();
    assert_eq!(words, ["first", "ok", "rather this", "ok"]);

    let ids = |list: &Value| -> Vec<Value> {
        list["sessions"].as_array().unwrap().iter().map(|s| s["id"].clone()).collect()
    };
    let list = onyx.get("/v1/sessions").await.expect(200).json();
    assert_eq!(ids(&list), [fork]);
    let told = shown(&onyx, &root).await;
    let siblings: Vec<_> = told["siblings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sibling| (sibling["id"].clone(), sibling["fork_turn"].clone()))
        .collect();
    assert_eq!(siblings, [(json!(root), Value::Null), (json!(fork), second.clone())]);
    assert_eq!(shown(&onyx, fork).await["siblings"], told["siblings"]);
    onyx.chat_stream(&json!({"message": "back to it", "session_id": root})).await;
    assert_eq!(ids(&onyx.get("/v1/sessions").await.expect(200).json()), [root.as_str()]);
}

#[tokio::test]
async fn every_filter_of_the_list_works() {
    let model = ScriptedModel::start().await;
    let onyx = three_agents(&model, json!({})).await;
    let mut made = Vec::new();
    for (message, agent) in [("red boats", "ada"), ("Blue BOATS", "bob"), ("green hills", "ada")] {
        let told = onyx.chat_stream(&json!({"message": message, "agent": agent})).await;
        made.push(session_of(&told));
    }
    set(&onyx, &made[0], &json!({"status": "archived"})).await;
    let [red, blue, green] = &made[..] else { panic!() };
    let updated = async |session: &str| {
        shown(&onyx, session).await["updated_at"].as_str().unwrap().replace(':', "%3A")
    };
    let (blue_at, green_at) = (updated(blue).await, updated(green).await);
    for (query, expected) in [
        (String::new(), vec![green, blue, red]),
        ("agent=ada".into(), vec![green, red]),
        ("status=active".into(), vec![green, blue]),
        ("status=archived&agent=bob".into(), vec![]),
        ("origin=chat".into(), vec![green, blue, red]),
        ("origin=job".into(), vec![]),
        ("q=boats".into(), vec![blue, red]),
        ("q=no%20such".into(), vec![]),
        (format!("since={blue_at}"), vec![green, blue]),
        (format!("until={green_at}"), vec![blue, red]),
        (format!("since={blue_at}&until={green_at}"), vec![blue]),
        (format!("before={green}"), vec![blue, red]),
        (format!("before={green}&limit=1"), vec![blue]),
    ] {
        let list = onyx.get(&format!("/v1/sessions?{query}")).await.expect(200).json();
        let found: Vec<_> = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["id"].as_str().unwrap())
            .collect();
        assert_eq!(found, expected, "{query}");
    }
    let first = onyx.get("/v1/sessions?limit=2").await.expect(200).json();
    assert_eq!(first["before"], **blue, "the cursor of the next page");
    for wrong in [
        "limit=0",
        "limit=201",
        "status=gone",
        "origin=mars",
        "since=monday",
        "before=x",
        "agent=A B",
    ] {
        let wrong = wrong.replace(' ', "%20");
        assert_eq!(onyx.get(&format!("/v1/sessions?{wrong}")).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn an_export_is_whole_however_long_the_session_is() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let session = session_of(&onyx.chat_stream(&json!({"message": "first"})).await);
    let log = onyx.home().join(format!("people/owner/sessions/main/{session}.jsonl"));
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The log is much longer than a page, and pages end in the middle of runs.
    std::fs::write(&log, format!("{}\n", lines.repeat(701).join("\n"))).unwrap();
    let path = format!("/v1/sessions/{session}/export");
    let exported = onyx.get(&path).await.expect(200).text();
    let kinds = |text: &str| -> Vec<Value> {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|turn| turn["type"].clone()).collect()
    };
    assert_eq!(kinds(&exported), vec![kinds(&text); 701].concat());
    let markdown = onyx.get(&format!("{path}?format=markdown")).await.expect(200).text();
    assert_eq!(markdown.matches("\n## You").count(), 701);
    assert_eq!(markdown.matches("\n## main").count(), 701);
    assert!(markdown.starts_with("# first\n"), "{}", &markdown[..80]);
    assert_eq!(onyx.get(&format!("{path}?format=pdf")).await.status, 400);
}

#[tokio::test]
async fn an_undo_can_be_looked_at_before_it_is_done() {
    let arguments = json!({"path": "note.md", "content": "theirs"});
    let model = ScriptedModel::with_answers([
        Answer::tool_calls([ScriptedCall::new("a", "write_file", &arguments)]),
        Answer::text("done"),
    ])
    .await;
    let onyx = onyx(&model).await;
    let told = onyx.chat_stream(&json!({"message": "write"})).await;
    let note = onyx.home().join("people/owner/vault/note.md");
    let path = format!("/api/runs/{}/undo", told[0]["run_id"].as_str().unwrap());
    let plan = onyx.post(&format!("{path}?dry_run=true"), &json!({})).await.expect(200).json();
    assert_eq!(plan, json!({"restored": ["vault/note.md"], "dry_run": true}));
    assert!(note.exists());
    let done = onyx.post(&path, &json!({})).await.expect(200).json();
    assert_eq!(done, json!({"restored": ["vault/note.md"]}));
    assert!(!note.exists());
}
