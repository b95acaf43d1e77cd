//! Who hears a conversation: other models, other providers, and pages that are fetched.

use onyx_test_support::{OnyxBuilder, OnyxProcess, Page, ScriptedModel, Site, Wire};
use serde_json::{Value, json};

use super::{events_of, obedient, pending, read_tainted, results, told};
use crate::drafts::{message, path, tainting};
use crate::{BINARY, builder};

/// Two providers, and an agent of this tier that answers through the first.
fn two_providers(first: &ScriptedModel, second: &ScriptedModel, tier: &str) -> OnyxBuilder {
    let provider = |model: &ScriptedModel| {
        let models = json!([{"id": "m", "price": {"input": 0, "output": 0}}, {"id": "n"}]);
        json!({"kind": "openai", "baseUrl": model.base_url(), "models": models,
            "apiKey": onyx_test_support::DEFAULT_KEY})
    };
    let config = json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": onyx_test_support::DEFAULT_TOKEN}},
        "providers": {"one": provider(first), "two": provider(second)},
        "agents": {"list": [{"id": "main", "default": true, "model": "one/m", "tier": tier}]},
    });
    tainting(OnyxProcess::builder().binary(BINARY).config(config))
}

fn error_of(events: &[Value]) -> String {
    let error = events.iter().find(|event| event["type"] == "error");
    error.map(|error| format!("{} {}", error["code"], error["message"])).unwrap_or_default()
}

#[tokio::test]
async fn a_conversation_goes_to_another_provider_only_if_a_person_agrees() {
    let (first, second) = (obedient().await, ScriptedModel::start().await);
    let select = ("select_model", json!({"model": "two/m"}));
    let route = ("route_task", json!({"prompt": "my secret", "model": "two/m"}));
    let onyx = two_providers(&first, &second, "read").start().await;
    let events = told(&onyx, &[read_tainted(), select.clone(), route.clone()]).await;
    let ok: Vec<&Value> = results(&events).into_iter().map(|result| &result["ok"]).collect();
    assert_eq!(ok, [true, false, false], "{events:#?}");
    assert_eq!(second.request_count(), 0, "nobody agreed");
    // Another model of who hears it already is no news to anybody.
    let own = ("select_model", json!({"model": "one/n"}));
    let events = told(&onyx, &[own]).await;
    assert_eq!(results(&events)[0]["ok"], true, "{events:#?}");

    let onyx = two_providers(&first, &second, "act").start().await;
    for call in [select, route] {
        let before = second.request_count();
        let mut lines = onyx.chat_lines(&json!({"message": message(&[call])})).await;
        let confirm = lines.until("confirm").await;
        assert_eq!(second.request_count(), before, "{confirm}");
        assert!(confirm["preview"].to_string().contains("two/m"), "{confirm}");
        let draft = path(confirm["draft_id"].as_str().unwrap());
        let _ = onyx.post(&format!("{draft}/approve"), &json!({})).await.expect(200);
        lines.until("done").await;
        assert_eq!(second.request_count(), before + 1, "the person agreed");
    }
}

#[tokio::test]
async fn an_agent_or_space_that_is_pinned_to_this_machine_uses_no_other_model() {
    let (first, second) = (obedient().await, ScriptedModel::start().await);
    let pinned = json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "one/m", "tier": "act"},
        {"id": "home", "model": "one/m", "tier": "act", "localOnly": true},
    ]}});
    let onyx = two_providers(&first, &second, "act").merge(pinned).start().await;
    for body in [
        json!({"message": "hi", "agent": "home"}),
        json!({"message": "hi", "agent": "home", "model": "two/m"}),
    ] {
        let events = onyx.chat_stream(&body).await;
        let error = error_of(&events);
        assert!(error.contains("forbidden") && error.contains("this machine"), "{events:#?}");
    }
    assert_eq!((first.request_count(), second.request_count()), (0, 0));
    let space = json!({"name": "Private", "local_only": true});
    let space = onyx.post("/api/spaces", &space).await.expect(201).json();
    assert_eq!(space["local_only"], true);
    let companion = format!("/api/spaces/{}/companion", space["id"].as_str().unwrap());
    let companion = onyx.get(&companion).await.expect(200).json();
    let at = format!("/api/conversations/{}", companion["conversation_id"].as_str().unwrap());
    let posted = onyx.post(&format!("{at}/messages"), &json!({"content": "hi"})).await.expect(201);
    let message = posted.json()["message_id"].as_str().unwrap().to_owned();
    let told = onyx.get(&format!("{at}/stream?messageId={message}")).await.expect(200).text();
    assert!(told.contains("this machine"), "{told}");
    assert_eq!((first.request_count(), second.request_count()), (0, 0));
}

#[tokio::test]
async fn a_model_of_this_machine_answers_for_a_pinned_agent_and_asks_no_other() {
    let (here, away) = (obedient().await, ScriptedModel::start().await);
    let config = json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": onyx_test_support::DEFAULT_TOKEN}},
        "providers": {
            "ollama": {"baseUrl": here.base_url_of(Wire::Ollama), "models": [{"id": "m"}]},
            "away": {"kind": "openai", "baseUrl": away.base_url(), "models": [{"id": "m"}],
                "apiKey": onyx_test_support::DEFAULT_KEY},
        },
        "agents": {"list": [
            {"id": "main", "default": true, "model": "ollama/m", "tier": "act", "localOnly": true},
            {"id": "cloud", "model": "away/m", "tier": "act"},
        ]},
    });
    let onyx = OnyxProcess::builder().binary(BINARY).config(config).start().await;
    let calls = [
        ("select_model", json!({"model": "away/m"})),
        ("route_task", json!({"prompt": "my secret", "model": "away/m"})),
        ("ask_agent", json!({"agent": "cloud", "message": "my secret"})),
    ];
    for call in calls {
        let name = call.0;
        let events = onyx.chat_stream(&json!({"message": message(&[call])})).await;
        let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
        assert_eq!(result["ok"], false, "{name}: {events:#?}");
        assert!(here.request_count() > 0);
        assert_eq!(away.request_count(), 0, "{name}: {events:#?}");
    }
}

#[tokio::test]
async fn few_links_of_a_page_are_fetched_without_asking_also_through_other_agents() {
    let links: String = (0..40).map(|n| format!("<a href=\"/{n}\">{n}</a> LINK/{n} ")).collect();
    let site = Site::start(move |_| Page::html(format!("<p>{links}</p>"))).await;
    let model = obedient().await;
    let web = json!({"tools": {"web": {"allowPrivateHosts": [site.address().to_string()]}},
    "agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": "act"},
        {"id": "helper", "model": "mine/some-model", "tier": "act"},
    ]}});
    let onyx = builder(&model).merge(web).start().await;
    let fetch = |page: &str| ("web_fetch", json!({"url": site.url(page)}));
    let first = site.url("/start");
    let asked = message(&[fetch("/start"), fetch("/1"), fetch("/2")]);
    let calls = message(&[
        fetch("/start"),
        ("ask_agent", json!({"agent": "helper", "message": format!("{first} {asked}")})),
        fetch("/3"),
        fetch("/4"),
        fetch("/5"),
    ]);
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": format!("{first} {calls}")}]});
    let reply = onyx.post("/v1/chat/completions", &body).await.expect(200);
    let run = reply.headers["x-onyx-run-id"].to_str().unwrap().to_owned();
    let events = events_of(&onyx, &json!({"run_id": run})).await;
    let fetched = site.requests();
    let links = fetched.iter().filter(|request| !format!("{request:?}").contains("/start")).count();
    assert!(links <= 3, "{links} of one site: {fetched:?} {events:#?}");
    assert!(!pending(&onyx).await.is_empty(), "the rest waits for the person");
}
