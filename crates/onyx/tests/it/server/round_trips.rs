//! How many times a turn waits for the database.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use onyx_test_support::{OnyxProcess, ScriptedModel, ServerPlace};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::{gateway, place};
use crate::said;

/// The limit of the specification.
const MOST_TRIPS: usize = 6;

/// Statements that a gateway sends at fixed intervals. They do not belong to a turn.
const BY_THE_CLOCK: [&str; 9] = [
    "gateway_notices",
    "UPDATE gateways",
    "WHERE status IS NULL",
    "FROM inbox JOIN sessions",
    "state = 'applying'",
    "FROM jobs",
    "job_slots",
    "chunk_epoch",
    "source_changes",
];

/// A proxy between a gateway and its database. A trip begins with what a connection sends while it
/// waits for nothing; further messages before the answer belong to the same trip.
pub(super) struct TripCounter {
    address: SocketAddr,
    trips: Arc<AtomicUsize>,
    /// The text of every statement that was executed.
    executed: Arc<Mutex<Vec<String>>>,
}

impl TripCounter {
    pub(super) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let trips = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&trips);
        let executed: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&executed);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                // Small messages must not wait for more data, because that would lengthen the
                // trips.
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let awaited = Arc::new(AtomicUsize::new(0));
                let (asked, trips) = (Arc::clone(&awaited), Arc::clone(&counted));
                let mut statements = Statements::of(&heard);
                let ask = move |kind, body: &[u8]| {
                    statements.hear(kind, body);
                    // After `Sync` and simple queries the server reports that it is ready.
                    if !matches!(kind, b'S' | b'Q') {
                        return;
                    }
                    let is_of_a_turn = !std::mem::take(&mut statements.by_the_clock);
                    if asked.fetch_add(1, Ordering::SeqCst) == 0 && is_of_a_turn {
                        trips.fetch_add(1, Ordering::SeqCst);
                    }
                };
                let answer = move |kind, _: &[u8]| {
                    if kind == b'Z' {
                        let less = |count: usize| count.checked_sub(1);
                        let _ = awaited.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
                    }
                };
                tokio::spawn(carry(from_client, to_server, ask));
                tokio::spawn(carry(from_server, to_client, answer));
            }
        });
        Self { address, trips, executed }
    }

    /// How many statements with these words were executed.
    pub(super) fn heard(&self, words: &str) -> usize {
        let executed = self.executed.lock().unwrap();
        executed.iter().filter(|statement| statement.contains(words)).count()
    }

    fn trips(&self) -> usize {
        self.trips.load(Ordering::SeqCst)
    }
}

/// The prepared statements of a connection, and whether the present one is sent at fixed intervals.
struct Statements {
    prepared: HashMap<String, String>,
    by_the_clock: bool,
    executed: Arc<Mutex<Vec<String>>>,
}

impl Statements {
    fn of(executed: &Arc<Mutex<Vec<String>>>) -> Self {
        let executed = Arc::clone(executed);
        Self { prepared: HashMap::new(), by_the_clock: false, executed }
    }

    fn hear(&mut self, kind: u8, body: &[u8]) {
        let words: Vec<String> = body
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into())
            .collect();
        match (kind, &words[..]) {
            // `Parse` has the name of a statement and its text.
            (b'P', [name, text, ..]) => {
                self.by_the_clock |= is_by_the_clock(text);
                self.prepared.insert(name.clone(), text.clone());
            }
            // `Bind` has a portal and the name of the statement.
            (b'B', [_, name, ..]) => {
                let Some(text) = self.prepared.get(name) else { return };
                self.by_the_clock |= is_by_the_clock(text);
                self.executed.lock().unwrap().push(text.clone());
            }
            _ => {}
        }
    }
}

fn is_by_the_clock(statement: &str) -> bool {
    BY_THE_CLOCK.iter().any(|mark| statement.contains(mark))
}

/// Passes bytes on and calls `told` for every message in them.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut told: impl FnMut(u8, &[u8])) {
    let (mut seen, mut piece) = (Vec::new(), vec![0; 65_536]);
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        seen.extend_from_slice(&piece[..count]);
        while let Some((kind, body, length)) = first_message(&seen) {
            told(kind, &seen[body..length]);
            seen.drain(..length);
        }
        if to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
}

/// The kind of the first complete message, the beginning of its body, and its length. A client's
/// first message has no kind and begins with its length.
fn first_message(seen: &[u8]) -> Option<(u8, usize, usize)> {
    let start = usize::from(*seen.first()? != 0);
    let length = seen.get(start..start + 4)?;
    let length = start + u32::from_be_bytes(length.try_into().unwrap()) as usize;
    (seen.len() >= length).then_some((seen[0], start + 4, length))
}

pub(super) async fn behind(
    counter: &TripCounter,
    place: &ServerPlace,
    model: &ScriptedModel,
) -> OnyxProcess {
    let url = place.servers.url(&place.name);
    let server = server(place).to_string();
    let through = url.replace(&server, &counter.address.to_string());
    let database = json!({"storage": {"database": format!("{through}?sslmode=disable")}});
    gateway(place, "one", model).merge(database).start().await
}

pub(super) fn server(place: &ServerPlace) -> SocketAddr {
    let url = place.servers.url(&place.name);
    url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_makes_six_trips_to_the_database_at_most() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let counter = TripCounter::before(server(&place)).await;
    let onyx = behind(&counter, &place, &model).await;
    // The persona is in files, which every turn looks up.
    let persona = onyx.request(Method::PUT, "/api/storage/personas/main");
    let put = persona.json(&json!({"systemPrompt": "Doubt."})).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.text().await.unwrap());
    let first = onyx.chat_stream(&json!({"message": "Hello."})).await;
    let session = first[0]["session_id"].as_str().unwrap();
    let say = async || {
        let before = counter.trips();
        let more = json!({"message": "And now?", "session_id": session});
        assert_eq!(said(&onyx.chat_stream(&more).await), "ok");
        counter.trips() - before
    };
    // These turns prepare statements, judge files and give the session its title.
    for _ in 0..15 {
        say().await;
    }
    let mut trips = Vec::new();
    for _ in 0..31 {
        trips.push(say().await);
    }
    // Some turns include further periodic statements, and slower turns include more of them, so a
    // low quantile is checked.
    trips.sort_unstable();
    assert!(trips[trips.len() / 4] <= MOST_TRIPS, "{trips:?}");
    assert!(trips[0] > 0, "they are counted: {trips:?}");
    let prompt = model.last_request().body["messages"].to_string();
    assert!(prompt.contains("Doubt."), "{prompt}");
}

/// So many conversations do not fit the room that a gateway beside files has for histories, and
/// each is longer than the first page that it reads there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_of_several_long_conversations_make_six_trips_at_most_too() {
    const CONVERSATIONS: usize = 8;
    const TURNS: usize = 35;
    let (place, model) = (place().await, ScriptedModel::start().await);
    let counter = TripCounter::before(server(&place)).await;
    let onyx = behind(&counter, &place, &model).await;
    let text = "word ".repeat(600);
    let mut sessions = Vec::new();
    for _ in 0..CONVERSATIONS {
        let first = onyx.chat_stream(&json!({"message": text})).await;
        sessions.push(first[0]["session_id"].as_str().unwrap().to_owned());
    }
    let mut trips = Vec::new();
    for turn in 1..TURNS + 3 {
        for session in &sessions {
            let before = counter.trips();
            let more = json!({"message": text, "session_id": session});
            assert_eq!(said(&onyx.chat_stream(&more).await), "ok");
            if turn >= TURNS {
                trips.push(counter.trips() - before);
            }
        }
    }
    trips.sort_unstable();
    assert!(trips[trips.len() / 4] <= MOST_TRIPS, "{trips:?}");
}
