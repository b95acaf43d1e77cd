//! `ask_agent` and `route_task`: what one run asks of other agents and models.

use onyx_test_support::{Page, Site, wait_for, wait_until};
use serde_json::{Value, json};

use super::{has_status, obedient, pending, read_tainted, results, sent, told, two_agents, undo};
use crate::drafts::{message, path, vault};
use crate::{SOON, builder};

fn ask(agent: &str, words: &str) -> (&'static str, Value) {
    ("ask_agent", json!({"agent": agent, "message": words}))
}

fn write(name: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": name, "content": "x\n"}))
}

async fn session_of(onyx: &onyx_test_support::OnyxProcess, agent: &str) -> String {
    let list = onyx.get("/v1/sessions").await.expect(200).json();
    let of_agent = |session: &&Value| session["agent"] == agent;
    let found = list["sessions"].as_array().unwrap().iter().find(of_agent);
    found.unwrap_or_else(|| panic!("{list:#}"))["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn another_agent_answers_in_a_session_of_its_own() {
    let model = obedient().await;
    let onyx = two_agents(&model, "act", "act").start().await;
    let events =
        told(&onyx, &[ask("nobody", "hi"), ask("main", "hi"), ask("helper", "well?")]).await;
    let outputs: Vec<&Value> = results(&events).iter().map(|result| &result["output"]).collect();
    assert_eq!(outputs, ["agent: there are helper", "agent: there are helper", "ok"]);
    assert!(!has_status(&events, "tainted"), "{events:#?}");
    let session = session_of(&onyx, "helper").await;
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let asked = turns["turns"].as_array().unwrap().iter().find(|turn| turn["type"] == "user");
    let asked = asked.unwrap();
    assert_eq!((&asked["content"], &asked["origin"]), (&json!("well?"), &json!("agent")));
    // The asked agent learns who asks.
    let requests = model.requests();
    let heard = requests.iter().any(|request| request.body.to_string().contains("[main]: well?"));
    assert!(heard);
}

#[tokio::test]
async fn who_cannot_be_asked_is_not_offered() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    told(&onyx, &[]).await;
    let offered = model.last_request().body["tools"].to_string();
    for tool in ["ask_agent", "sessions_send", "route_task"] {
        assert!(!offered.contains(tool), "{tool}");
    }
    assert!(offered.contains("ask_person") && offered.contains("delete_file"));
    told(&onyx, &[]).await;
    told(&onyx, &[]).await;
    assert!(model.last_request().body["tools"].to_string().contains("sessions_send"));
}

#[tokio::test]
async fn what_the_asked_agent_has_read_taints_who_asked() {
    let model = obedient().await;
    let onyx = two_agents(&model, "act", "act").start().await;
    let calls = [ask("helper", &message(&[read_tainted()])), write("agents.md")];
    let mut lines = onyx.chat_lines(&json!({"message": message(&calls)})).await;
    let confirm = lines.until("confirm").await;
    assert_eq!(confirm["tool"], "write_file");
    let draft = path(confirm["draft_id"].as_str().unwrap());
    let _ = onyx.post(&format!("{draft}/reject"), &json!({})).await.expect(200);
    lines.rest().await;
    assert_eq!(vault(&onyx, "agents.md"), None);
}

#[tokio::test]
async fn who_has_read_from_outside_taints_whom_it_asks() {
    let model = obedient().await;
    let onyx = two_agents(&model, "act", "act").start().await;
    let order = message(&[write("note.md"), write("agents.md")]);
    told(&onyx, &[read_tainted(), ask("helper", &order)]).await;
    assert_eq!(vault(&onyx, "note.md").as_deref(), Some("x\n"));
    assert_eq!(vault(&onyx, "agents.md"), None);
    let drafts = pending(&onyx).await;
    let [draft] = drafts.as_slice() else { panic!("{drafts:#?}") };
    assert_eq!((&draft["agent"], &draft["tainted"]), (&json!("helper"), &json!(true)));
    let session = session_of(&onyx, "helper").await;
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let asked = turns["turns"].as_array().unwrap().iter().find(|turn| turn["type"] == "user");
    assert_eq!(asked.unwrap()["origin"], "agent_tainted");
    // The session stays tainted for later runs.
    let events = sent(&onyx, json!({"message": "and?", "session_id": session})).await;
    assert_eq!((&events[1]["type"], &events[1]["code"]), (&json!("status"), &json!("tainted")));
}

#[tokio::test]
async fn an_address_that_an_agent_writes_to_another_is_no_address_a_person_wrote() {
    let site = Site::start(|_| Page::html("<p>hit</p>")).await;
    let model = obedient().await;
    let web = json!({"tools": {"web": {"allowPrivateHosts": [site.address().to_string()]}}});
    let onyx = two_agents(&model, "act", "act").merge(web).start().await;
    let fetch = message(&[("web_fetch", json!({"url": site.url("/?q=secret")}))]);
    // The address is free for the agent to which the person wrote it, and for no other.
    told(&onyx, &[ask("helper", &fetch)]).await;
    let drafts = pending(&onyx).await;
    assert_eq!(drafts.len(), 1, "{drafts:#?}");
    assert_eq!(drafts[0]["tool"], "web_fetch");
    assert!(site.requests().is_empty());
}

#[tokio::test]
async fn nobody_lends_another_agent_more_than_it_has_itself() {
    let model = obedient().await;
    let onyx = two_agents(&model, "read", "act").start().await;
    let events = told(&onyx, &[ask("helper", &message(&[write("a.md")]))]).await;
    assert_eq!(results(&events)[0]["output"], "ok");
    assert_eq!((vault(&onyx, "a.md"), pending(&onyx).await.len()), (None, 0));
    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    let denied = audit["rows"].as_array().unwrap().iter().any(|row| {
        row["tool"] == "write_file" && row["decision"] == "deny" && row["agent"] == "helper"
    });
    assert!(denied, "{audit:#}");
}

#[tokio::test]
async fn agents_ask_each_other_three_deep_and_no_deeper() {
    let model = obedient().await;
    let onyx = two_agents(&model, "act", "act").start().await;
    let mut words = "enough".to_owned();
    for agent in ["main", "helper", "main", "helper"] {
        words = message(&[ask(agent, &words)]);
    }
    onyx.chat_stream(&json!({"message": words})).await;
    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    let rows = audit["rows"].as_array().unwrap();
    let of = |decision: &str| {
        rows.iter().filter(|row| row["tool"] == "ask_agent" && row["decision"] == decision).count()
    };
    assert_eq!((of("allow"), of("deny")), (3, 1), "{audit:#}");
}

#[tokio::test]
async fn stopping_a_run_stops_whom_it_asked() {
    let model = obedient().await;
    let onyx = two_agents(&model, "act", "act").start().await;
    let body = json!({"message": message(&[ask("helper", "never answer")])});
    let mut lines = onyx.chat_lines(&body).await;
    let start = lines.until("start").await;
    lines.until("tool_call").await;
    wait_until("the helper's model", SOON, || model.request_count() == 2).await;
    let run = json!({"run_id": start["run_id"]});
    let _ = onyx.post("/api/agent/stop", &run).await.expect(200);
    assert_eq!(lines.rest().await.last().unwrap()["status"], "cancelled");
    wait_until("the helper's model to be let go", SOON, || model.abandoned() == 1).await;
    let session = session_of(&onyx, "helper").await;
    wait_for("the helper's end", SOON, async || {
        let page = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
        let ended = |turn: &Value| turn["type"] == "run_end" && turn["status"] == "cancelled";
        page["turns"].as_array().unwrap().iter().any(ended).then_some(())
    })
    .await;
}

/// Limits and prices with which each call costs 0.5.
fn dear() -> Value {
    json!({"id": "some-model", "price": {"input": 20_000, "output": 60_000}})
}

#[tokio::test]
async fn what_asked_agents_cost_counts_for_who_asks() {
    let model = obedient().await;
    let config = json!({
        "providers": {"mine": {"models": [dear()]}},
        "limits": {"max_cost": 1.8, "max_cost_per_day": 0},
    });
    let onyx = two_agents(&model, "act", "act").merge(config).start().await;
    // The question costs 0.5, the helper 1.0 and the agent that it asks 0.5; all of it counts.
    let deep = message(&[ask("main", "well?")]);
    let events = told(&onyx, &[ask("helper", &deep)]).await;
    assert_eq!(model.request_count(), 4, "{events:#?}");
    let error = events.iter().find(|event| event["type"] == "error").unwrap_or(&Value::Null);
    assert_eq!(error["code"], "limit_budget", "{events:#?}");
    let cost = events.last().unwrap()["usage"]["cost"].as_f64().unwrap();
    assert!(cost < 0.6, "what others cost is booked by them: {cost}");
}

#[tokio::test]
async fn a_task_is_done_by_the_model_that_was_chosen_and_booked_to_the_run() {
    let model = obedient().await;
    let other = json!({"id": "other", "price": {"input": 0, "output": 0}});
    let config =
        json!({"providers": {"mine": {"models": [dear(), other]}}, "limits": {"max_cost": 0}});
    let onyx = builder(&model).merge(config).start().await;
    let task = ("route_task", json!({"prompt": "sum it up", "model": "mine/other"}));
    let events = told(&onyx, std::slice::from_ref(&task)).await;
    assert_eq!(results(&events)[0]["output"], "ok", "{events:#?}");
    let requests = model.requests();
    let asked = requests.iter().find(|request| request.body["model"] == "other").unwrap();
    assert!(asked.body["tools"].as_array().is_none_or(Vec::is_empty), "{}", asked.body);
    assert!(asked.body["messages"].to_string().contains("sum it up"));
    let usage = &events.last().unwrap()["usage"];
    assert_eq!((&usage["input"], &usage["output"]), (&json!(30), &json!(15)), "{usage}");
    let report = onyx.get("/api/admin/usage").await.expect(200).json();
    assert!(report.to_string().contains("mine/other"), "{report:#}");

    let suggest = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
    ]}, "providers": {"mine": {"models": [dear(), {"id": "other"}]}}});
    let careful = builder(&model).merge(suggest).start().await;
    told(&careful, &[task]).await;
    assert_eq!(pending(&careful).await[0]["tool"], "route_task");
}

#[tokio::test]
async fn what_an_asked_agent_wrote_is_taken_back_with_the_run_that_asked() {
    let model = obedient().await;
    let onyx = two_agents(&model, "act", "act").start().await;
    let calls = [write("mine.md"), ask("helper", &message(&[write("a.md"), write("b.md")]))];
    let events = told(&onyx, &calls).await;
    for name in ["mine.md", "a.md", "b.md"] {
        assert_eq!(vault(&onyx, name).as_deref(), Some("x\n"), "{name}: {events:#?}");
    }
    let restored = undo(&onyx, &events).await;
    for name in ["mine.md", "a.md", "b.md"] {
        assert_eq!(vault(&onyx, name), None, "{name}: {restored}");
    }
}
