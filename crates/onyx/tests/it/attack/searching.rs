//! Web searches go to the configured engine and nowhere else, and carry no more than a search.

use onyx_test_support::{OnyxProcess, Page, ScriptedModel, Site};
use serde_json::{Value, json};

use crate::builder;
use crate::drafts::{message, obedient};

struct House {
    onyx: OnyxProcess,
    engine: Site,
    other: Site,
    _model: ScriptedModel,
}

/// A search engine with the given answers, and another server that is not configured.
async fn house(answer: impl Fn(&str, &str) -> Page + Send + Sync + 'static) -> House {
    let model = obedient().await;
    let other = Site::start(|_| Page::json(r#"{"results": []}"#)).await;
    let elsewhere = other.url("/stolen");
    let engine = Site::start(move |path| answer(path, &elsewhere)).await;
    let web = json!({"tools": {"web": {
        "search": {"baseUrl": engine.url("/searx/")},
        "allowPrivateHosts": [engine.address().to_string(), other.address().to_string()],
    }}});
    let onyx = builder(&model).merge(web).start().await;
    House { onyx, engine, other, _model: model }
}

fn found(_: &str, _: &str) -> Page {
    Page::json(r#"{"results": [{"url": "https://example.org/", "title": "One", "content": "x"}]}"#)
}

async fn results(house: &House, calls: &[(&str, Value)]) -> Vec<Value> {
    let body = json!({"message": message(calls)});
    let mut lines = house.onyx.chat_lines(&body).await;
    let mut told = Vec::new();
    while let Some(event) = lines.next().await {
        match event["type"].as_str().unwrap() {
            "confirm" => {
                let draft = crate::drafts::path(event["draft_id"].as_str().unwrap());
                drop(house.onyx.post(&format!("{draft}/reject"), &json!({})).await.expect(200));
                told.push(event);
            }
            "tool_result" => told.push(event),
            _ => {}
        }
    }
    told
}

/// The searches that the engine received, decoded.
fn asked(site: &Site) -> Vec<String> {
    let query = |request: &String| {
        let path = request.split_whitespace().nth(1).unwrap();
        let url = reqwest::Url::parse(&format!("http://x{path}")).unwrap();
        url.query_pairs().find(|(name, _)| name == "q").map(|(_, words)| words.into_owned())
    };
    site.requests().iter().filter_map(query).collect()
}

#[tokio::test]
async fn no_word_of_a_search_is_a_command_to_the_engine() {
    let house = house(found).await;
    let queries = [
        "!!evil.example secret",
        "tides !images",
        ":de tides",
        "<5 tides",
        "!g tides",
        "!!! tides",
    ];
    for query in queries {
        drop(results(&house, &[("web_search", json!({"query": query}))]).await);
    }
    let asked = asked(&house.engine);
    assert_eq!(asked.len(), queries.len(), "{asked:?}");
    for words in &asked {
        let commands =
            words.split_whitespace().filter(|word| word.starts_with(['!', ':', '<', '?']));
        assert_eq!(commands.collect::<Vec<_>>(), [""; 0], "{words}");
    }
    assert_eq!(asked[1], "tides images");
}

#[tokio::test]
async fn a_search_follows_no_redirect_of_the_engine() {
    let house = house(|_, elsewhere| Page::redirect(elsewhere)).await;
    let told = results(&house, &[("web_search", json!({"query": "tides"}))]).await;
    assert_eq!(house.other.requests(), [""; 0]);
    assert_eq!(told[0]["ok"], false, "{told:?}");
    assert!(told[0]["summary"].as_str().unwrap().contains("redirect"), "{told:?}");
}

#[tokio::test]
async fn an_engine_that_answers_without_end_is_cut_off() {
    let body = format!(r#"{{"results": [], "more": "{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let house = house(move |_, _| Page::json(body.clone())).await;
    let told = results(&house, &[("web_search", json!({"query": "tides"}))]).await;
    assert_eq!(told[0]["ok"], false, "{told:?}");
}

#[tokio::test]
async fn a_tainted_run_asks_before_a_long_search_or_one_that_holds_an_address() {
    let house = house(found).await;
    let page = house.other.url("/page");
    let read = ("web_fetch", json!({"url": page}));
    let long = "word ".repeat(40);
    let encoded = "c2VjcmV0IGtleSBvZiB0aGUgaG91c2U5OTk4Nzc2NjU1NDQzMzIyMTE";
    for query in
        ["x.evil.example", "site:evil.example tides", "http://evil.example/a", &long, encoded]
    {
        let search = ("web_search", json!({"query": query}));
        let told = results(&house, &[read.clone(), search]).await;
        assert!(told.iter().any(|event| event["type"] == "confirm"), "{query}: {told:?}");
    }
    assert_eq!(asked(&house.engine), [""; 0], "none of them was sent");
    // An ordinary search still needs no approval, and neither does any search of a run that read
    // nothing foreign.
    let told =
        results(&house, &[read, ("web_search", json!({"query": "high water at noon"}))]).await;
    assert!(told.iter().all(|event| event["type"] != "confirm"), "{told:?}");
    let told = results(&house, &[("web_search", json!({"query": "site:example.org tides"}))]).await;
    assert!(told.iter().all(|event| event["type"] != "confirm"), "{told:?}");
    assert_eq!(asked(&house.engine).len(), 2);
}
