//! Bodies and frames that no client of ours would send, against a running server.

use std::time::Instant;

use onyx_test_support::{Dice, OnyxProcess, ScriptedModel, fuzz_time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::onyx;

const BODY: &str = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\
Content-Type: text/markdown\r\n\r\nhello\r\n--b\r\nContent-Disposition: form-data; \
name=\"scope\"\r\n\r\n{\"type\":\"shared\"}\r\n--b--\r\n";
const WORDS: [&str; 12] = [
    "\r\n",
    "--b",
    "--b--",
    "\r\n\r\n",
    "name=\"",
    "filename=\"../../x\"",
    "\0",
    "Content-Type: ",
    "\"",
    ";",
    "filename*=utf-8''%ff",
    "form-data",
];

fn changed(dice: &mut Dice, text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(4) {
            0 => drop(bytes.splice(at..at, dice.pick(&WORDS).bytes())),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..(at + dice.below(30)).min(bytes.len()))),
            _ => drop(bytes.splice(at..at, [dice.number() as u8])),
        }
    }
    bytes
}

async fn is_well(onyx: &OnyxProcess) {
    assert!(onyx.healthy().await, "the server lives: {}", onyx.log());
    assert!(!onyx.log().contains("panicked"), "{}", onyx.log());
}

#[tokio::test]
async fn forms_in_parts() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let mut dice = Dice::new(11);
    let (began, mut tried) = (Instant::now(), 0);
    while began.elapsed() < fuzz_time() || tried < 20 {
        let body = changed(&mut dice, BODY.as_bytes());
        for path in ["/api/sources", "/api/spaces/home/capture"] {
            let request = onyx.request(reqwest::Method::POST, path);
            let request = request.header("content-type", "multipart/form-data; boundary=b");
            let status = request.body(body.clone()).send().await.unwrap().status().as_u16();
            assert!(status < 500, "{status}: {:?}", String::from_utf8_lossy(&body));
        }
        tried += 1;
    }
    is_well(&onyx).await;
}

#[tokio::test]
async fn frames_of_a_web_socket() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let address = onyx.base_url().trim_start_matches("http://").to_owned();
    let mut dice = Dice::new(13);
    let (began, mut tried) = (Instant::now(), 0);
    while began.elapsed() < fuzz_time() || tried < 20 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let hello = format!(
            "GET /ws HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Authorization: Bearer {}\r\n\r\n",
            onyx_test_support::DEFAULT_TOKEN
        );
        stream.write_all(hello.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 101");
        for _ in 0..dice.below(8) {
            if stream.write_all(&frame(&mut dice)).await.is_err() {
                break;
            }
        }
        // Any answer is allowed, and so is closing the connection.
        let mut rest = vec![0; 4096];
        let waiting = stream.read(&mut rest);
        drop(tokio::time::timeout(std::time::Duration::from_millis(20), waiting).await);
        tried += 1;
    }
    is_well(&onyx).await;
}

/// A frame that is mostly valid.
fn frame(dice: &mut Dice) -> Vec<u8> {
    let texts =
        ["{\"type\":\"ping\"}", "{\"type\":\"chat.send\",\"id\":1,\"data\":{}}", "{", "\u{202e}"];
    let mut payload = dice.pick(&texts).as_bytes().to_vec();
    if dice.below(3) == 0 {
        payload = changed(dice, &payload);
    }
    let first = if dice.below(2) == 0 { 0x81 } else { dice.number() as u8 };
    let mut bytes = vec![first];
    match dice.below(5) {
        0 => bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        1 => bytes.extend([0xfe, 0, 1]),
        _ => bytes.push(0x80 | (payload.len().min(125) as u8)),
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}
