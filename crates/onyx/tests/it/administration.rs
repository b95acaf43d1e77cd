//! What the owner changes while the server runs: agents, the config, providers, budgets; what was
//! used; and one's own password.

use onyx_test_support::{
    AgentClient, DEFAULT_KEY, DEFAULT_PASSWORD, Finish, OnyxProcess, Reply, Script, ScriptedModel,
    Step, canary, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{SOON, builder, onyx, said};

const CONFIG: &str = "/api/admin/config";

async fn send(onyx: &OnyxProcess, method: Method, path: &str, body: &Value) -> Reply {
    Reply::of(onyx.request(method, path).json(body)).await
}

async fn send_if(onyx: &OnyxProcess, method: Method, path: &str, tag: &str, body: &Value) -> Reply {
    Reply::of(onyx.request(method, path).header("if-match", tag).json(body)).await
}

fn tag(reply: &Reply) -> String {
    reply.headers["etag"].to_str().unwrap().to_owned()
}

fn config_text(onyx: &OnyxProcess) -> String {
    std::fs::read_to_string(onyx.config_path()).unwrap()
}

/// The harness's config with comments of a person in it.
async fn commented(onyx: &OnyxProcess) {
    let text = config_text(onyx).replacen('{', "{ // mine, do not touch\n", 1);
    std::fs::write(onyx.config_path(), text).unwrap();
}

#[tokio::test]
async fn an_agent_is_made_changed_and_removed_and_answers_at_once() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    commented(&onyx).await;
    let new = json!({"id": "clerk", "name": "Clerk", "model": "mine/some-model", "tier": "read",
        "temperature": 0.7, "tools": {"allow": ["read_file", "list_files"], "deny": []}});
    let made = send(&onyx, Method::POST, "/v1/agents", &new).await.expect(201);
    assert_eq!(made.headers["location"], "/v1/agents/clerk");
    let view = made.json();
    assert_eq!(
        (&view["name"], &view["tier"], &view["enabled"], &view["settings"]["temperature"]),
        (&json!("Clerk"), &json!("read"), &json!(true), &json!(0.7))
    );
    assert_eq!(view["tools"], json!(["list_files", "read_file"]));
    let ask = json!({"message": "hi", "agent": "clerk"});
    assert_eq!(said(&onyx.chat_stream(&ask).await), "ok");
    let twice = send(&onyx, Method::POST, "/v1/agents", &new).await.expect(409).json();
    assert_eq!((&twice["code"], &twice["field"]), (&json!("invalid_request"), &json!("id")));

    let first = tag(&made);
    let path = "/v1/agents/clerk";
    let change = json!({"tier": "suggest", "temperature": null, "default": true});
    let patched = send_if(&onyx, Method::PATCH, path, &first, &change).await.expect(200);
    let view = patched.json();
    assert_eq!(
        (&view["tier"], &view["default"], &view["settings"]["name"], &view["temperature"]),
        (&json!("suggest"), &json!(true), &json!("Clerk"), &Value::Null)
    );
    assert_eq!(onyx.get("/v1/agents/main").await.json()["default"], false);
    let stale = send_if(&onyx, Method::PATCH, path, &first, &change).await.expect(412).json();
    assert_eq!(stale["code"], "version_conflict");
    let off = json!({"default": false, "enabled": false});
    let _ = send(&onyx, Method::PATCH, path, &off).await.expect(200);
    let listed = onyx.get("/v1/agents").await.json();
    let clerk = listed["agents"].as_array().unwrap().iter().find(|it| it["id"] == "clerk");
    assert_eq!(clerk.unwrap()["enabled"], false);
    assert_eq!(onyx.post("/api/agent/chat", &ask).await.status, 404);
    let replaced = send(&onyx, Method::PUT, path, &json!({"name": "Again"})).await.expect(200);
    assert_eq!(
        replaced.json()["settings"],
        json!({"name": "Again", "default": false,
        "enabled": null, "tier": null, "model": null, "fallbacks": [], "tools": null,
        "temperature": null, "max_output_tokens": null, "workspace": null, "memory_read": [],
        "memory_retrieval": null, "local_only": null})
    );

    let stale = onyx.request(Method::DELETE, path).header("if-match", first);
    let _ = Reply::of(stale).await.expect(412);
    let _ = Reply::of(onyx.request(Method::DELETE, path)).await.expect(204);
    let _ = Reply::of(onyx.request(Method::DELETE, path)).await.expect(404);
    let _ = onyx.get(path).await.expect(404);
    assert!(config_text(&onyx).contains("// mine, do not touch"));
    assert!(!config_text(&onyx).contains("clerk"));
}

#[tokio::test]
async fn an_agent_that_cannot_be_is_refused_and_nothing_changes() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let before = config_text(&onyx);
    for (body, field) in [
        (json!({"name": "x"}), None),
        (json!({"id": "../x"}), Some("id")),
        (json!({"id": "a", "tier": "king"}), Some("tier")),
        (json!({"id": "a", "temperature": 3}), Some("temperature")),
        (json!({"id": "a", "fallbacks": ["mine/x"]}), Some("fallbacks")),
        (json!({"id": "a", "tools": {"deny": ["no_such_tool"]}}), Some("agents")),
        (json!({"id": "a", "default": true, "enabled": false}), Some("enabled")),
    ] {
        let refused = send(&onyx, Method::POST, "/v1/agents", &body).await.expect(400).json();
        assert_eq!(refused["code"], "invalid_request", "{body} {refused}");
        if let Some(field) = field {
            assert_eq!(refused["field"], field, "{body} {refused}");
        }
    }
    assert_eq!(config_text(&onyx), before);
    let people = json!({"id": "anna"});
    let _ = onyx.post("/api/admin/people", &people).await.expect(201);
    let token = json!({"name": "t", "people": ["anna"]});
    let token = onyx.post("/api/admin/tokens", &token).await.expect(201).json();
    let anna = AgentClient::new(onyx.base_url(), token["token"].as_str().unwrap());
    let refused = anna.post("/v1/agents", &json!({"id": "hers"})).await.expect(403).json();
    assert_eq!(refused["code"], "forbidden");
    assert_eq!(anna.get("/v1/agents/main").await.expect(200).json()["id"], "main");
}

#[tokio::test]
async fn what_a_file_of_an_agent_held_before_is_kept() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    for words in ["Be bold.", "Be kind.", "Be kind."] {
        let put = onyx.request(Method::PUT, "/v1/agents/main/files/SOUL.md").body(words);
        let _ = Reply::of(put).await.expect(204);
    }
    let kept = onyx.home().join("agents/main/history/files/SOUL.md/.versions");
    let manifest = std::fs::read_to_string(kept.join("manifest.jsonl")).unwrap();
    assert_eq!(manifest.lines().filter(|line| !line.is_empty()).count(), 2, "{manifest}");
    let texts = std::fs::read_dir(kept).unwrap().map(|it| std::fs::read(it.unwrap().path()));
    assert!(texts.into_iter().any(|text| text.unwrap() == b"Be bold."));
    assert_eq!(onyx.get("/v1/agents/main").await.json()["files"], json!(["SOUL.md"]));
}

#[tokio::test]
async fn the_config_is_read_without_its_keys_and_written_with_them() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({"providers": {"paid": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1",
            "apiKey": canary::secret("sk-paid")}}}))
        .start()
        .await;
    commented(&onyx).await;
    let before = config_text(&onyx);
    // The harness searches every answer for secrets, so this also shows that the answer holds none.
    let read = onyx.get(CONFIG).await.expect(200);
    let view = read.json();
    assert_eq!((&view["error"], &view["last_good"]), (&Value::Null, &Value::Null));
    let text = view["text"].as_str().unwrap().replace("mine, do not touch", "mine, still");
    let put = json!({"text": text.replacen('{', "{ lmits: {},", 1)});
    let written = send_if(&onyx, Method::PUT, CONFIG, &tag(&read), &put).await.expect(204);
    let now = config_text(&onyx);
    assert!(now.contains("// mine, still") && now.contains("lmits"), "{now}");
    assert!(now.contains(&canary::secret("sk-paid")));
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    let sent = format!("Bearer {DEFAULT_KEY}");
    assert_eq!(model.last_request().header("authorization"), Some(sent.as_str()));
    let again = onyx.get(CONFIG).await.expect(200);
    assert_eq!(tag(&again), tag(&written));
    let warned = again.json()["warnings"].to_string();
    assert!(warned.contains("did you mean `limits`"), "{warned}");
    let stale = send_if(&onyx, Method::PUT, CONFIG, &tag(&read), &put).await.expect(412).json();
    assert_eq!(stale["code"], "version_conflict");
    assert_ne!(now, before);

    for (bad, field) in [
        ("{ nonsense", None),
        ("{ gateway: { port: 'x' } }", Some("gateway.port")),
        ("{ gateway: { bind: '0.0.0.0' } }", Some("gateway.bind")),
        ("{ agents: { list: [ { id: 'a' }, { id: 'a' } ] } }", Some("agents")),
        ("{ gateway: { auth: { token: 'onyx_…xyz' } } }", Some("token")),
    ] {
        let refused = send(&onyx, Method::PUT, CONFIG, &json!({"text": bad})).await.expect(400);
        assert_eq!(refused.json()["field"].as_str(), field, "{bad} {}", refused.text());
        assert_eq!(config_text(&onyx), now, "{bad}");
    }
}

#[tokio::test]
async fn a_broken_file_is_shown_with_the_last_good_one_which_mends_it() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let good = config_text(&onyx);
    std::fs::write(onyx.config_path(), "{ gateway: { port: 'x' } }").unwrap();
    let view = onyx.get(CONFIG).await.expect(200).json();
    assert_eq!(view["error"]["field"], "gateway.port");
    assert_eq!(onyx.get("/v1/agents/main").await.expect(200).json()["tier"], "act");
    let put = json!({"text": view["last_good"]});
    let _ = send(&onyx, Method::PUT, CONFIG, &put).await.expect(204);
    assert_eq!(config_text(&onyx), good);
    wait_for("the config", SOON, async || {
        (onyx.get("/ready").await.json()["status"] == "ready").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_provider_comes_with_its_key_works_and_goes() {
    let (model, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    let onyx = onyx(&model).await;
    let path = "/api/admin/providers/second";
    let key = canary::secret("sk-second");
    let body = json!({"api_key": key, "settings": {"kind": "openai", "baseUrl": second.base_url(),
        "models": ["big"]}});
    let made = send(&onyx, Method::PUT, path, &body).await.expect(200);
    assert_eq!(made.json()["settings"]["apiKey"], "secret:second");
    assert!(!config_text(&onyx).contains(&key));
    let test = onyx.post(&format!("{path}/test"), &json!({})).await.expect(200).json();
    assert_eq!(test["ok"], true, "{test}");
    let ask = json!({"model": "second/big", "messages": [{"role": "user", "content": "hi"}]});
    let _ = onyx.post("/v1/chat/completions", &ask).await.expect(200);
    assert!(second.last_request().header("authorization").unwrap().ends_with(&key));
    let listed = onyx.get("/api/admin/providers").await.expect(200).json();
    assert_eq!(listed["providers"].as_array().unwrap().len(), 2);
    let edited = json!({"settings": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1",
        "apiKey": "secret:second"}});
    let _ = send_if(&onyx, Method::PUT, path, &tag(&made), &edited).await.expect(200);
    let test = onyx.post(&format!("{path}/test"), &json!({})).await.expect(200).json();
    assert_eq!((&test["ok"], &test["trouble"]), (&json!(false), &json!("refused")), "{test}");
    let wrong = json!({"settings": {"kind": "nobody"}, "api_key": "other"});
    let refused = send(&onyx, Method::PUT, path, &wrong).await.expect(400).json();
    assert_eq!(refused["field"], "providers.second.kind");
    let _ = Reply::of(onyx.request(Method::DELETE, path)).await.expect(204);
    let _ = onyx.get(path).await.expect(404);
    assert_eq!(onyx.get("/api/admin/secrets").await.json(), json!({"secrets": []}));
    let _ = Reply::of(onyx.request(Method::PUT, "/api/admin/providers/a%2Fb").json(&edited))
        .await
        .expect(400);
}

#[tokio::test]
async fn what_was_used_adds_up_by_day_agent_model_and_person_and_budgets_are_set() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let _ = send(&onyx, Method::POST, "/v1/agents", &json!({"id": "two", "model": "mine/other"}))
        .await
        .expect(201);
    for agent in ["main", "main", "two"] {
        onyx.chat_stream(&json!({"message": "hi", "agent": agent})).await;
    }
    let used = onyx.get("/api/admin/usage?agent=main").await.expect(200).json();
    let all = onyx.get("/api/admin/usage").await.expect(200).json();
    let names = |part: &str| -> Vec<String> {
        let rows = all[part].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("agents"), ["main", "two"]);
    assert_eq!(names("models"), ["mine/other", "mine/some-model"]);
    assert_eq!(names("people"), ["owner"]);
    assert_eq!(names("days"), [all["until"].as_str().unwrap()]);
    let sum = |part: &str| -> u64 {
        all[part].as_array().unwrap().iter().map(|row| row["output"].as_u64().unwrap()).sum()
    };
    let total = all["total"]["output"].as_u64().unwrap();
    assert!(total > 0);
    for part in ["days", "agents", "models", "people"] {
        assert_eq!(sum(part), total, "{part}");
    }
    assert!(used["total"]["output"].as_u64().unwrap() < total);
    assert_eq!(
        onyx.get("/api/admin/usage?since=2020-13-01").await.expect(400).json()["field"],
        "since"
    );
    let old = onyx.get("/api/admin/usage?since=2020-01-01&until=2020-01-02").await.expect(200);
    assert_eq!(old.json()["days"], json!([]));

    let limits = json!({"limit_per_person": 2.5});
    let set = send(&onyx, Method::PUT, "/api/admin/budgets", &limits).await.expect(200).json();
    assert_eq!((&set["limit_per_person"], &set["limit_per_run"]), (&json!(2.5), &json!(1.0)));
    let bad = json!({"limit_per_run": -1});
    let _ = send(&onyx, Method::PUT, "/api/admin/budgets", &bad).await.expect(400);
}

#[tokio::test]
async fn a_member_changes_their_own_password_and_nobody_elses() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let _ = onyx.post("/api/admin/people", &json!({"id": "anna"})).await.expect(201);
    let token = json!({"name": "t", "people": ["anna"]});
    let token = onyx.post("/api/admin/tokens", &token).await.expect(201).json();
    let anna = AgentClient::new(onyx.base_url(), token["token"].as_str().unwrap());
    let put = async |body: Value| {
        Reply::of(anna.request(Method::PUT, "/api/auth/password").json(&body)).await
    };
    let _ = put(json!({"password": DEFAULT_PASSWORD})).await.expect(204);
    let wrong = json!({"password": "other words here", "current": "no"});
    assert_eq!(put(wrong).await.expect(403).json()["field"], "current");
    let right = json!({"password": "other words here", "current": DEFAULT_PASSWORD});
    let _ = put(right).await.expect(204);
    let login = async |password: &str| {
        let body = json!({"person": "anna", "password": password});
        onyx.post("/api/auth/login", &body).await.status
    };
    assert_eq!((login(DEFAULT_PASSWORD).await, login("other words here").await), (401, 200));
    let others = anna.request(Method::PUT, "/api/admin/people/owner/password");
    let _ = Reply::of(others.json(&json!({"password": "mine now, all of it"}))).await.expect(403);
}

#[tokio::test]
async fn who_signed_in_and_who_was_refused_stands_in_the_audit() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let password = json!({"password": DEFAULT_PASSWORD});
    let path = "/api/admin/people/owner/password";
    let _ = send(&onyx, Method::PUT, path, &password).await.expect(204);
    for (person, password) in
        [("owner", "wrong"), ("owner", DEFAULT_PASSWORD), ("nobody", DEFAULT_PASSWORD)]
    {
        let login = json!({"person": person, "password": password});
        let _ = onyx.post("/api/auth/login", &login).await;
    }
    let rows = crate::witness::audit(&onyx.home()).await.unwrap();
    let mut told: Vec<_> =
        rows.into_iter().map(|row| (row.entry.diff_summary, row.entry.result)).collect();
    told.reverse();
    let line = |result: &str| ("sign-in by password from 127.0.0.1".to_owned(), result.to_owned());
    assert_eq!(told, [line("refused"), line("ok")]);
}

#[tokio::test]
async fn vectors_and_answers_without_a_count_are_booked_too() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({"providers": {"mine": {"models": [
            {"id": "m", "price": {"input": 1.0, "output": 2.0}},
            {"id": "e", "price": {"input": 3.0, "output": 0}},
        ]}}}))
        // The ledger is written late. Nobody who has received the end of an answer may notice that.
        .env("ONYX_TEST_DELAYS", "300")
        .start()
        .await;
    let embed = json!({"model": "mine/e", "input": "eight of bytes and some more"});
    let _ = onyx.post("/v1/embeddings", &embed).await.expect(200);
    // Without `include_usage` the provider reports no usage.
    let ask = json!({"model": "mine/m", "stream": true,
        "messages": [{"role": "user", "content": "x".repeat(400)}]});
    model.push(Script::new([Step::Text("y".repeat(80)), Step::Finish(Finish::Stop)]));
    let _ = onyx.post("/v1/chat/completions", &ask).await.expect(200);
    let booked = onyx.get("/api/admin/usage?agent=pass-through").await.expect(200).json();
    assert_eq!(booked["models"].as_array().unwrap().len(), 2, "{booked}");
    let models = booked["models"].as_array().unwrap();
    assert_eq!((&models[0]["name"], &models[1]["name"]), (&json!("mine/e"), &json!("mine/m")));
    assert!(models[0]["cost"].as_f64().unwrap() > 0.0, "{booked}");
    assert_eq!(models[1]["output"], 20, "{booked}");
    let input = models[1]["input"].as_u64().unwrap();
    assert!((100..=120).contains(&input), "{booked}");
    assert!(onyx.log().contains("an estimate is booked"));
}
