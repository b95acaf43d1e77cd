//! Providers, fallbacks, budgets and keys, as clients see them.

use onyx_test_support::{
    Answer, ErrorKind, Finish, OnyxProcess, Script, ScriptedCall, ScriptedModel, Step, Wire,
    wait_for,
};
use serde_json::{Value, json};

use crate::{BINARY, SOON, run, said};

const KEY: &str = "sk-or-v1-canary-0123456789xyz";

fn provider(kind: &str, base_url: &str) -> Value {
    let models = json!([{"id": "m", "price": {"input": 0, "output": 0}}]);
    json!({"kind": kind, "baseUrl": base_url, "apiKey": KEY, "models": models})
}

fn config(providers: &Value, model: &Value) -> Value {
    json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": onyx_test_support::DEFAULT_TOKEN}},
        "providers": providers,
        // Requests for titles are made in the background and would be counted too, so titles are
        // off.
        "agents": {
            "defaults": {"titles": "words"},
            "list": [{"id": "main", "default": true, "model": model, "tier": "act"}],
        },
    })
}

async fn started(config: Value) -> OnyxProcess {
    OnyxProcess::builder().binary(BINARY).config(config).start().await
}

/// Writes a new config and waits until it is in effect.
async fn edit(onyx: &OnyxProcess, config: &Value) {
    let taken = || onyx.log().matches("the config was taken up").count();
    let before = taken();
    std::fs::write(onyx.config_path(), config.to_string()).unwrap();
    wait_for("the edit to be taken up", SOON, async || (taken() > before).then_some(())).await;
}

fn statuses(events: &[Value]) -> Vec<&str> {
    let status = events.iter().filter(|event| event["type"] == "status");
    status.map(|event| event["message"].as_str().unwrap()).collect()
}

async fn json_of(onyx: &OnyxProcess, arguments: &[&str]) -> Value {
    let ran = run(&onyx.home(), arguments).await;
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[tokio::test]
async fn providers_and_models_are_shown_with_and_without_a_server_and_keys_are_shortened() {
    let model = ScriptedModel::start().await;
    model.set_models(["m", "n"]);
    let providers = json!({
        "good": provider("openai", &model.base_url()),
        "keyless": {"kind": "openai", "baseUrl": model.base_url(), "apiKey": "${ONYX_TEST_ABSENT}"},
        "nobody": provider("openai", "http://127.0.0.1:9/v1"),
        "lost": provider("openai", "http://no-such-host.invalid/v1"),
    });
    let mut onyx = started(config(&providers, &json!("good/m"))).await;
    let look = async |onyx: &OnyxProcess| {
        let list = json_of(onyx, &["providers", "list", "--json"]).await;
        let named = |name: &str| {
            let all = list["providers"].as_array().unwrap();
            all.iter().find(|provider| provider["name"] == name).unwrap().clone()
        };
        assert_eq!(named("good")["key"], "sk-or-…xyz");
        assert_eq!(named("good")["state"], "ready");
        assert_eq!(named("keyless")["state"], "disabled");
        let tests = json_of(onyx, &["providers", "test", "--json"]).await;
        let found: Vec<(&str, Option<&str>)> = tests["tests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|test| (test["name"].as_str().unwrap(), test["trouble"].as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("good", None),
                ("keyless", Some("disabled")),
                ("nobody", Some("refused")),
                ("lost", Some("dns")),
            ]
        );
        assert_eq!(tests["tests"][0]["model_count"], 2);
        let models = json_of(onyx, &["providers", "models", "good", "--json"]).await;
        assert_eq!(
            (&models["models"][0]["id"], &models["models"][1]["id"]),
            (&json!("good/m"), &json!("good/n"))
        );
        let info = json_of(onyx, &["models", "info", "good/m", "--json"]).await;
        assert_eq!(info["price"], json!({"input": 0.0, "output": 0.0}));
        let mut shown = String::new();
        for (arguments, code) in [
            (vec!["providers", "list"], 0),
            (vec!["providers", "status"], 0),
            (vec!["providers", "test"], 1),
            (vec!["providers", "test", "good"], 0),
            (vec!["providers", "test", "unknown"], 4),
            (vec!["models", "list"], 0),
            (vec!["models", "info", "good/m"], 0),
            (vec!["models", "info", "unknown/m"], 4),
            (vec!["budgets"], 0),
        ] {
            let ran = run(&onyx.home(), &arguments).await;
            assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
            shown += &ran.out;
            shown += &ran.err;
        }
        for words in ["sk-or-…xyz", "It lists 2 models.", "Nothing listens", "ONYX_TEST_ABSENT"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(!shown.contains(KEY) && !list.to_string().contains(KEY));
    };
    look(&onyx).await;
    onyx.terminate().await;
    look(&onyx).await;
    assert!(!onyx.log().contains(KEY));
}

/// Two model servers in one sequence: the first is down, paused, and works again.
#[tokio::test]
async fn a_second_model_answers_while_the_first_is_down_and_steps_back_when_it_has_recovered() {
    let (first, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    let mut resting = provider("openai", &first.base_url());
    resting["timeouts"] = json!({"restSeconds": 5});
    let providers =
        json!({"one": resting, "two": provider("anthropic", &second.base_url_of(Wire::Anthropic))});
    let chain = json!({"primary": "one/m", "fallbacks": ["two/m"]});
    let onyx = started(config(&providers, &chain)).await;
    first.set_default(Answer::error(ErrorKind::Overloaded).header("retry-after", "0"));
    second.set_default(Script::text_pieces(["from ", "the ", "second"]));

    let events = onyx.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(said(&events), "from the second");
    assert_eq!(events.last().unwrap()["status"], "done");
    assert!(
        statuses(&events).iter().any(|status| status.contains("two/m answers instead")),
        "{events:?}"
    );
    let session = events[0]["session_id"].as_str().unwrap().to_owned();

    // The breaker opens after five failed requests in a row, however often each was retried.
    let go_on =
        async || onyx.chat_stream(&json!({"message": "go on", "session_id": session})).await;
    let circuit = async || {
        let all = onyx.get("/api/admin/providers").await.json();
        all["providers"][0]["called"][0]["circuit"].as_str().unwrap().to_owned()
    };
    for _ in 0..4 {
        assert_eq!(circuit().await, "closed");
        assert_eq!(said(&go_on().await), "from the second");
    }
    // From then on the server is not asked.
    let asked = first.request_count();
    assert_eq!(circuit().await, "open");
    assert_eq!(onyx.get("/ready").await.json()["status"], "degraded");
    assert_eq!(said(&go_on().await), "from the second");
    assert_eq!(first.request_count(), asked, "no request goes to an open provider");

    first.set_default(Answer::text("from the first"));
    let back = wait_for("the first model to answer again", SOON, async || {
        let events = go_on().await;
        (said(&events) == "from the first").then_some(events)
    })
    .await;
    assert_eq!(statuses(&back), Vec::<&str>::new());
    assert_eq!(circuit().await, "closed");
    let answers: Vec<Value> = onyx.history(&session).await;
    for message in answers.iter().filter(|message| message["role"] == "assistant") {
        let content = message["content"].as_str().unwrap();
        assert!(["from the second", "from the first"].contains(&content), "{message}");
    }
}

#[tokio::test]
async fn an_answer_that_has_begun_is_neither_repeated_nor_continued_by_another_model() {
    let (first, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    let providers = json!({
        "one": provider("openai", &first.base_url()), "two": provider("openai", &second.base_url()),
    });
    let chain = json!({"primary": "one/m", "fallbacks": ["two/m"]});
    let onyx = started(config(&providers, &chain)).await;
    first.push(Script::new([Step::Text("half an ans".into())]).without_terminator());
    let events = onyx.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(said(&events), "half an ans");
    let error = events.iter().find(|event| event["type"] == "error").unwrap();
    assert_eq!(error["code"], "provider_truncated");
    assert_eq!((first.request_count(), second.request_count()), (1, 0));
    let session = events[0]["session_id"].as_str().unwrap();
    assert_eq!(onyx.history(session).await[1]["content"], "half an ans");
}

#[tokio::test]
async fn a_session_goes_on_through_every_wire_with_tools_and_reasoning_in_its_history() {
    let model = ScriptedModel::start().await;
    let wires = [
        ("openai", Wire::OpenAiChat),
        ("anthropic", Wire::Anthropic),
        ("openai-responses", Wire::OpenAiResponses),
        ("gemini", Wire::Gemini),
        ("ollama", Wire::Ollama),
        ("openai", Wire::OpenAiChat),
    ];
    let providers: serde_json::Map<String, Value> = wires
        .iter()
        .map(|(kind, wire)| ((*kind).to_owned(), provider(kind, &model.base_url_of(*wire))))
        .collect();
    let providers = Value::Object(providers);
    let onyx = started(config(&providers, &json!("openai/m"))).await;
    let mut session = None;
    for (number, (kind, _)) in wires.iter().enumerate() {
        if number > 0 {
            edit(&onyx, &config(&providers, &json!(format!("{kind}/m")))).await;
        }
        let arguments =
            json!({"path": format!("{number}.md"), "content": format!("written {number}")});
        model.push(
            Script::new([Step::Reasoning(format!("thought {number}"))])
                .then(Step::ToolCalls(vec![ScriptedCall::new(
                    format!("c{number}"),
                    "write_file",
                    &arguments,
                )]))
                .ended(Finish::ToolCalls),
        );
        model.push(Script::text(format!("answer {number}")));
        let mut body = json!({"message": format!("question {number}")});
        if let Some(session) = &session {
            body["session_id"] = json!(session);
        }
        let events = onyx.chat_stream(&body).await;
        assert_eq!(said(&events), format!("answer {number}"), "{kind}: {events:?}");
        session = Some(events[0]["session_id"].as_str().unwrap().to_owned());
        let sent = model.last_request().body.to_string();
        for earlier in 0..=number {
            for part in [format!("question {earlier}"), format!("written {earlier}")] {
                assert!(sent.contains(&part), "{kind} lacks `{part}`: {sent}");
            }
            if earlier < number {
                let answer = format!("answer {earlier}");
                assert_eq!(sent.matches(&answer).count(), 1, "{kind}: `{answer}`: {sent}");
            }
        }
    }
}

/// A config in which every answer costs 0.50.
fn dear(model: &ScriptedModel, limits: &Value) -> Value {
    let mut all = config(&json!({"mine": provider("openai", &model.base_url())}), &json!("mine/m"));
    all["providers"]["mine"]["models"][0]["price"] = json!({"input": 20_000, "output": 60_000});
    all["limits"] = limits.clone();
    all
}

fn error_of(events: &[Value]) -> (&str, &str) {
    let error = events.iter().find(|event| event["type"] == "error");
    let error = error.unwrap_or_else(|| panic!("no error: {events:?}"));
    (error["code"].as_str().unwrap(), error["message"].as_str().unwrap())
}

#[tokio::test]
async fn an_agent_that_runs_away_stops_at_its_budget_and_what_it_did_is_kept() {
    let model = ScriptedModel::start().await;
    let onyx = started(dear(&model, &json!({"max_cost": 1.2}))).await;
    model.respond_with(|request| {
        let number = request.body["messages"].as_array().map_or(0, Vec::len);
        let arguments = json!({"path": format!("{number}.md"), "content": "x"});
        Answer::tool_calls([ScriptedCall::new(format!("c{number}"), "write_file", &arguments)])
    });
    let events = onyx.chat_stream(&json!({"message": "go"})).await;
    assert_eq!(error_of(&events), ("limit_budget", "The run cost 1.5000; its limit is 1.20."));
    assert_eq!(
        (model.request_count(), events.last().unwrap()["status"].as_str()),
        (3, Some("error"))
    );
    let vault = onyx.home().join("people/owner/vault");
    assert_eq!(std::fs::read_dir(vault).unwrap().count(), 3);
}

#[tokio::test]
async fn a_day_has_a_budget_for_each_person_and_agent_and_a_restart_does_not_refill_it() {
    let model = ScriptedModel::start().await;
    let mut all = dear(&model, &json!({"max_cost_per_agent_day": 0.8}));
    all["agents"]["list"].as_array_mut().unwrap().push(json!({"id": "other", "model": "mine/m"}));
    let mut onyx = started(all.clone()).await;
    let ask = async |onyx: &OnyxProcess, agent: &str| {
        onyx.chat_stream(&json!({"message": "hi", "agent": agent})).await
    };
    assert_eq!(said(&ask(&onyx, "main").await), "ok");
    assert_eq!(said(&ask(&onyx, "main").await), "ok");
    let refused = ask(&onyx, "main").await;
    let words = "The agent main has spent 1.0000 today; the limit is 0.80 a day.";
    assert_eq!(error_of(&refused), ("limit_budget", words));
    assert_eq!(model.request_count(), 2);
    assert_eq!(said(&ask(&onyx, "other").await), "ok");

    onyx.terminate().await;
    onyx.restart().await;
    assert_eq!(error_of(&ask(&onyx, "main").await).0, "limit_budget");
    all["limits"] = json!({"max_cost_per_day": 1.5});
    edit(&onyx, &all).await;
    let words = "owner has spent 1.5000 today; the limit is 1.50 a day.";
    assert_eq!(error_of(&ask(&onyx, "other").await), ("limit_budget", words));
    let budgets = json_of(&onyx, &["budgets", "--json"]).await;
    assert_eq!(budgets["people"], json!([{"name": "owner", "cost": 1.5, "tokens": 45}]));
    assert_eq!(
        budgets["agents"],
        json!([{"name": "main", "cost": 1.0, "tokens": 30}, {"name": "other", "cost": 0.5, "tokens": 15}])
    );
    assert_eq!(budgets["limit_per_person"], 1.5);
}

#[tokio::test]
async fn a_price_that_nobody_knows_is_said() {
    let model = ScriptedModel::start().await;
    let mut all = dear(&model, &json!({}));
    all["providers"]["mine"]["models"] = json!([]);
    let onyx = started(all).await;
    let events = onyx.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(statuses(&events), ["No price set for mine/m, so budgets count it as $0."]);
}

/// This includes a key that was added to the config while the server ran.
#[tokio::test]
async fn no_key_shows_up_anywhere_however_it_is_asked_for() {
    let model = ScriptedModel::start().await;
    let fresh = "sk-or-v1-fresh-98765432109876";
    let first = config(&json!({"mine": provider("openai", &model.base_url())}), &json!("mine/m"));
    let mut second = first.clone();
    second["providers"]["mine"]["apiKey"] = json!(fresh);
    let onyx = started(first).await;
    let echo = |key: &str| {
        Answer::status(401, json!({"error": {"message": format!("bad key {key}")}}).to_string())
    };
    let mut shown = String::new();
    for key in [KEY, fresh] {
        if key == fresh {
            edit(&onyx, &second).await;
        }
        let arguments = json!({"path": "note.md", "content": format!("the key is {key}")});
        model.push(Script::tool_calls([ScriptedCall::new("w", "write_file", &arguments)]));
        model.push(Script::tool_calls([ScriptedCall::new(
            "r",
            "read_file",
            &json!({"path": "note.md"}),
        )]));
        model.push(Script::text("done"));
        let events = onyx.chat_stream(&json!({"message": "look"})).await;
        assert_eq!(
            model.last_request().header("authorization"),
            Some(format!("Bearer {key}").as_str())
        );
        let read =
            model.last_request().body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(read.contains("the key is [secret]"), "{read}");
        let results = events.iter().filter(|event| event["type"] == "tool_result");
        shown.extend(results.map(ToString::to_string));
        model.push(echo(key));
        let refused = onyx.chat_stream(&json!({"message": "again"})).await;
        assert_eq!(error_of(&refused).0, "provider_auth");
        shown.extend(refused.iter().map(ToString::to_string));
        for path in ["/ready", "/api/admin/providers", "/api/admin/models", "/api/admin/budgets"] {
            shown += &onyx.get(path).await.text();
        }
        for arguments in [
            vec!["providers", "list", "--json"],
            vec!["providers", "status"],
            vec!["doctor", "--json"],
        ] {
            let ran = run(&onyx.home(), &arguments).await;
            shown += &ran.out;
            shown += &ran.err;
        }
    }
    shown += &onyx.log();
    for key in [KEY, fresh] {
        assert!(!shown.contains(key), "{shown}");
    }
    assert!(shown.contains("sk-or-…876"), "{shown}");
}

fn two(first: &ScriptedModel, second: &ScriptedModel) -> Value {
    json!({
        "one": provider("openai", &first.base_url()),
        "two": provider("anthropic", &second.base_url_of(Wire::Anthropic)),
    })
}

#[tokio::test]
async fn an_agent_goes_on_with_the_model_it_selects_within_what_is_configured() {
    let (first, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    let onyx = started(config(&two(&first, &second), &json!("one/m"))).await;
    let select = |id: &str, model: &str| {
        Script::tool_calls([ScriptedCall::new(id, "select_model", &json!({"model": model}))])
    };
    first.push(select("a", "three/m"));
    first.push(select("b", "two/m"));
    second.push(Script::text("from the second"));
    let mut lines = onyx.chat_lines(&json!({"message": "choose"})).await;
    let mut events = Vec::new();
    while let Some(event) = lines.next().await {
        // Another provider would get the conversation, so the person is asked.
        if event["type"] == "confirm" {
            let draft = event["draft_id"].as_str().unwrap();
            let approve = format!("/api/pending-changes/{draft}/approve");
            let _ = onyx.post(&approve, &json!({})).await.expect(200);
        }
        events.push(event);
    }
    assert_eq!(said(&events), "from the second");
    assert!(statuses(&events).contains(&"two/m answers from here on."), "{events:?}");
    let results: Vec<bool> = events
        .iter()
        .filter(|event| event["type"] == "tool_result")
        .map(|event| event["ok"] == true)
        .collect();
    assert_eq!(results, [false, true], "{events:?}");
    let refusal = first.last_request().body.to_string();
    assert!(refusal.contains("There are: one/m, two/m."), "{refusal}");
    assert_eq!((first.request_count(), second.request_count()), (2, 1));
}

#[tokio::test]
async fn rules_decide_who_answers_for_auto_and_a_status_tells() {
    let (first, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    first.set_default(Script::text("from the first"));
    second.set_default(Script::text("from the second"));
    let mut all = config(&two(&first, &second), &json!("auto"));
    all["routing"] = json!({"rules": [
        {"tasks": ["code"], "models": ["two/m"]},
        {"minTokens": 3_000, "models": ["two/m"]},
        {"models": ["one/m"]},
    ]});
    let agents = all["agents"]["list"].as_array_mut().unwrap();
    agents.push(json!({"id": "coder", "model": "auto/code"}));
    agents.push(json!({"id": "lost", "model": "auto/nonsense"}));
    let onyx = started(all).await;
    let ask = async |agent: &str, message: &str| {
        onyx.chat_stream(&json!({"message": message, "agent": agent})).await
    };
    let plain = ask("main", "hi").await;
    assert_eq!(said(&plain), "from the first");
    assert!(statuses(&plain)[0].starts_with("one/m was chosen by rule 3;"), "{plain:?}");
    assert_eq!(said(&ask("coder", "hi").await), "from the second");
    assert_eq!(said(&ask("main", &"long words ".repeat(2_000)).await), "from the second");
    assert_eq!(error_of(&ask("lost", "hi").await).0, "model_not_found");
}

#[tokio::test]
async fn one_setting_says_what_agents_without_a_model_answer_with_and_in_which_order() {
    let (first, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    second.set_default(Answer::text("from the second"));
    let providers = json!({
        "first": provider("openai", &first.base_url()),
        "second": provider("openai", &second.base_url()),
    });
    let onyx = started(config(&providers, &Value::Null)).await;
    let path = "/api/admin/default-model";
    let put = async |body: Value| {
        onyx_test_support::Reply::of(onyx.request(reqwest::Method::PUT, path).json(&body)).await
    };
    assert_eq!(onyx.get(path).await.expect(200).json(), json!({"primary": null, "fallbacks": []}));
    for (status, body, field) in [
        (404, json!({"primary": "nobody/m"}), "primary"),
        (404, json!({"primary": "first/m", "fallbacks": ["nobody/m"]}), "fallbacks[0]"),
        (400, json!({"primary": "first/m", "fallbacks": ["second/m", "first/m"]}), "fallbacks[1]"),
        (400, json!({"primary": null, "fallbacks": ["second/m"]}), "fallbacks"),
    ] {
        let refused = put(body).await.expect(status).json();
        assert!(refused.to_string().contains(field), "{field}: {refused}");
    }
    let only = json!({"primary": "second/m", "fallbacks": []});
    assert_eq!(put(only.clone()).await.expect(200).json(), only);
    let hi = json!({"message": "hi"});
    assert_eq!(said(&onyx.chat_stream(&hi).await), "from the second");
    assert_eq!(first.request_count(), 0);

    let chain = json!({"primary": "first/m", "fallbacks": ["second/m"]});
    assert_eq!(put(chain.clone()).await.expect(200).json(), chain);
    assert_eq!(onyx.get(path).await.expect(200).json(), chain);
    let text = std::fs::read_to_string(onyx.config_path()).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["agents"]["defaults"]["model"], chain);
    assert_eq!(written["agents"]["defaults"]["titles"], "words", "the rest stays");
    assert_eq!(said(&onyx.chat_stream(&hi).await), "ok");
    first.set_default(Answer::error(ErrorKind::Auth));
    let events = onyx.chat_stream(&hi).await;
    assert_eq!(said(&events), "from the second");
    assert!(statuses(&events).iter().any(|status| status.contains("second/m")), "{events:?}");
    let none = json!({"primary": null, "fallbacks": []});
    assert_eq!(put(none.clone()).await.expect(200).json(), none);
}
