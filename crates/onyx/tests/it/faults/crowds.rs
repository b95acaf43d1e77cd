//! Very many connections from anybody who can reach the port. They are limited in number, cost
//! little, and do not keep others out.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use futures::{SinkExt as _, StreamExt as _};
use onyx_test_support::{
    Answer, DEFAULT_TOKEN, OnyxProcess, Recording, Script, ScriptedModel, wait_for,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::slow_clients::open_sockets;
use crate::{SOON, builder, said, witness};

fn host(onyx: &OnyxProcess) -> &str {
    onyx.base_url().trim_start_matches("http://")
}

async fn connect(onyx: &OnyxProcess) -> TcpStream {
    TcpStream::connect(host(onyx)).await.unwrap()
}

/// Connects from one of the many loopback addresses of this machine.
async fn connect_from(onyx: &OnyxProcess, last: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
    socket.connect(host(onyx).parse().unwrap()).await.unwrap()
}

async fn send(stream: &mut TcpStream, onyx: &OnyxProcess, line: &str, headers: &str) {
    let request = format!("{line} HTTP/1.1\r\nhost: {}\r\n{headers}", host(onyx));
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// Reads until the connection is closed, which must be soon.
async fn rest(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    // A reset counts as an end.
    let _ = timeout(SOON, stream.read_to_end(&mut said)).await.expect("the connection is closed");
    String::from_utf8_lossy(&said).into_owned()
}

/// Sends one request on a new connection.
async fn ask(onyx: &OnyxProcess, line: &str, headers: &str) -> (u16, String) {
    let mut stream = connect(onyx).await;
    send(&mut stream, onyx, line, &format!("{headers}connection: close\r\n\r\n")).await;
    let said = rest(stream).await;
    let status = said.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), said)
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// Opens a WebSocket and sends nothing.
async fn silent_socket(onyx: &OnyxProcess) -> TcpStream {
    let mut stream = connect(onyx).await;
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    send(&mut stream, onyx, "GET /ws", upgrade).await;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_half_sent_requests_keeps_neither_health_nor_people_out() {
    const FILES: u32 = 256;
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).open_files(FILES).start().await;
    let before = open_sockets(&onyx);
    let mut flood = Vec::new();
    for number in 0..400_u16 {
        let mut stream = connect_from(&onyx, 2 + (number % 8) as u8).await;
        send(&mut stream, &onyx, "POST /api/agent/chat", "x-filler: ").await;
        flood.push(stream);
        if number % 20 == 0 {
            let asked = Instant::now();
            let (status, said) = timeout(SOON, ask(&onyx, "GET /health", "")).await.unwrap();
            assert_eq!(status, 200, "after {number}: {said}");
            assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        }
    }
    let told = witness::talk(onyx.client(), &json!({"message": "are you there?"})).await;
    assert_eq!(told.status.as_deref(), Some("done"), "{told:?}");
    let taken = open_sockets(&onyx).saturating_sub(before);
    assert!(taken < 64, "{taken} sockets are open");
    // The closed connections are not logged, but they are counted.
    let metrics = onyx.get("/metrics").await.expect(200).text();
    let closed =
        metrics.lines().find_map(|line| line.strip_prefix("onyx_connections_closed_total "));
    assert!(closed.unwrap().parse::<u64>().unwrap() > 300, "{metrics}");
}

#[tokio::test]
async fn a_server_takes_all_the_open_files_that_it_may_have() {
    const FEW: u32 = 256;
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).open_files_at_first(FEW).start().await;
    let limits = format!("/proc/{}/limits", onyx.process_id().unwrap());
    let limits = std::fs::read_to_string(limits).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let (soft, hard) = files.trim().split_once(char::is_whitespace).unwrap();
    assert_eq!(soft, hard.split_whitespace().next().unwrap(), "{files}");
    assert!(soft.parse::<u64>().map_or(true, |soft| soft > u64::from(FEW)), "{files}");
}

/// The connections without sign-in, and how many of them were closed for others.
async fn guests(onyx: &OnyxProcess) -> (u64, u64) {
    let metrics = onyx.get("/metrics").await.expect(200).text();
    let figure = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {metrics}")).trim().parse::<u64>().unwrap()
    };
    (figure("onyx_connections{who=\"unauthenticated\"}"), figure("onyx_connections_closed_total"))
}

/// A little longer than a new connection may be silent beyond its address's share.
const PAST_THE_GRACE: Duration = Duration::from_millis(1_200);

#[tokio::test]
async fn one_address_has_a_share_of_its_own_however_much_room_there_is() {
    const SHARE: usize = 8;
    let model = ScriptedModel::start().await;
    // The limits are so high that no connection is closed for lack of room.
    let limits =
        json!({"max": 8192, "unauthenticated": 4000, "perAddress": SHARE, "headSeconds": 60});
    let onyx = builder(&model).merge(json!({"gateway": {"connections": limits}})).start().await;
    let mut silent = Vec::new();
    for number in 0..SHARE * 2 {
        silent.push(connect_from(&onyx, 2 + (number % 8) as u8).await);
    }
    // A new connection may be about to send a request, so its share is applied only after a second.
    wait_for("a silent one to go for a newcomer", SOON, async || {
        silent.push(connect_from(&onyx, 2).await);
        (guests(&onyx).await.1 > 0).then_some(())
    })
    .await;
    // Those who come at once each need a silent one that is old enough, not only the first of them.
    tokio::time::sleep(PAST_THE_GRACE).await;
    let (before, closed) = guests(&onyx).await;
    for _ in 0..SHARE {
        silent.push(connect_from(&onyx, 3).await);
    }
    wait_for("those to be taken up", SOON, async || {
        let (open, now_closed) = guests(&onyx).await;
        assert!(open <= before + 1, "{open} are open, {before} were");
        (now_closed >= closed + SHARE as u64).then_some(())
    })
    .await;
}

#[tokio::test]
async fn while_all_guests_are_busy_only_health_and_people_who_signed_in_are_answered() {
    let model = ScriptedModel::start().await;
    let few = json!({"max": 64, "unauthenticated": 8, "perAddress": 8, "headSeconds": 4});
    let onyx = builder(&model).merge(json!({"gateway": {"connections": few}})).start().await;
    let mut busy = Vec::new();
    for _ in 0..8 {
        let mut stream = connect(&onyx).await;
        send(&mut stream, &onyx, "POST /api/auth/login", "content-length: 50\r\n\r\n{").await;
        busy.push(stream);
    }
    assert_eq!(ask(&onyx, "GET /health", "").await.0, 200);
    let began = Instant::now();
    let (status, refused) = loop {
        let (status, said) = ask(&onyx, "GET /docs", "").await;
        if status != 200 || began.elapsed() > Duration::from_secs(2) {
            break (status, said);
        }
        // One of the connections was silent when a new one came, so it was closed.
        let mut stream = connect(&onyx).await;
        send(&mut stream, &onyx, "POST /api/auth/login", "content-length: 50\r\n\r\n{").await;
        busy.push(stream);
    };
    assert_eq!(status, 503, "{refused}");
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("retry-after: 1") && head.contains("connection: close"), "{head}");
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["code"], "overloaded", "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("credential"), "{problem}");
    assert_eq!(ask(&onyx, "GET /v1/sessions", &bearer("onyx_sk_wrong")).await.0, 503);
    assert_eq!(ask(&onyx, "GET /health", "").await.0, 200);
    assert_eq!(ask(&onyx, "GET /v1/sessions", &bearer(DEFAULT_TOKEN)).await.0, 200);
    // A connection with sign-in is never closed for others.
    let mut known = connect(&onyx).await;
    send(&mut known, &onyx, "GET /v1/sessions", &format!("{}\r\n", bearer(DEFAULT_TOKEN))).await;
    let mut first = [0; 12];
    known.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    send(&mut known, &onyx, "GET /docs", "connection: close\r\n\r\n").await;
    assert!(rest(known).await.contains("HTTP/1.1 200"), "a second answer on the same connection");
    let mut late = 0;
    for stream in busy {
        let said = rest(stream).await;
        // A connection that was closed may end in the middle of its body.
        let had_to_go = said.is_empty() || said.contains("the body ended too early");
        assert!(had_to_go || said.starts_with("HTTP/1.1 408"), "{said}");
        late += usize::from(!had_to_go);
    }
    assert_eq!(late, 8, "each that was heard is told why it is not answered");
    assert_eq!(ask(&onyx, "GET /docs", "").await.0, 200);
}

#[tokio::test]
async fn who_does_not_sign_in_is_let_go_within_seconds_and_who_has_stays() {
    let model = ScriptedModel::start().await;
    let short = json!({"headSeconds": 2, "signInSeconds": 1});
    let onyx = builder(&model).merge(json!({"gateway": {"connections": short}})).start().await;
    let mut known = connect(&onyx).await;
    send(&mut known, &onyx, "GET /v1/sessions", &format!("{}\r\n", bearer(DEFAULT_TOKEN))).await;
    let mut part = [0; 12];
    known.read_exact(&mut part).await.unwrap();
    let url = format!("ws://{}/ws", host(&onyx));
    let (mut signed_in, _) = tokio_tungstenite::connect_async(&url).await.unwrap();
    let auth = json!({"type": "auth", "data": {"token": DEFAULT_TOKEN}});
    signed_in.send(Message::text(auth.to_string())).await.unwrap();

    let began = Instant::now();
    let silent = connect(&onyx).await;
    let mut half = connect(&onyx).await;
    send(&mut half, &onyx, "GET /health", "x-filler: ").await;
    let mut again = connect(&onyx).await;
    send(&mut again, &onyx, "GET /health", "\r\n").await;
    let socket = silent_socket(&onyx).await;
    let (silent, half, again, socket) =
        tokio::join!(rest(silent), rest(half), rest(again), rest(socket));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!((silent.as_str(), half.as_str()), ("", ""));
    assert!(again.starts_with("HTTP/1.1 200"), "{again}");
    assert!(socket.contains("unauthenticated"), "{socket}");

    send(&mut known, &onyx, "GET /health", "connection: close\r\n\r\n").await;
    assert!(rest(known).await.contains("HTTP/1.1 200"), "who has signed in may be silent");
    signed_in.send(Message::text(json!({"type": "ping", "id": 7}).to_string())).await.unwrap();
    let pong = async {
        while let Some(Ok(message)) = signed_in.next().await {
            if message.to_text().is_ok_and(|text| text.contains("ping")) {
                return true;
            }
        }
        false
    };
    assert!(timeout(SOON, pong).await.unwrap());
}

#[tokio::test]
async fn a_head_without_end_and_the_body_of_a_stranger_are_bounded() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let long = format!("x-filler: {}\r\n", "x".repeat(40_000));
    let (status, said) = ask(&onyx, "GET /health", &long).await;
    assert_eq!(status, 431, "{said}");
    let body = json!({"person": "owner", "password": "x".repeat(70_000)}).to_string();
    let headers = format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let mut stream = connect(&onyx).await;
    send(&mut stream, &onyx, "POST /api/auth/login", &headers).await;
    let said = rest(stream).await;
    assert!(said.starts_with("HTTP/1.1 413") && said.contains("64 KiB"), "{said}");
    // The first frame of the WebSocket announces a mebibyte; the connection is closed long before
    // its time limit.
    let mut large = silent_socket(&onyx).await;
    let began = Instant::now();
    let frame = [&[0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4][..], &[b'x'; 64 * 1024]];
    // Writing fails if the connection is closed before everything was sent.
    let _ = large.write_all(&frame.concat()).await;
    rest(large).await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_honest_streams_from_one_machine_are_more_than_its_share_of_guests() {
    const STREAMS: usize = 400;
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Off);
    model.set_default(Answer::script(Script::text_pieces(["one ", "two"])).delay_ms(1_000));
    let onyx = builder(&model).start().await;
    let talks: Vec<_> = (0..STREAMS)
        .map(|number| {
            let client = onyx.client().clone();
            let message = json!({"message": format!("message {number}")});
            tokio::spawn(async move { client.chat_stream(&message).await })
        })
        .collect();
    for talk in talks {
        assert_eq!(said(&talk.await.unwrap()), "one two");
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_costs_little() {
    const EACH: usize = 200;
    const KIBIBYTE: u64 = 1024;
    let model = ScriptedModel::start().await;
    let many = json!({"unauthenticated": 2000, "perAddress": 2000, "signInSeconds": 600,
        "headSeconds": 600});
    let onyx = builder(&model).merge(json!({"gateway": {"connections": many}})).start().await;
    // Some memory is used once for the first connection of each kind, so it is not measured.
    let mut open = vec![connect(&onyx).await, silent_socket(&onyx).await];
    // So is what the server does in the background after its start.
    onyx.settled_bytes().await;
    let mut costs = Vec::new();
    for kind in ["silent", "half a request", "a WebSocket"] {
        let before = onyx.own_bytes();
        for _ in 0..EACH {
            let mut stream = if kind == "a WebSocket" {
                silent_socket(&onyx).await
            } else {
                connect(&onyx).await
            };
            if kind == "half a request" {
                send(&mut stream, &onyx, "POST /api/agent/chat", "x-filler: ").await;
            }
            open.push(stream);
        }
        assert_eq!(ask(&onyx, "GET /health", "").await.0, 200);
        let cost = onyx.own_bytes().saturating_sub(before) / EACH as u64;
        println!("{kind}: {cost} bytes each");
        costs.push((kind, cost));
    }
    for ((kind, cost), most) in costs.into_iter().zip([8, 40, 64]) {
        assert!(cost < most * KIBIBYTE, "{kind}: {cost} bytes each");
    }
}
