use onyx_api::Access;
use onyx_test_support::{DEFAULT_PASSWORD as PASSWORD, OnyxProcess, Reply, ScriptedModel};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{log_in, set_password, stranger_at};
use crate::builder;
use crate::ws::Client;

/// The credentials of a signed-in browser: the cookie that it sends to every server of the machine,
/// and the key in the storage of one origin.
#[derive(Clone)]
struct SignedIn {
    cookie: String,
    page_key: String,
}

impl SignedIn {
    async fn by_password(onyx: &OnyxProcess, person: &str) -> Self {
        let reply = log_in(onyx, 1, person, PASSWORD).await.expect(200);
        Self::of(&reply, reply.json()["page_key"].as_str().unwrap())
    }

    async fn by_link(onyx: &OnyxProcess) -> (Reply, Self) {
        let link = onyx.post("/api/admin/links", &json!({})).await.expect(200).json();
        let reply = Reply::of(stranger_at(1).get(link["url"].as_str().unwrap())).await.expect(200);
        let text = reply.text();
        let key = text.split("data-page-key=\"").nth(1).unwrap().split('"').next().unwrap();
        let signed_in = Self::of(&reply, key);
        (reply, signed_in)
    }

    fn of(reply: &Reply, page_key: &str) -> Self {
        let cookie = reply.headers["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { cookie, page_key: page_key.to_owned() }
    }

    /// A request as one of our own pages sends it, with or without the key.
    fn on(&self, request: RequestBuilder, origin: &str, page_key: Option<&str>) -> RequestBuilder {
        let request = request
            .header("cookie", &self.cookie)
            .header("x-onyx-request", "1")
            .header("origin", origin);
        match page_key {
            Some(key) => request.header("x-onyx-page-key", key),
            None => request,
        }
    }

    async fn me(&self, onyx: &OnyxProcess, page_key: Option<&str>) -> Reply {
        let request = stranger_at(1).get(onyx.url("/api/auth/me"));
        Reply::of(self.on(request, onyx.base_url(), page_key)).await
    }
}

async fn household() -> (ScriptedModel, OnyxProcess) {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"people": ["anna"]})).start().await;
    set_password(&onyx, "anna").await;
    set_password(&onyx, "owner").await;
    (model, onyx)
}

#[tokio::test]
async fn a_cookie_alone_opens_no_route_not_even_to_read() {
    let (_model, onyx) = household().await;
    let owner = SignedIn::by_password(&onyx, "owner").await;
    let me = owner.me(&onyx, Some(&owner.page_key)).await.expect(200).json();
    assert_eq!((&me["person"], &me["credential"]), (&json!("owner"), &json!("session")));
    let client = stranger_at(1);
    let routes = onyx_api::routes().table();
    let locked = |access| !matches!(access, Access::Public | Access::FirstFrame);
    let mut tried = 0;
    for route in routes.into_iter().filter(|route| locked(route.access)) {
        let pieces = route.path.split('/').map(|it| if it.starts_with('{') { "x" } else { it });
        let path = pieces.collect::<Vec<_>>().join("/");
        let method: Method = route.method.parse().unwrap();
        let request = client.request(method, onyx.url(&path)).body("{}");
        let reply = Reply::of(owner.on(request, onyx.base_url(), None)).await;
        assert_eq!(reply.status, 401, "{route:?} {}", reply.text());
        assert!(reply.text().contains("sign_in_again"), "{route:?} {}", reply.text());
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
    // The key alone, the key of another session and an invented key are refused too.
    let other = SignedIn::by_password(&onyx, "owner").await;
    for key in [other.page_key.as_str(), "onyx_pk_wrong", ""] {
        assert_eq!(owner.me(&onyx, Some(key)).await.status, 401);
    }
    let alone = client.get(onyx.url("/api/auth/me")).header("x-onyx-page-key", &owner.page_key);
    assert_eq!(Reply::of(alone).await.status, 401);
    let bearer = client.get(onyx.url("/api/auth/me")).bearer_auth(&owner.page_key);
    assert_eq!(Reply::of(bearer).await.status, 401);
    let in_the_address = format!("/api/auth/me?page_key={}", owner.page_key);
    let request = owner.on(client.get(onyx.url(&in_the_address)), onyx.base_url(), None);
    assert_eq!(Reply::of(request).await.status, 401);
}

#[tokio::test]
async fn a_page_of_another_site_that_is_let_in_is_nobody_by_cookie_and_key() {
    const SITE: &str = "https://app.example.org";
    let model = ScriptedModel::start().await;
    let cors = json!({"gateway": {"cors": {"origins": [SITE]}}});
    let onyx = builder(&model).merge(cors).start().await;
    set_password(&onyx, "owner").await;
    let owner = SignedIn::by_password(&onyx, "owner").await;
    let me = || stranger_at(1).get(onyx.url("/api/auth/me"));
    let at_home = owner.on(me(), onyx.base_url(), Some(&owner.page_key));
    let _ = Reply::of(at_home).await.expect(200);
    let from_there = owner.on(me(), SITE, Some(&owner.page_key));
    let _ = Reply::of(from_there).await.expect(401);
    let with_token = me().header("origin", SITE).bearer_auth(onyx_test_support::DEFAULT_TOKEN);
    let _ = Reply::of(with_token).await.expect(200);
}

#[tokio::test]
async fn a_link_hands_the_key_to_the_page_that_it_opens_and_to_nobody_else() {
    let (_model, onyx) = household().await;
    let (reply, signed_in) = SignedIn::by_link(&onyx).await;
    assert_eq!(signed_in.me(&onyx, None).await.status, 401);
    let me = signed_in.me(&onyx, Some(&signed_in.page_key)).await.expect(200).json();
    assert_eq!(me["person"], "owner");
    let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("cache-control"), "no-store");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
    assert!(!header("set-cookie").contains(&signed_in.page_key));
    assert!(!onyx.log().contains(&signed_in.page_key));
}

#[tokio::test]
async fn a_socket_takes_the_key_in_its_first_frame_and_a_cookie_alone_tells_it_nothing() {
    let (_model, onyx) = household().await;
    let owner = SignedIn::by_password(&onyx, "owner").await;
    let first = async |frame: Value| {
        let origin = onyx.base_url().to_owned();
        let headers = [("cookie", owner.cookie.as_str()), ("origin", origin.as_str())];
        let mut client = Client::with_headers(&onyx, &headers).await;
        client.tell(frame).await;
        let answer = client.next().await.unwrap();
        (answer, client)
    };
    for (frame, code) in [
        (json!({"type": "ping"}), "unauthenticated"),
        (json!({"type": "sessions.list"}), "unauthenticated"),
        (json!({"type": "auth", "data": {}}), "sign_in_again"),
        (json!({"type": "auth", "data": {"pageKey": "onyx_pk_wrong"}}), "unauthenticated"),
    ] {
        let (answer, mut client) = first(frame.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{frame}");
        assert!(client.next().await.is_err(), "{frame}");
    }
    let (answer, mut client) =
        first(json!({"type": "auth", "data": {"pageKey": owner.page_key}})).await;
    assert_eq!(answer, json!({"type": "auth.result", "data": {}}));
    let listed = client.ask("sessions.list", json!({})).await;
    assert_eq!(listed["data"]["sessions"], json!([]));
    let mut without_cookie = Client::stranger(&onyx).await;
    without_cookie.tell(json!({"type": "auth", "data": {"pageKey": owner.page_key}})).await;
    assert_eq!(without_cookie.next().await.unwrap()["error"]["code"], "unauthenticated");
}

#[tokio::test]
async fn a_paired_browser_gets_its_key_and_signing_out_ends_both() {
    let (_model, onyx) = household().await;
    let client = stranger_at(1);
    let begun = client.post(onyx.url("/api/auth/pair")).json(&json!({}));
    let begun = Reply::of(begun).await.expect(201).json();
    let approve = json!({"code": begun["code"], "person": "anna"});
    let _ = onyx.post("/api/admin/pairings/approve", &approve).await.expect(204);
    let path = format!("/api/auth/pair/{}", begun["pairing_id"].as_str().unwrap());
    let picked = Reply::of(client.get(onyx.url(&path))).await.expect(200);
    let anna = SignedIn::of(&picked, picked.json()["page_key"].as_str().unwrap());
    assert_eq!(anna.me(&onyx, None).await.status, 401);
    let me = anna.me(&onyx, Some(&anna.page_key)).await.expect(200).json();
    assert_eq!(me["person"], "anna");
    let out = client.post(onyx.url("/api/auth/logout"));
    let _ = Reply::of(anna.on(out, onyx.base_url(), Some(&anna.page_key))).await.expect(204);
    assert_eq!(anna.me(&onyx, Some(&anna.page_key)).await.status, 401);
}
