//! Every route with every kind of credential in every state. Access is decided in one place, so the
//! routes are taken from the router itself.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use onyx_api::{Access, Route};
use onyx_storage::{CredentialKind, CredentialRow, Home, Store};
use onyx_test_support::{
    DEFAULT_PASSWORD as PASSWORD, DEFAULT_TOKEN, OnyxProcess, Reply, ScriptedModel, wait_for,
};
use onyx_types::{Clock as _, SystemClock};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::{SOON, builder};

/// The routes that need no credential. Adding one here is a decision.
const PUBLIC: &[(&str, &str)] = &[
    ("GET", "/health"),
    ("GET", "/ready"),
    // The account's own signature is checked.
    ("POST", "/connectors/{network}/{account}"),
    // These are for pages of the sites that the account names. Each visitor has a secret of their
    // own.
    ("GET", "/widget/{account}/widget.js"),
    ("POST", "/widget/{account}/messages"),
    ("GET", "/widget/{account}/messages"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/auth/link"),
    ("POST", "/api/auth/login"),
    ("POST", "/api/auth/refresh"),
    ("POST", "/api/auth/pair"),
    ("GET", "/api/auth/pair/{id}"),
    // For programs that ask for access: what they may read, and where they redeem a person's code.
    ("GET", "/.well-known/oauth-protected-resource"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/.well-known/oauth-authorization-server"),
    ("POST", "/oauth/register"),
    ("POST", "/oauth/token"),
    ("GET", "/api/linkedin/callback"),
];

/// A way to authenticate.
#[derive(Clone, Debug)]
enum Key {
    None,
    Bearer(String),
    InApiHeader(String),
    Basic(&'static str, String),
    /// A browser: its cookie, and the key that its page stores.
    Cookie(String, String),
    /// A bearer token with `X-Notes-Person`.
    For(String, &'static str),
}

impl Key {
    fn in_api_header(self) -> Self {
        match self {
            Self::Bearer(token) => Self::InApiHeader(token),
            other => other,
        }
    }

    fn on(&self, request: RequestBuilder, origin: &str) -> RequestBuilder {
        match self {
            Self::None => request,
            Self::Bearer(token) => request.bearer_auth(token),
            Self::InApiHeader(token) => request.header("x-api-key", token),
            Self::Basic(person, password) => request.basic_auth(person, Some(password)),
            Self::Cookie(secret, page_key) => request
                .header("cookie", format!("other=1; onyx_session={secret}"))
                .header("x-onyx-page-key", page_key)
                .header("x-onyx-request", "1")
                .header("origin", origin),
            Self::For(token, person) => {
                request.bearer_auth(token).header("x-notes-person", *person)
            }
        }
    }
}

/// The routes that need a credential. Those that end a credential come last.
fn locked() -> Vec<Route> {
    let mut routes = onyx_api::routes().table();
    routes.retain(|route| route.access != Access::Public);
    routes.sort_by_key(|route| route.path == "/api/auth/logout");
    routes
}

/// A path of the route with valid examples for its parameters.
fn example_of(route: &Route) -> String {
    let pieces =
        route.path.split('/').map(|piece| if piece.starts_with('{') { "x" } else { piece });
    pieces.collect::<Vec<_>>().join("/")
}

/// Fewer failures than one address may have.
const FAILURES_OF_ONE: usize = 50;

/// A client with an address of its own, because failures are counted by address.
#[allow(clippy::disallowed_methods)]
fn client_at(number: usize) -> reqwest::Client {
    let [high, low] = u16::try_from(number + 1).unwrap().to_be_bytes();
    let address = IpAddr::V4(Ipv4Addr::new(127, 1, high, low));
    reqwest::Client::builder().no_proxy().local_address(address).build().unwrap()
}

async fn try_door(onyx: &OnyxProcess, client: &reqwest::Client, route: &Route, key: &Key) -> Reply {
    let method: Method = route.method.parse().unwrap();
    let request = client.request(method, onyx.url(&example_of(route))).body("{}");
    let response = key.on(request, onyx.base_url()).send().await.unwrap();
    // The body of a stream, which has no length, is not read.
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let whole = response.content_length().is_some();
    let body = if whole { response.bytes().await.unwrap() } else { Default::default() };
    Reply { status, headers, body }
}

async fn me(onyx: &OnyxProcess, key: &Key) -> Reply {
    let client = client_at(60_000);
    Reply::of(key.on(client.get(onyx.url("/api/auth/me")), onyx.base_url())).await
}

async fn token(onyx: &OnyxProcess, body: Value) -> (String, String) {
    let made = onyx.post("/api/admin/tokens", &body).await.expect(201).json();
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

/// A browser session after a password sign-in.
async fn cookie(onyx: &OnyxProcess, person: &str) -> Key {
    let body = json!({"person": person, "password": PASSWORD});
    let login = Reply::of(client_at(60_001).post(onyx.url("/api/auth/login")).json(&body)).await;
    let login = login.expect(200);
    let cookie = login.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    browser_key(&login, cookie)
}

fn browser_key(reply: &Reply, cookie: &str) -> Key {
    let secret = cookie.split(['=', ';']).nth(1).unwrap().to_owned();
    Key::Cookie(secret, reply.json()["page_key"].as_str().unwrap().to_owned())
}

/// A short-lived token, with the id of the credential that it belongs to.
async fn access(onyx: &OnyxProcess, key: &Key) -> String {
    let request = client_at(60_002).post(onyx.url("/api/auth/token"));
    let reply = Reply::of(key.on(request, onyx.base_url())).await.expect(200).json();
    reply["access_token"].as_str().unwrap().to_owned()
}

/// A device or browser that asks to be paired: its secret id and its code.
async fn asks_to_pair(onyx: &OnyxProcess, client: &str) -> (String, String) {
    let body = json!({"name": "phone", "client": client});
    let begun = Reply::of(client_at(60_003).post(onyx.url("/api/auth/pair")).json(&body)).await;
    let begun = begun.expect(201).json();
    let text = |name: &str| begun[name].as_str().unwrap().to_owned();
    (text("pairing_id"), text("code"))
}

/// The credential of anna's device or browser after the owner has approved its code.
async fn paired(onyx: &OnyxProcess, client: &str) -> Key {
    let (id, code) = asks_to_pair(onyx, client).await;
    let approved = json!({"code": code, "person": "anna"});
    let _ = onyx.post("/api/admin/pairings/approve", &approved).await.expect(204);
    let path = onyx.url(&format!("/api/auth/pair/{id}"));
    let picked = Reply::of(client_at(60_003).get(path)).await.expect(200);
    match picked.headers.get("set-cookie") {
        Some(cookie) => browser_key(&picked, cookie.to_str().unwrap()),
        None => Key::Bearer(picked.json()["token"].as_str().unwrap().to_owned()),
    }
}

/// Revokes the credential with this name, as the owner does.
async fn end(onyx: &OnyxProcess, name: &str) {
    let listed = onyx.get("/api/admin/tokens").await.expect(200).json();
    for made in listed["tokens"].as_array().unwrap() {
        if made["name"] == name {
            let path = format!("/api/admin/tokens/{}", made["id"].as_str().unwrap());
            let _ = Reply::of(onyx.request(Method::DELETE, &path)).await.expect(204);
        }
    }
}

/// Browser sessions last for thirty days. Their rows in the ledger are changed so that they end in
/// moments.
async fn sessions_end_soon(onyx: &mut OnyxProcess) {
    onyx.terminate().await;
    let clock = Arc::new(SystemClock::new());
    let home = Home::open(&onyx.home()).unwrap();
    let store = Store::open_embedded(home, Arc::clone(&clock) as _).await.unwrap();
    let mut ending = 0;
    for row in store.accounts.credentials().await.unwrap() {
        if row.kind == CredentialKind::Session {
            let expires_at = Some(clock.wall().saturating_add(Duration::from_secs(4)));
            store.accounts.put_credential(CredentialRow { expires_at, ..row }).await.unwrap();
            ending += 1;
        }
    }
    assert_eq!(ending, 1);
    drop(store);
    onyx.restart().await;
}

/// A token with the same claims and a wrong signature: its first character differs, so its bytes
/// do.
fn forged(token: &str) -> String {
    let (claims, signature) = token.rsplit_once('.').unwrap();
    let other = if signature.starts_with('A') { 'B' } else { 'A' };
    format!("{claims}.{other}{}", &signature[1..])
}

async fn household() -> (ScriptedModel, OnyxProcess) {
    let model = ScriptedModel::start().await;
    let people = json!({"people": ["anna", {"id": "bert", "name": "Bert"}, "carl"]});
    let onyx = builder(&model).merge(people).start().await;
    for person in ["anna", "bert", "carl"] {
        let path = format!("/api/admin/people/{person}/password");
        let request = onyx.request(Method::PUT, &path).json(&json!({"password": PASSWORD}));
        let _ = Reply::of(request).await.expect(204);
    }
    (model, onyx)
}

#[tokio::test]
async fn every_route_turns_away_everybody_who_has_no_good_key() {
    let (model, mut onyx) = household().await;
    let old_session = cookie(&onyx, "bert").await;
    sessions_end_soon(&mut onyx).await;
    let public: Vec<_> = onyx_api::routes()
        .table()
        .into_iter()
        .filter(|route| route.access == Access::Public)
        .map(|route| (route.method, route.path))
        .collect();
    assert_eq!(public, PUBLIC);

    let (_, expired) = token(&onyx, json!({"name": "expired", "expires_in": 3})).await;
    let old_access = Key::Bearer(access(&onyx, &Key::Bearer(expired.clone())).await);
    let (revoked_id, revoked) = token(&onyx, json!({"name": "gone", "people": ["anna"]})).await;
    let of_revoked = access(&onyx, &Key::Bearer(revoked.clone())).await;
    let carls = Key::Basic("carl", PASSWORD.to_owned());
    let carls_access = access(&onyx, &carls).await;
    let carls_session = cookie(&onyx, "carl").await;
    let logged_out = cookie(&onyx, "anna").await;
    let out = client_at(1).post(onyx.url("/api/auth/logout"));
    let out = Reply::of(logged_out.on(out, onyx.base_url())).await;
    assert!(out.expect(204).headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    let path = format!("/api/admin/tokens/{revoked_id}");
    let _ = Reply::of(onyx.request(Method::DELETE, &path)).await.expect(204);
    let path = "/api/admin/people/carl/password";
    let _ = Reply::of(onyx.request(Method::DELETE, path)).await.expect(204);
    let expired = Key::Bearer(expired);
    for key in [&expired, &old_access, &old_session] {
        wait_for("the credential to expire", SOON, async || {
            (me(&onyx, key).await.status == 401).then_some(())
        })
        .await;
    }

    let (unapproved, code) = asks_to_pair(&onyx, "device").await;
    let lost_phone = paired(&onyx, "device").await;
    let lost_browser = paired(&onyx, "browser").await;
    for key in [&lost_phone, &lost_browser] {
        assert_eq!(me(&onyx, key).await.expect(200).json()["person"], "anna");
    }
    end(&onyx, "phone").await;
    let refresh = client_at(60_002).post(onyx.url("/api/auth/token")).bearer_auth(DEFAULT_TOKEN);
    let refresh = Reply::of(refresh).await.expect(200).json()["refresh_token"].clone();
    let (house_id, house) =
        token(&onyx, json!({"name": "house", "people": ["anna", "bert"]})).await;
    let path = format!("/api/admin/tokens/{house_id}");
    let _ = Reply::of(onyx.request(Method::DELETE, &path)).await.expect(204);
    let live = access(&onyx, &Key::Bearer(DEFAULT_TOKEN.to_owned())).await;
    let forged = forged(&live);
    let bad = |text: &str| text.to_owned();
    let keys = [
        ("none", Key::None),
        ("garbage token", Key::Bearer(bad("onyx_sk_tesT"))),
        ("longer token", Key::Bearer(format!("{DEFAULT_TOKEN}x"))),
        ("empty token", Key::Bearer(String::new())),
        ("garbage api key", Key::InApiHeader(bad("onyx_sk_wrong"))),
        ("forged access token", Key::Bearer(forged)),
        (
            "token without a signature",
            Key::Bearer(bad("eyJhbGciOiJub25lIn0.eyJzdWIiOiJvd25lciJ9.")),
        ),
        ("garbage cookie", Key::Cookie(bad("onyx_cs_wrong"), bad("onyx_pk_wrong"))),
        ("token as cookie", Key::Cookie(DEFAULT_TOKEN.to_owned(), DEFAULT_TOKEN.to_owned())),
        ("expired token", expired.clone()),
        ("expired api key", expired.in_api_header()),
        ("expired access token", old_access),
        ("expired session", old_session),
        ("revoked token", Key::Bearer(revoked.clone())),
        ("revoked api key", Key::InApiHeader(revoked)),
        ("access token of a revoked token", Key::Bearer(of_revoked)),
        ("logged out session", logged_out),
        ("session of a password that is gone", carls_session),
        ("access token of a password that is gone", Key::Bearer(carls_access)),
        ("refresh token as a key", Key::Bearer(refresh.as_str().unwrap().to_owned())),
        ("pairing that nobody approved", Key::Bearer(unapproved.clone())),
        ("its code", Key::Bearer(code)),
        ("pairing as cookie", Key::Cookie(unapproved.clone(), unapproved)),
        ("revoked device", lost_phone),
        ("revoked browser", lost_browser),
        ("revoked household token", Key::Bearer(house.clone())),
        ("revoked household token for bert", Key::For(house, "bert")),
    ];
    for (number, (what, key)) in keys.iter().enumerate() {
        let locked = locked();
        for (place, route) in locked.iter().enumerate() {
            let client = client_at(100 + number * 10 + place / FAILURES_OF_ONE);
            // On these routes an outdated cookie counts as no credential, because the first frame
            // carries one.
            if route.access == Access::FirstFrame && matches!(key, Key::None | Key::Cookie(..)) {
                continue;
            }
            let reply = try_door(&onyx, &client, route, key).await;
            assert_eq!(reply.status, 401, "{what}: {route:?} {}", reply.text());
            // The error has the form that the clients of the route expect.
            let code = reply.json().to_string();
            assert!(code.contains("unauthenticated"), "{what}: {route:?} {code}");
            // MCP clients are also told where to sign in.
            let scheme = reply.headers["www-authenticate"].to_str().unwrap();
            let is_mcp = route.path == "/mcp" && scheme.starts_with("Bearer resource_metadata=");
            assert!(scheme == "Bearer" || is_mcp, "{route:?}: {scheme}");
        }
    }
    // Guesses at passwords are limited, so after some of them the answer is to wait.
    let wrong =
        [Key::Basic("anna", bad("wrong")), Key::Basic("owner", DEFAULT_TOKEN.to_owned()), carls];
    for (number, route) in locked().iter().enumerate() {
        for (which, key) in wrong.iter().enumerate() {
            let client = client_at(1_000 + 10 * number + which);
            let reply = try_door(&onyx, &client, route, key).await;
            assert!(matches!(reply.status, 401 | 429), "{key:?}: {route:?} {}", reply.text());
        }
    }
    let in_the_address = onyx.url(&format!("/v1/sessions?token={DEFAULT_TOKEN}"));
    assert_eq!(Reply::of(client_at(2).get(in_the_address)).await.status, 401);
    assert_eq!(model.request_count(), 0);
}

#[tokio::test]
async fn every_route_lets_in_whoever_has_a_key_that_is_good_for_it() {
    let (_model, onyx) = household().await;
    let annas = |scopes: Value| json!({"name": "test", "people": ["anna"], "scopes": scopes});
    let (_, owners) =
        token(&onyx, json!({"name": "all", "scopes": ["read", "write", "chat", "admin"]})).await;
    let (_, plain) = token(&onyx, json!({"name": "plain"})).await;
    let (_, annas_all) = token(&onyx, annas(json!(["read", "write", "chat", "admin"]))).await;
    let (_, annas_read) = token(&onyx, annas(json!(["read"]))).await;
    let (_, annas_chat) = token(&onyx, annas(json!(["chat"]))).await;
    let (_, both) = token(&onyx, json!({"name": "house", "people": ["anna", "bert"]})).await;
    let of_anna = access(&onyx, &Key::Basic("anna", PASSWORD.to_owned())).await;
    let of_owner = access(&onyx, &Key::Bearer(DEFAULT_TOKEN.to_owned())).await;
    use Access::{Chat, FirstFrame, Owner, Person, Read, Write};
    let personal = [FirstFrame, Person, Read, Write, Chat];
    let all = [FirstFrame, Person, Read, Write, Chat, Owner];
    let keys: Vec<(&str, Key, &str, &[Access])> = vec![
        ("owner's token", Key::Bearer(DEFAULT_TOKEN.to_owned()), "owner", &all),
        ("owner's api key", Key::InApiHeader(DEFAULT_TOKEN.to_owned()), "owner", &all),
        ("owner's made token", Key::Bearer(owners), "owner", &all),
        ("owner's access token", Key::Bearer(of_owner), "owner", &all),
        ("owner's token without admin", Key::Bearer(plain), "owner", &personal),
        ("member's token with admin", Key::Bearer(annas_all), "anna", &personal),
        ("reading token", Key::Bearer(annas_read), "anna", &[FirstFrame, Person, Read]),
        ("chatting token", Key::InApiHeader(annas_chat), "anna", &[FirstFrame, Person, Chat]),
        ("household token", Key::Bearer(both.clone()), "anna", &personal),
        ("household token for bert", Key::For(both.clone(), "bert"), "bert", &personal),
        ("member's access token", Key::Bearer(of_anna), "anna", &personal),
        ("member's password", Key::Basic("anna", PASSWORD.to_owned()), "anna", &personal),
        ("member's cookie", cookie(&onyx, "anna").await, "anna", &personal),
        ("paired device", paired(&onyx, "device").await, "anna", &personal),
        ("paired browser", paired(&onyx, "browser").await, "anna", &personal),
    ];
    for (number, (what, key, person, good_for)) in keys.iter().enumerate() {
        assert_eq!(me(&onyx, key).await.expect(200).json()["person"], *person, "{what}");
        let client = client_at(2_000 + number);
        for route in locked() {
            let reply = try_door(&onyx, &client, &route, key).await;
            assert_ne!(reply.status, 401, "{what}: {route:?}");
            let turned_away = reply.status == 403;
            assert_eq!(
                turned_away,
                !good_for.contains(&route.access),
                "{what}: {route:?} {}",
                reply.text()
            );
        }
    }
    // A credential never acts for another person.
    let owner = DEFAULT_TOKEN.to_owned();
    for (number, (token, other)) in
        [(both.clone(), "carl"), (both, "owner"), (owner.clone(), "anna"), (owner, "nobody")]
            .into_iter()
            .enumerate()
    {
        let (client, key) = (client_at(3_000 + number), Key::For(token, other));
        for route in locked() {
            let reply = try_door(&onyx, &client, &route, &key).await;
            assert_eq!(reply.status, 403, "{key:?}: {route:?}");
        }
    }
}

#[tokio::test]
async fn a_cookie_changes_nothing_without_the_mark_and_the_origin_of_our_own_page() {
    let (_model, onyx) = household().await;
    let Key::Cookie(secret, page_key) = cookie(&onyx, "anna").await else { unreachable!() };
    let client = client_at(4_000);
    for route in locked() {
        if route.path == "/api/auth/logout" {
            continue;
        }
        let method: Method = route.method.parse().unwrap();
        let ask = |headers: &[(&str, &str)]| {
            let mut request = client
                .request(method.clone(), onyx.url(&example_of(&route)))
                .header("cookie", format!("onyx_session={secret}"))
                .header("x-onyx-page-key", &page_key)
                .body("{}");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            async { request.send().await.unwrap().status().as_u16() }
        };
        let origin = onyx.base_url();
        let changes = method != Method::GET;
        for bare in [
            vec![],
            vec![("x-onyx-request", "1")],
            vec![("origin", origin)],
            vec![("x-onyx-request", "0"), ("origin", origin)],
        ] {
            let status = ask(&bare).await;
            assert!(!changes || status == 403, "{route:?} {bare:?} {status}");
        }
        assert_eq!(ask(&[("x-onyx-request", "1"), ("origin", "http://evil.example")]).await, 403);
        let ours = ask(&[("x-onyx-request", "1"), ("origin", origin)]).await;
        assert_eq!(ours == 403, route.access == Access::Owner, "{route:?} {ours}");
    }
}
