//! Requests that are refused before their body has arrived: the connection can be used again.

use std::time::Duration;

use onyx_test_support::{OnyxProcess, ScriptedModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::builder;

const SOON: Duration = Duration::from_secs(10);
const BODY: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize"}"#;

/// Reads one answer with a declared length. Returns its status line.
async fn answer(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(SOON, stream.read_u8()).await.unwrap().unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    timeout(SOON, stream.read_exact(&mut body)).await.unwrap().unwrap();
    head.lines().next().unwrap().to_owned()
}

fn request(onyx: &OnyxProcess, line: &str, headers: &str) -> String {
    let host = onyx.base_url().trim_start_matches("http://");
    format!("{line} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n")
}

/// Sends a request and only after its answer the body, and then another request. Returns the first
/// status.
async fn refused_then_asked(onyx: &OnyxProcess, line: &str, headers: &str, body: &str) -> String {
    let address = onyx.base_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request(onyx, line, headers).as_bytes()).await.unwrap();
    let refused = answer(&mut stream).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    stream.write_all(request(onyx, "GET /health", "").as_bytes()).await.unwrap();
    assert_eq!(answer(&mut stream).await, "http/1.1 200 ok", "after {line}");
    refused
}

#[tokio::test]
async fn a_refusal_before_the_body_has_come_leaves_the_connection_open() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let known = format!("content-length: {}\r\n", BODY.len());
    let chunked = "transfer-encoding: chunked\r\n";
    let chunks = format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
    for (line, status) in [("POST /mcp", "401"), ("POST /v1/chat/completions", "401")] {
        for (headers, body) in [(known.as_str(), BODY), (chunked, chunks.as_str())] {
            let refused = refused_then_asked(&onyx, line, headers, body).await;
            assert!(refused.contains(status), "{line} with {headers}: {refused}");
        }
    }
    let elsewhere = format!("{known}origin: http://elsewhere.example\r\n");
    let refused = refused_then_asked(&onyx, "POST /mcp", &elsewhere, BODY).await;
    assert!(refused.contains("403"), "{refused}");
    let refused = refused_then_asked(&onyx, "POST /v1/nothing-here", &known, BODY).await;
    assert!(refused.contains("404") || refused.contains("401"), "{refused}");
}

/// A client that waits for `100 Continue` never sends the body of a refused request, so the next
/// bytes would be taken for it.
#[tokio::test]
async fn a_client_that_waits_with_its_body_gets_the_refusal_and_the_connection_ends() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let address = onyx.base_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers = "content-length: 10000\r\nexpect: 100-continue\r\n";
    stream.write_all(request(&onyx, "POST /mcp", headers).as_bytes()).await.unwrap();
    let mut said = Vec::new();
    timeout(SOON, stream.read_to_end(&mut said)).await.unwrap().unwrap();
    let said = String::from_utf8(said).unwrap().to_lowercase();
    assert!(said.starts_with("http/1.1 401"), "{said}");
}
