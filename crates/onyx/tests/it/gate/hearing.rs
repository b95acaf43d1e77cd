//! Who gets a conversation: other models, other providers, and servers of pages that are fetched.

use onyx_test_support::{
    Answer, OnyxBuilder, OnyxProcess, Page, ScriptedCall, ScriptedModel, Site, Wire,
};
use serde_json::{Value, json};

use super::{obedient, pending, read_tainted, results, told};
use crate::drafts::{message, path, tainting};
use crate::{BINARY, builder};

/// Two providers, and an agent of this tier that uses the first.
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
    // Another model of the same provider gets nothing that the provider does not have.
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
        assert!(error.contains("forbidden") && error.contains("Only local models"), "{events:#?}");
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
    assert!(told.contains("Only local models"), "{told}");
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

/// Two agents and a site that they may fetch. Another site has a page with links to it, and is the
/// search engine, which finds its own pages for any search.
struct Surfing {
    onyx: OnyxProcess,
    site: Site,
    engine: Site,
}

async fn surfing(model: &ScriptedModel) -> Surfing {
    let site = Site::start(|_| Page::html("<p>a page</p>")).await;
    let pages: Vec<String> = (0..40).map(|n| site.url(&format!("/{n}"))).collect();
    let links: String = pages.iter().map(|page| format!("<p>See {page} for more.</p>")).collect();
    let found =
        pages.iter().take(8).map(|page| json!({"url": page, "title": "One", "content": "x"}));
    let found = json!({"results": found.collect::<Vec<_>>()}).to_string();
    let engine = Site::start(move |path| match path {
        "/start" => Page::html(&links),
        _ => Page::json(&found),
    })
    .await;
    let config = json!({
        "tools": {"web": {
            "search": {"baseUrl": engine.url("/searx/")},
            "allowPrivateHosts": [site.address().to_string(), engine.address().to_string()],
        }},
        "agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "act"},
            {"id": "helper", "model": "mine/some-model", "tier": "act"},
        ]},
    });
    Surfing { onyx: builder(model).merge(config).start().await, site, engine }
}

/// Runs a message while no person attends, and returns which numbered pages were fetched. The
/// person names only the first page; the calls are the model's idea.
async fn fetched_unasked(surfing: &Surfing) -> Vec<String> {
    let words = format!("Read {}", surfing.engine.url("/start"));
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": words}]});
    let _ = surfing.onyx.post("/v1/chat/completions", &body).await.expect(200);
    let paths = surfing.site.requests().into_iter().filter_map(|request| {
        let path = request.split_whitespace().nth(1)?.trim_start_matches('/').to_owned();
        path.parse::<usize>().is_ok().then_some(path)
    });
    paths.collect()
}

/// Gives the model one answer for each call.
fn calls(model: &ScriptedModel, calls: &[(&str, Value)]) {
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        let call = ScriptedCall::new(format!("call{number}"), *tool, arguments);
        model.push(Answer::tool_calls([call]));
    }
}

#[tokio::test]
async fn few_links_of_a_page_are_fetched_without_asking() {
    let model = ScriptedModel::start().await;
    let surfing = surfing(&model).await;
    calls(&model, &[("web_fetch", json!({"url": surfing.engine.url("/start")}))]);
    let fetch = |page: &str| ("web_fetch", json!({"url": surfing.site.url(page)}));
    calls(&model, &["/1", "/2", "/3", "/4", "/5"].map(fetch));
    model.push(Answer::text("done"));
    assert_eq!(fetched_unasked(&surfing).await, ["1", "2", "3"]);
    assert_eq!(pending(&surfing.onyx).await.len(), 2, "the rest waits for the person");
}

#[tokio::test]
async fn other_agents_fetch_from_the_share_of_who_asked_them() {
    let model = ScriptedModel::start().await;
    let surfing = surfing(&model).await;
    let search = || ("web_search", json!({"query": "tides"}));
    let fetch = |page: &str| ("web_fetch", json!({"url": surfing.site.url(page)}));
    let ask = ("ask_agent", json!({"agent": "helper", "message": "look further"}));
    calls(&model, &[search(), fetch("/1"), fetch("/2"), ask]);
    calls(&model, &[search(), fetch("/3"), fetch("/4")]);
    model.push(Answer::text("the helper is done"));
    model.push(Answer::text("done"));
    assert_eq!(fetched_unasked(&surfing).await, ["1", "2", "3"]);
    assert_eq!(pending(&surfing.onyx).await.len(), 1, "the rest waits for the person");
}
