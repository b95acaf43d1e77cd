//! Slow clients: they are disconnected in time, cost little, and delay nobody.

use std::time::{Duration, Instant};

use onyx_test_support::{
    Answer, DEFAULT_TOKEN, OnyxProcess, Recording, Script, ScriptedModel, wait_until,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{builder, witness};

const EACH: usize = 50;
/// The server's own time limits are one minute.
const LET_GO: Duration = Duration::from_secs(100);
const MEBIBYTE: u64 = 1024 * 1024;
/// The most memory in MiB for two unread answers of 10 MiB: in the log, in the prompt of the next
/// turn, and on the way to the client.
const MOST_KEPT: u64 = 96;
/// The most memory in MiB for storing and indexing two answers of 10 MiB.
const MOST_STORED: u64 = 32;

fn head(onyx: &OnyxProcess, length: usize) -> String {
    let host = onyx.base_url().trim_start_matches("http://");
    format!(
        "POST /api/agent/chat-stream HTTP/1.1\r\nhost: {host}\r\n\
         authorization: Bearer {DEFAULT_TOKEN}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    )
}

async fn connect(onyx: &OnyxProcess) -> TcpStream {
    TcpStream::connect(onyx.base_url().trim_start_matches("http://")).await.unwrap()
}

/// Sends one byte a second until the server closes the connection. Returns the server's answer.
async fn drip(mut stream: TcpStream, first: String, then: u8) -> String {
    stream.write_all(first.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let mut answer = Vec::new();
    let dripping = async {
        while writing.write_all(&[then]).await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let hearing = async {
        // A reset counts as an end.
        let _ = reading.read_to_end(&mut answer).await;
    };
    tokio::select! {
        () = hearing => {}
        () = dripping => {}
    }
    String::from_utf8_lossy(&answer).into_owned()
}

pub(super) fn open_sockets(onyx: &OnyxProcess) -> usize {
    let id = onyx.process_id().unwrap();
    let files = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_are_let_go_in_time_cost_little_and_hold_up_nobody() {
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Off);
    let onyx = builder(&model).start().await;
    witness::talk(onyx.client(), &json!({"message": "warm up"})).await;
    let sockets = open_sockets(&onyx);

    let before = onyx.own_bytes();
    let long: Vec<String> = (0..2_560).map(|_| "x".repeat(4_096)).collect();
    model.set_default(Answer::script(Script::text_pieces(long)));
    let mut deaf = Vec::new();
    for _ in 0..2 {
        let body = json!({"message": "tell me everything"}).to_string();
        let mut stream = connect(&onyx).await;
        let request = format!("{}{body}", head(&onyx, body.len()));
        stream.write_all(request.as_bytes()).await.unwrap();
        deaf.push(stream);
    }
    model.wait_for_requests(1 + deaf.len()).await;
    wait_until("the long answers to be over", LET_GO, || model.answering() == 0).await;
    model.set_default(Answer::text("ok"));
    // The server keeps answers for clients that do not read, within limits. From here on nothing
    // may be added.
    let memory = onyx.own_bytes();
    let kept = memory.saturating_sub(before) / MEBIBYTE;
    println!("two unread answers of 10 MiB keep {kept} MiB");
    assert!(kept < MOST_KEPT, "{kept} MiB are kept for two who do not read");

    // The time that a machine needs for the long answers is no time of a slow client.
    let began = Instant::now();
    let mut dripping = Vec::new();
    for _ in 0..EACH {
        let unfinished = format!("{}x-filler: ", head(&onyx, 10).trim_end());
        let unfinished = unfinished.replacen("content-length: 10", "content-length: 10\r\n", 1);
        dripping.push(tokio::spawn(drip(connect(&onyx).await, unfinished, b'x')));
        dripping.push(tokio::spawn(drip(connect(&onyx).await, head(&onyx, 10_000), b' ')));
    }
    let mut answers = Vec::new();
    for one in dripping {
        while !one.is_finished() {
            let told = witness::talk(onyx.client(), &json!({"message": "hello"})).await;
            assert_eq!(told.status.as_deref(), Some("done"), "{told:?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert!(began.elapsed() < LET_GO, "a slow client is still there");
        }
        answers.push(one.await.unwrap());
    }
    let told_why = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 408")).count();
    assert!(told_why >= EACH, "{told_why} of {} were told why", answers.len());
    // Clients that read keep a connection or two for their next message.
    wait_until("those who do not read to be let go", LET_GO, || {
        open_sockets(&onyx) < sockets + deaf.len()
    })
    .await;
    let grown = onyx.own_bytes().saturating_sub(memory) / MEBIBYTE;
    println!("let go after {:?}, {grown} MiB more", began.elapsed());
    // An answer that nobody read is stored and indexed when its reader is disconnected.
    assert!(grown < MOST_STORED, "grown by {grown} MiB");
    drop(deaf);
}
