use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use onyx_egress::SystemResolver;
use onyx_test_support::{Page, Site};
use onyx_tools::{Masker, Menos, MenosSettings, OpenSecret, Web, WebSettings, menos_tools};
use onyx_types::{Clock as _, Origin, SystemClock, Tier};
use serde_json::{Value, json};
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey, PrivateKey};
use ssh_key::public::Ed25519PublicKey;

use crate::support::World;

const SEED: [u8; 32] = [7; 32];

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&SEED).unwrap()
}

/// The key as `ssh-keygen` writes it.
fn key_file() -> String {
    let public: [u8; 32] = pair().public_key().as_ref().try_into().unwrap();
    let keys = Ed25519Keypair {
        public: Ed25519PublicKey(public),
        private: Ed25519PrivateKey::from_bytes(&SEED),
    };
    PrivateKey::from(keys).to_openssh(LineEnding::LF).unwrap().to_string()
}

fn settings(base: &str) -> MenosSettings {
    serde_json::from_value(json!({"baseUrl": base, "key": "secret:menos"})).unwrap()
}

fn menos(base: &str, secret: Option<String>, owner: &str) -> Menos {
    let web = Web::new(Arc::new(SystemResolver), &WebSettings::default()).unwrap();
    let open: OpenSecret = Arc::new(move |name| Ok(secret.clone().filter(|_| name == "menos")));
    Menos::new(&settings(base), web, open, owner.parse().unwrap()).unwrap()
}

async fn world(site: &Site) -> World {
    let menos = menos(&site.url("/"), Some(key_file()), "ada");
    let world = World::with(menos_tools(&menos), Masker::default()).await;
    world.at_clock(Arc::new(SystemClock::new()))
}

/// A menos server whose vault holds one video.
async fn vault() -> Site {
    Site::start(|path| match path.split('?').next().unwrap_or_default() {
        "/api/v1/search" => Page::json(
            r#"{"query": "q", "total": 1, "results": [{"id": "c1", "content_type": "youtube",
                "title": "Docker networking", "score": 0.8, "snippet": "bridges first"}]}"#,
        ),
        "/api/v1/ingest" => Page::json(
            r#"{"content_id": "c2", "content_type": "web", "title": "Tides", "job_id": "j1"}"#,
        ),
        "/api/v1/content" => {
            Page::json(r#"{"id": "c3", "file_path": "markdown/c3/x.md", "file_size": 9}"#)
        }
        _ => Page { status: 404, ..Page::json(r#"{"detail": "Not Found"}"#) },
    })
    .await
}

struct Request {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

fn requests(site: &Site) -> Vec<Request> {
    let request = |text: &String| {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let line = lines.next().unwrap().to_owned();
        let pair = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_lowercase(), value.to_owned())
        };
        Request { line, headers: lines.map(pair).collect(), body: body.to_owned() }
    };
    site.requests().iter().map(request).collect()
}

/// Verifies a request as menos does (RFC 9421): the signed text is rebuilt from the request itself.
fn verified(request: &Request) -> Vec<String> {
    let parameters = request.headers["signature-input"].strip_prefix("sig1=").unwrap();
    let (names, rest) = parameters.strip_prefix('(').unwrap().split_once(')').unwrap();
    let names: Vec<String> =
        names.split(' ').map(|name| name.trim_matches('"').to_owned()).collect();
    let mut words = request.line.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let mut base = String::new();
    for name in &names {
        let value = match name.as_str() {
            "@method" => method.to_owned(),
            "@path" => target.split('?').next().unwrap().to_owned(),
            "@authority" => request.headers["host"].clone(),
            "content-digest" => {
                format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, request.body.as_bytes())))
            }
            other => panic!("{other} is nothing that menos knows"),
        };
        base.push_str(&format!("\"{name}\": {value}\n"));
    }
    base.push_str(&format!("\"@signature-params\": {parameters}"));
    let signature = request.headers["signature"].strip_prefix("sig1=:").unwrap();
    let signature = STANDARD.decode(signature.strip_suffix(':').unwrap()).unwrap();
    let public = UnparsedPublicKey::new(&ED25519, pair().public_key().as_ref().to_vec());
    public.verify(base.as_bytes(), &signature).unwrap();
    let created = rest.rsplit_once("created=").unwrap().1.parse::<u64>().unwrap();
    let now = u64::try_from(SystemClock::new().wall().as_millis() / 1_000).unwrap();
    assert!(now.abs_diff(created) < 300, "menos takes five minutes: {created}, now {now}");
    assert!(rest.contains("alg=\"ed25519\"") && rest.contains(&format!("keyid=\"{}\"", key_id())));
    names
}

/// The first 16 digits of the hash of the key's line in `authorized_keys`.
fn key_id() -> String {
    let key = PrivateKey::from_openssh(key_file()).unwrap();
    let line = key.public_key().to_openssh().unwrap();
    let blob = STANDARD.decode(line.split(' ').nth(1).unwrap()).unwrap();
    let hash = digest(&SHA256, &blob);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("SHA256:{}", &hex[..16])
}

#[tokio::test]
async fn the_vault_is_searched_with_a_signed_request_and_what_it_says_taints() {
    let site = vault().await;
    let world = world(&site).await.at(Tier::Read);
    let input = json!({"query": "Docker networking", "tags": ["video"], "limit": 3});
    let outcome = world.call("menos_search", input).await;
    assert!(!outcome.is_error, "{}", outcome.output);
    assert_eq!(outcome.output, "Docker networking (youtube, c1)\nbridges first");
    assert_eq!(outcome.origin, Origin::External);
    let [request] = requests(&site).try_into().ok().unwrap();
    assert_eq!(request.line, "POST /api/v1/search HTTP/1.1");
    assert_eq!(verified(&request), ["@method", "@path", "@authority", "content-digest"]);
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body, json!({"query": "Docker networking", "tags": ["video"], "limit": 3}));
}

#[tokio::test]
async fn a_vault_of_the_first_design_is_searched_where_it_answers() {
    let site = Site::start(|path| {
        if path.starts_with("/api/v1/content/search?") {
            return Page::json(r#"{"results": [{"id": "c1", "title": "Terraform"}]}"#);
        }
        Page { status: 405, ..Page::default() }
    })
    .await;
    let world = world(&site).await;
    let output = world.done("menos_search", json!({"query": "a&b", "limit": 2})).await;
    assert_eq!(output, "Terraform (, c1)");
    let requests = requests(&site);
    assert_eq!(requests[1].line, "GET /api/v1/content/search?q=a%26b&limit=2 HTTP/1.1");
    assert_eq!(verified(&requests[1]), ["@method", "@path", "@authority"]);
}

#[tokio::test]
async fn nothing_goes_into_the_vault_before_a_person_has_seen_it_whole() {
    let site = vault().await;
    let drafting = world(&site).await.at(Tier::Act);
    let text =
        json!({"title": "Ferry: times?", "text": "Leaves at eight.", "tags": ["trip", "a b"]});
    let outcome = drafting.call("menos_ingest", text.clone()).await;
    assert!(outcome.draft.is_some(), "{}", outcome.output);
    assert!(site.requests().is_empty(), "{:?}", site.requests());
    let person = &drafting.cx.key.person;
    let draft = drafting.store.drafts.draft(person, outcome.draft.unwrap().draft).await;
    let preview = serde_json::to_string(&draft.unwrap().unwrap().plan.preview).unwrap();
    for part in [site.url("/").as_str(), "Ferry: times?", "trip, a b", "Leaves at eight."] {
        assert!(preview.contains(part), "{part}: {preview}");
    }
    let both = json!({"url": "https://example.org/", "text": "x", "title": "x"});
    for (input, why) in [
        (both, "either \"url\" or \"text\""),
        (json!({"text": "x"}), "\"title\" is missing"),
        (json!({"url": "file:///etc/passwd"}), "only http and https"),
    ] {
        let told = drafting.failed("menos_ingest", input).await;
        assert!(told.contains(why), "{told}");
    }
}

#[tokio::test]
async fn errors_say_what_to_do_and_no_redirect_takes_the_words_elsewhere() {
    let other = Site::start(|_| Page::json(r#"{"results": []}"#)).await;
    let elsewhere = other.url("/api/v1/search");
    let answers = [
        (Page { status: 401, ..Page::json(r#"{"detail": "Unknown key"}"#) }, "authorized_keys"),
        (Page::redirect(elsewhere), "menos answers 302"),
        (Page::html("<p>hello</p>"), "cannot be read"),
        (Page { endless: true, ..Page::json("") }, "does not answer"),
        (Page { status: 500, ..Page::json(r#"{"detail": "Ollama is down"}"#) }, "Ollama is down"),
        (Page { status: 404, ..Page::default() }, "tools.menos.baseUrl"),
    ];
    for (page, part) in answers {
        let site = Site::start(move |_| page.clone()).await;
        let world = world(&site).await;
        let outcome = world.call("menos_search", json!({"query": "tides"})).await;
        assert!(outcome.is_error && outcome.output.contains(part), "{}", outcome.output);
        assert_eq!(outcome.origin, Origin::External, "the server's own words");
    }
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[tokio::test]
async fn a_vault_is_its_owners_and_its_key_must_be_one() {
    let site = vault().await;
    let others = menos(&site.url("/"), Some(key_file()), "grace");
    let world = World::with(menos_tools(&others), Masker::default()).await;
    let told = world.failed("menos_search", json!({"query": "tides"})).await;
    assert!(told.contains("menos is for the owner only"), "{told}");
    for (secret, part) in
        [(None, "onyx secrets set menos"), (Some("hello".to_owned()), "OpenSSH's form")]
    {
        let menos = menos(&site.url("/"), secret, "ada");
        assert!(menos.is_ready().unwrap().unwrap_err().contains(part));
        let world = World::with(menos_tools(&menos), Masker::default()).await;
        let told = world.failed("menos_search", json!({"query": "tides"})).await;
        assert!(told.contains(part), "{told}");
    }
    assert!(site.requests().is_empty(), "{:?}", site.requests());
    let wrong = |settings: Value| {
        let settings: MenosSettings = serde_json::from_value(settings).unwrap();
        settings.check().unwrap_err().to_string()
    };
    let plain = wrong(json!({"baseUrl": "http://127.0.0.1:1", "key": "BEGIN OPENSSH"}));
    assert!(plain.starts_with("tools.menos.key: must be secret:<name>"), "{plain}");
    let nowhere = wrong(json!({"baseUrl": "menos", "key": "secret:menos"}));
    assert!(nowhere.starts_with("tools.menos.baseUrl: "), "{nowhere}");
}
