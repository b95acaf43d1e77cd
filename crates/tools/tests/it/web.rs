use std::sync::Arc;
use std::time::Duration;

use onyx_egress::SystemResolver;
use onyx_test_support::{Page, Site};
use onyx_tools::{Masker, Web, WebSettings, web_tools};
use onyx_types::{Origin, Tier, ToolOutcome};
use serde_json::json;

use crate::support::World;

const ARTICLE: &str = r#"<!doctype html><html><head><title>Tides of the Wadden Sea</title>
<script>alert(1)</script></head><body><nav><a href="/menu">Menu</a></nav><article>
<h1>Tides of the Wadden Sea</h1>
<p>Twice a day the sea leaves the flats, and twice a day it comes back, as it has done for longer
than anyone can tell. See <a href="/tables">the tables</a> for this year.</p>
<p>The <b>neap tide</b> is the lesser one, seven days after the spring tide; it leaves more water
in the channels and lets the boats of the islands sail at any hour they like.</p>
<p>Whoever walks across must know both, and the way back, and must not linger at the channels.</p>
</article><footer>Imprint</footer></body></html>"#;

/// A world whose web is one server on this machine, which also answers searches.
async fn world(site: &Site) -> World {
    let settings: WebSettings = serde_json::from_value(json!({
        "search": { "baseUrl": site.url("/searx/") },
        "allowPrivateHosts": [site.address().to_string()],
    }))
    .unwrap();
    let web = Web::new(Arc::new(SystemResolver), &settings).unwrap();
    World::with(web_tools(&web), Masker::default()).await
}

async fn article_site() -> Site {
    Site::start(|path| match path {
        "/tides" | "/tables" => Page::html(ARTICLE),
        "/moved" => Page::redirect("/tides"),
        "/plain" => {
            Page { content_type: "text/plain", body: b"just text".to_vec(), ..Page::default() }
        }
        "/photo" => {
            Page { content_type: "image/jpeg", body: vec![0xff, 0xd8, 0], ..Page::default() }
        }
        "/endless" => Page { endless: true, content_type: "text/plain", ..Page::default() },
        _ => Page { status: 404, ..Page::html("no") },
    })
    .await
}

#[tokio::test]
async fn a_page_the_person_named_is_read_as_markdown_and_taints() {
    let site = article_site().await;
    let world = world(&site).await;
    world.cx.addresses.person_wrote(&format!("What does {} say?", site.url("/tides")));
    let outcome = world.call("web_fetch", json!({"url": site.url("/tides")})).await;
    assert!(!outcome.is_error, "{}", outcome.output);
    assert_eq!(outcome.origin, Origin::External);
    let head = format!("# Tides of the Wadden Sea\n{}\n\n", site.url("/tides"));
    assert!(outcome.output.starts_with(&head), "{}", outcome.output);
    let link = format!("[the tables]({})", site.url("/tables"));
    for part in ["Twice a day the sea leaves the flats", "**neap tide**", &link] {
        assert!(outcome.output.contains(part), "{part}: {}", outcome.output);
    }
    for part in ["alert(1)", "<p>", "Imprint"] {
        assert!(!outcome.output.contains(part), "{part}: {}", outcome.output);
    }
    let audit = world.audit_lines().await;
    assert_eq!(audit, [format!("web_fetch read allow Fetch {}: ok", site.url("/tides"))]);
}

#[tokio::test]
async fn an_address_is_free_when_somebody_gave_it_and_reaches_out_otherwise() {
    let site = article_site().await;
    let world = world(&site).await.at(Tier::Act).tainted();
    let made_up = site.url("/tides?q=what-the-person-told-me");
    let told = world.asked("web_fetch", json!({"url": made_up})).await;
    assert_eq!(told, format!("Drafted: Fetch {made_up}"));
    assert_eq!(site.requests(), Vec::<String>::new());
    world.cx.addresses.person_wrote(&site.url("/moved"));
    world.done("web_fetch", json!({"url": site.url("/moved")})).await;
    // The address is in the page that was fetched.
    world.done("web_fetch", json!({"url": site.url("/tables")})).await;
    let longer = format!("{}/x", site.url("/tables"));
    let told = world.asked("web_fetch", json!({"url": longer})).await;
    assert_eq!(told, format!("Drafted: Fetch {longer}"));
}

#[tokio::test]
async fn twenty_fetches_of_a_run_are_free() {
    let site = article_site().await;
    let world = world(&site).await.tainted();
    world.cx.addresses.person_wrote(&site.url("/plain"));
    let fetches = (0..25).map(|_| world.call("web_fetch", json!({"url": site.url("/plain")})));
    let outcomes = futures::future::join_all(fetches).await;
    let is_done = |outcome: &&ToolOutcome| !outcome.is_error && outcome.draft.is_none();
    let done = outcomes.iter().filter(is_done).count();
    assert_eq!((done, site.requests().len()), (20, 20));
}

#[tokio::test]
async fn what_is_no_page_says_so() {
    let site = article_site().await;
    let world = world(&site).await;
    for path in ["/plain", "/photo", "/nowhere", "/endless"] {
        world.cx.addresses.person_wrote(&site.url(path));
    }
    let plain = world.done("web_fetch", json!({"url": site.url("/plain")})).await;
    assert_eq!(plain, format!("# {url}\n{url}\n\njust text", url = site.url("/plain")));
    assert_eq!(
        world.failed("web_fetch", json!({"url": site.url("/photo")})).await,
        "it is not text but image/jpeg (3 bytes)"
    );
    assert_eq!(
        world.failed("web_fetch", json!({"url": site.url("/nowhere")})).await,
        format!("{} answers 404", site.url("/nowhere"))
    );
    let endless = world.done("web_fetch", json!({"url": site.url("/endless")})).await;
    assert!(endless.ends_with("[the page is longer; the rest was left out]"));
}

#[tokio::test]
async fn an_inner_address_is_refused_and_audited_also_when_the_person_wrote_it() {
    let site = article_site().await;
    let canary = Site::start(|_| Page::html("inside")).await;
    let world = world(&site).await;
    for url in [canary.url("/"), format!("http://[::ffff:127.0.0.1]:{}/", canary.address().port())]
    {
        world.cx.addresses.person_wrote(&url);
        let told = world.failed("web_fetch", json!({"url": url})).await;
        assert!(told.starts_with("not allowed: "), "{told}");
    }
    for url in ["file:///etc/passwd", "http://ada:pw@example.org/", "notes.md"] {
        let told = world.failed("web_fetch", json!({"url": url})).await;
        assert!(told.starts_with("not allowed: "), "{told}");
    }
    assert_eq!(canary.requests(), Vec::<String>::new());
    assert_eq!(world.audit().await.len(), 5);
}

#[tokio::test]
async fn a_search_lists_what_the_engine_found_and_its_addresses_become_free() {
    let site = Site::start(|path| match path {
        "/searx/search?q=wadden+sea+%26+tides&format=json" => Page::json(
            json!({"results": [
                {"url": "https://a.test/1", "title": "One\nline", "content": " First. "},
                {"url": "https://a.test/2", "title": "Two", "content": null},
                {"url": "https://a.test/3", "title": ""},
            ]})
            .to_string(),
        ),
        _ => Page::json(r#"{"results": []}"#),
    })
    .await;
    let world = world(&site).await;
    let search = json!({"query": "wadden sea & tides", "count": 2});
    let outcome = world.call("web_search", search).await;
    let listed = "One\\nline\nhttps://a.test/1\nFirst.\n\nTwo\nhttps://a.test/2";
    assert_eq!((outcome.output.as_str(), outcome.origin), (listed, Origin::External));
    assert_eq!(outcome.summary, "Search the web for wadden sea & tides");
    let is_free = |url: &str| world.cx.addresses.is_free(&url.parse().unwrap());
    assert_eq!([1, 2, 3].map(|n| is_free(&format!("https://a.test/{n}"))), [true, true, false]);
    assert_eq!(world.done("web_search", json!({"query": "x"})).await, "[nothing found]");
}

#[tokio::test]
async fn an_engine_that_fails_says_how_to_mend_it() {
    let site = Site::start(|path| {
        if path.contains("q=403") {
            Page { status: 403, ..Page::html("no") }
        } else {
            Page::html("<html>a landing page</html>")
        }
    })
    .await;
    let world = world(&site).await;
    let told = world.failed("web_search", json!({"query": "403"})).await;
    assert!(told.contains("search.formats"), "{told}");
    let told = world.failed("web_search", json!({"query": "x"})).await;
    assert!(told.contains("tools.web.search.baseUrl"), "{told}");
    drop(site);
    let told = world.failed("web_search", json!({"query": "x"})).await;
    assert!(told.starts_with("the search engine of this home does not answer"), "{told}");
}

#[tokio::test]
async fn the_engine_is_not_for_fetching_and_none_means_no_search() {
    let site = article_site().await;
    let settings: WebSettings =
        serde_json::from_value(json!({"search": {"baseUrl": site.url("")}})).unwrap();
    let web = Web::new(Arc::new(SystemResolver), &settings).unwrap();
    let world = World::with(web_tools(&web), Masker::default()).await;
    world.cx.addresses.person_wrote(&site.url("/tides"));
    let told = world.failed("web_fetch", json!({"url": site.url("/tides")})).await;
    assert!(told.starts_with("not allowed: "), "{told}");
    let offered = || -> Vec<String> {
        let offers =
            world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
        offers.offers().iter().map(|offer| offer.name.clone()).collect()
    };
    assert_eq!(offered(), ["web_search", "web_fetch"]);
    web.follow(&WebSettings::default()).unwrap();
    assert_eq!(offered(), ["web_fetch"]);
    let told = world.failed("web_search", json!({"query": "x"})).await;
    assert!(told.contains("tools.web.search.baseUrl"), "{told}");
    assert_eq!(site.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_fetch_lets_go_of_its_connection() {
    let site = Site::start(|_| Page { silent: true, ..Page::default() }).await;
    let world = world(&site).await;
    world.cx.addresses.person_wrote(&site.url("/"));
    let cancel = world.cx.cancel.clone();
    let input = json!({"url": site.url("/")});
    let fetch = world.call("web_fetch", input);
    let stop = async {
        let reached = || site.requests().len() == 1;
        onyx_test_support::wait_until("the request", Duration::from_secs(10), reached).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(fetch, stop);
    assert_eq!(outcome.output, "cancelled before it ended");
}
