//! The ways to reach the server: from this machine, from another address, through a proxy; with
//! honest and forged headers; with and without a credential. The expected answers are in one table.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, Reply, ScriptedModel, wait_for};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{SOON, builder, command};

/// The address at which other machines reach this one; `None` without a network.
fn outer_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Connecting a UDP socket sends nothing; it only selects the route and so the local address.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

/// A reverse proxy as people run it: it keeps the Host and names the client.
async fn proxy_to(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_on(client, server));
        }
    });
    address
}

async fn pass_on(mut client: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n") {
        head.push(client.read_u8().await?);
    }
    head.extend(b"X-Forwarded-For: 203.0.113.9\r\n");
    let mut server = TcpStream::connect(server).await?;
    server.write_all(&head).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

const HTML: &str = "text/html; charset=utf-8";

struct Place {
    name: &'static str,
    base: String,
    /// Whether a sign-in link works from here.
    is_this_machine: bool,
}

/// The headers that a client can forge, and whether such a request is refused completely.
const HEADS: &[(&str, &str, Lie)] = &[
    ("", "", Lie::None),
    ("x-forwarded-for", "127.0.0.1", Lie::Forwarded),
    ("forwarded", "for=127.0.0.1;host=localhost", Lie::Forwarded),
    ("x-real-ip", "127.0.0.1", Lie::Forwarded),
    ("via", "1.1 somebody", Lie::Forwarded),
    ("x-forwarded-host", "localhost", Lie::Forwarded),
    ("host", "evil.example", Lie::Refused),
    ("host", "localhost.evil.example", Lie::Refused),
    ("origin", "http://evil.example", Lie::Refused),
    ("origin", "null", Lie::Refused),
    ("origin", "http://localhost:1", Lie::Refused),
];

#[derive(Clone, Copy, PartialEq)]
enum Lie {
    None,
    /// A proxy is in between. A credential works, but the client is no longer a browser on this
    /// machine.
    Forwarded,
    Refused,
}

#[allow(clippy::disallowed_methods)]
fn plain_client() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
    builder.redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

fn with_head(request: RequestBuilder, (name, value, _): (&str, &str, Lie)) -> RequestBuilder {
    if name.is_empty() { request } else { request.header(name, value) }
}

async fn fresh_link(onyx: &OnyxProcess) -> String {
    let link = onyx.post("/api/admin/links", &json!({})).await.expect(200).json();
    let url = link["url"].as_str().unwrap().to_owned();
    url[url.find("/auth/link").unwrap()..].to_owned()
}

/// A WebSocket may be opened without a credential, which the first frame then carries. A wrong
/// credential or a foreign site's page gets no connection.
async fn try_websocket(client: &reqwest::Client, place: &Place, head: (&str, &str, Lie)) {
    let ask = || {
        let request = client
            .get(format!("{}/ws", place.base))
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        with_head(request, head)
    };
    let status = async |request: RequestBuilder| request.send().await.unwrap().status().as_u16();
    let expected = match head.2 {
        Lie::None | Lie::Forwarded => (101, 401, 101),
        Lie::Refused => (403, 403, 403),
    };
    let garbage = ask().bearer_auth("onyx_sk_wrong");
    let valid = ask().bearer_auth(DEFAULT_TOKEN);
    let got = (status(ask()).await, status(garbage).await, status(valid).await);
    assert_eq!(got, expected, "{} {}: {}", place.name, head.0, head.1);
}

#[tokio::test]
async fn exactly_those_who_should_get_in_do_from_everywhere() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"gateway": {"bind": "0.0.0.0"}})).start().await;
    let events = onyx.chat_stream(&json!({"message": "hi"})).await;
    let stream = format!("/api/runs/{}/events", events[0]["run_id"].as_str().unwrap());
    let port: u16 = onyx.base_url().rsplit(':').next().unwrap().parse().unwrap();
    let proxy = proxy_to(SocketAddr::new([127, 0, 0, 1].into(), port)).await;
    let mut places = vec![
        Place { name: "here", base: onyx.base_url().to_owned(), is_this_machine: true },
        Place { name: "proxy", base: format!("http://{proxy}"), is_this_machine: false },
    ];
    if let Some(address) = outer_address() {
        let base = format!("http://{}", SocketAddr::new(address, port));
        places.push(Place { name: "elsewhere", base, is_this_machine: false });
    }
    let client = plain_client();
    let has_websocket = onyx_api::routes().table().iter().any(|route| route.path == "/ws");
    for place in &places {
        for head in HEADS.iter().copied() {
            if has_websocket {
                try_websocket(&client, place, head).await;
            }
            let cell = format!("{} {}: {}", place.name, head.0, head.1);
            for path in ["/api/auth/me", stream.as_str()] {
                let ask = || with_head(client.get(format!("{}{path}", place.base)), head);
                let (nobody, stranger, owner) = match head.2 {
                    Lie::None | Lie::Forwarded => (401, 401, 200),
                    Lie::Refused => (403, 403, 403),
                };
                let status = async |request: RequestBuilder| Reply::of(request).await.status;
                assert_eq!(status(ask()).await, nobody, "{cell} {path} without a key");
                let garbage = ask().bearer_auth("onyx_sk_wrong");
                assert_eq!(status(garbage).await, stranger, "{cell} {path} with garbage");
                let valid = ask().bearer_auth(DEFAULT_TOKEN);
                assert_eq!(status(valid).await, owner, "{cell} {path} with the token");
            }
            let link = fresh_link(&onyx).await;
            let open = || with_head(client.get(format!("{}{link}", place.base)), head);
            let signs_in = place.is_this_machine && head.2 == Lie::None;
            let reply = Reply::of(open()).await;
            assert_eq!(reply.status, if signs_in { 200 } else { 403 }, "{cell} with a link");
            assert_eq!(reply.headers.contains_key("set-cookie"), signs_in, "{cell}");
            // A refused link can still be used, and one that worked cannot.
            let again = Reply::of(client.get(onyx.url(&link))).await;
            assert_eq!(again.status, if signs_in { 401 } else { 200 }, "{cell}");
        }
    }
}

#[tokio::test]
async fn the_printed_link_signs_a_browser_in_once_and_a_guess_does_not() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    // The link is made and printed after the address, when the server answers already.
    let link = wait_for("a link is printed", SOON, async || {
        let log = onyx.log();
        let printed = log[log.find("/auth/link?code=")?..].split_once('\n')?.0.to_owned();
        printed.split_whitespace().next().map(str::to_owned)
    })
    .await;
    let client = plain_client();
    let wrong = Reply::of(client.get(onyx.url("/auth/link?code=wrong"))).await;
    assert_eq!((wrong.status, wrong.headers.get("set-cookie")), (401, None));
    let reply = Reply::of(client.get(onyx.url(&link))).await;
    assert_eq!((reply.status, &reply.headers["content-type"]), (200, &HTML.parse().unwrap()));
    let page = reply.text().to_owned();
    let key = page.split("data-page-key=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(reply.headers["referrer-policy"], "no-referrer");
    let cookie = reply.headers["set-cookie"].to_str().unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap();
    let me = client.get(onyx.url("/api/auth/me")).header("cookie", cookie);
    let me = me.header("x-onyx-page-key", key);
    let me = Reply::of(me).await.expect(200).json();
    assert_eq!(
        (&me["person"], &me["role"], &me["credential"]),
        (&json!("owner"), &json!("owner"), &json!("session"))
    );
    assert_eq!(Reply::of(client.get(onyx.url(&link))).await.status, 401);
    // A person sees in the browser why the link failed and what to do.
    let again = client.get(onyx.url(&link)).header("accept", "text/html,*/*;q=0.8");
    let again = Reply::of(again).await.expect(401);
    assert_eq!(again.headers["content-type"], HTML);
    let page = again.text();
    assert!(page.contains("You are not signed in") && !page.contains("{{"), "{page}");
    assert!(!page.contains("\"code\""), "{page}");
    // `onyx` without arguments prints a new link if a server is running.
    let ran = command(&onyx.home(), &[]).output().await.unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let at = out.find("/auth/link?code=").expect("a new link");
    let link = out[at..].split_whitespace().next().unwrap();
    assert_eq!(Reply::of(client.get(onyx.url(link))).await.status, 200);
}

#[tokio::test]
async fn a_name_that_the_config_allows_is_a_host_and_its_origin_too() {
    let model = ScriptedModel::start().await;
    let hosts = json!({"gateway": {"hosts": ["Onyx.Example"]}});
    let onyx = builder(&model).merge(hosts).start().await;
    let ask = async |host: &str, origin: &str| {
        let request = onyx.request(Method::GET, "/api/auth/me").header("host", host);
        Reply::of(request.header("origin", origin)).await.status
    };
    assert_eq!(ask("onyx.example", "https://onyx.example").await, 200);
    assert_eq!(ask("onyx.example:8443", "https://onyx.example:8443").await, 200);
    assert_eq!(ask("onyx.example", "https://evil.example").await, 403);
    assert_eq!(ask("evil.onyx.example", "https://evil.onyx.example").await, 403);
    let link = fresh_link(&onyx).await;
    let request = plain_client().get(onyx.url(&link)).header("host", "onyx.example");
    assert_eq!(Reply::of(request).await.status, 403);
}
