//! Tests which servers a program can reach through the proxy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onyx_egress::HostPort;
use onyx_test_support::{Page, Site};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Names, egress, quick};

fn place(text: impl AsRef<str>) -> HostPort {
    text.as_ref().parse().unwrap()
}

/// A running proxy with these private hosts and this list.
async fn proxy(names: &Arc<Names>, private: &[String], list: &[String]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let list = list.iter().map(place).collect();
    tokio::spawn(egress(names, private, quick()).proxy_to(list).serve(listener));
    address
}

/// Sends these bytes and returns the whole answer.
async fn answer(proxy: SocketAddr, words: &str) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(words.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    tokio::time::timeout(Duration::from_secs(20), read).await.expect("an end").unwrap();
    answer
}

#[tokio::test]
async fn a_server_on_the_list_is_reached_and_what_is_said_early_gets_there() {
    let site = Site::start(|_| Page::html("inside")).await;
    let (names, port) = (Arc::<Names>::default(), site.address().port());
    names.leads("nas.lan", &[&["127.0.0.1"]]);
    let own = format!("nas.lan:{port}");
    let proxy = proxy(&names, std::slice::from_ref(&own), std::slice::from_ref(&own)).await;
    let request = "GET /page HTTP/1.1\r\nHost: nas.lan\r\nConnection: close\r\n\r\n";
    let asked = format!("CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n{request}");
    let said = answer(proxy, &asked).await;
    assert!(said.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200"), "{said}");
    assert!(said.contains("inside"), "{said}");
    // A request with http is written in the form for proxies.
    let head = format!("Host: {own}\r\nProxy-Authorization: Basic eA==\r\nConnection: keep-alive");
    let said =
        answer(proxy, &format!("GET http://{own}/plain?q=1 HTTP/1.1\r\n{head}\r\n\r\n")).await;
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("inside"), "{said}");
    let heard = site.requests().pop().unwrap();
    assert!(heard.starts_with("GET /plain?q=1 HTTP/1.1"), "{heard}");
    assert!(!heard.to_lowercase().contains("proxy-"), "{heard}");
}

#[tokio::test]
async fn what_is_not_on_the_list_is_neither_reached_nor_looked_up() {
    let site = Site::start(|_| Page::html("inside")).await;
    let (names, port) = (Arc::<Names>::default(), site.address().port());
    names.leads("evil.example", &[&["127.0.0.1"]]);
    names.leads("nas.lan", &[&["127.0.0.1"]]);
    // The config lets tools reach all of these, but the command may reach only one other place.
    let private = ["127.0.0.1", "evil.example", "nas.lan", "localhost"].map(str::to_owned).to_vec();
    let proxy = proxy(&names, &private, &["nas.lan:1".to_owned()]).await;
    for asked in ["127.0.0.1", "evil.example", "nas.lan", "localhost", "0x7f.1", "nas.lan."] {
        let said = answer(proxy, &format!("CONNECT {asked}:{port} HTTP/1.1\r\n\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{asked}: {said}");
        assert!(said.ends_with("not allowed for this command; allowed are: nas.lan:1"), "{said}");
        let said = answer(proxy, &format!("GET http://{asked}:{port}/ HTTP/1.1\r\n\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{asked}: {said}");
    }
    assert_eq!(names.lookups.load(Ordering::SeqCst), 0);
    assert_eq!(site.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_on_the_list_that_leads_inside_is_refused() {
    let site = Site::start(|_| Page::html("inside")).await;
    let (names, port) = (Arc::<Names>::default(), site.address().port());
    names.leads("code.example", &[&["127.0.0.1"], &["93.184.215.14", "10.0.0.1"]]);
    let list = [format!("code.example:{port}"), format!("127.0.0.1:{port}")];
    let proxy = proxy(&names, &[], &list).await;
    for asked in [&list[0], &list[0], &list[1]] {
        let said = answer(proxy, &format!("CONNECT {asked} HTTP/1.1\r\n\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{asked}: {said}");
        assert!(said.ends_with("which is not on the public internet"), "{said}");
    }
    assert_eq!(site.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn what_names_no_server_gets_a_clear_answer() {
    let proxy = proxy(&Arc::default(), &[], &["nas.lan:1".to_owned()]).await;
    for (words, status) in [
        ("GET https://nas.lan:1/ HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: nas.lan:1\r\n\r\n", "400 Bad Request"),
        ("GET http://nas.lan:1/ HTTP/1.1\r\n\r\n", "502 Bad Gateway"),
        ("CONNECT nas.lan HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT  HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT nas.lan:1 HTTP/1.1\r\n\r\n", "502 Bad Gateway"),
    ] {
        let said = answer(proxy, words).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{words:?}: {said}");
    }
    let long = format!("CONNECT {} HTTP/1.1", "x".repeat(20_000));
    assert!(answer(proxy, &long).await.starts_with("HTTP/1.1 400 Bad Request"));
}
