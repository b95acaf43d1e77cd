//! Tests webhooks: messages are signed in both directions, and answers are repeated until they are
//! accepted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use hmac::{Hmac, KeyInit as _, Mac as _};
use onyx_connectors::{ConnectorsSettings, PushedRequest, ResolvedConnectors, resolve_connectors};
use onyx_storage::AccountKey;
use onyx_test_support::networks::{FakeHttp, HttpReply, HttpRequest};
use onyx_test_support::{Dice, wait_for};
use onyx_types::ErrorCode;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::agent::TestAgent;
use crate::process::{IMPATIENT, Process, SOON};
use crate::telegram;

pub(crate) const SECRET: &str = "a secret of sixteen or more";

fn key() -> AccountKey {
    AccountKey { network: "webhook".to_owned(), account: "home".to_owned() }
}

fn resolved_webhook(url: &str) -> ResolvedConnectors {
    let settings: ConnectorsSettings = serde_json::from_value(
        json!({"webhook": {"accounts": {"home": {"secret": SECRET, "url": url}}}}),
    )
    .unwrap();
    resolve_connectors(&settings, &[], &|_| true, &|text| Ok(Some(text.to_owned()))).unwrap()
}

fn signature(secret: &str, seconds: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256={hex}")
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_secs() as i64
}

fn pushed(secret: &str, seconds: i64, body: &Value) -> PushedRequest {
    let body = body.to_string().into_bytes();
    let headers = vec![
        ("x-onyx-timestamp".to_owned(), seconds.to_string()),
        ("x-onyx-signature".to_owned(), signature(secret, seconds, &body)),
    ];
    PushedRequest { headers, body }
}

/// Starts a receiver that fails at random, and returns it with the list of requests that it
/// accepted.
async fn receiver(seed: u64, fails: usize) -> (FakeHttp, Arc<Mutex<Vec<HttpRequest>>>) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (kept, dice) = (Arc::clone(&taken), Arc::new(Mutex::new(Dice::new(seed))));
    let http = FakeHttp::start(Arc::new(move |request: HttpRequest| {
        let (kept, dice) = (Arc::clone(&kept), Arc::clone(&dice));
        Box::pin(async move {
            let fate = if fails == 0 { 9 } else { dice.lock().unwrap().below(fails) };
            match fate {
                0 => return HttpReply::Close,
                1 => return HttpReply::json(503, &json!({})),
                _ => {}
            }
            kept.lock().unwrap().push(request);
            match fate {
                2 => HttpReply::Close,
                3 => HttpReply::HalfClose { body: b"{}".to_vec() },
                4 => HttpReply::Hang(Duration::from_millis(900)),
                _ => HttpReply::json(200, &json!({})),
            }
        })
    }))
    .await;
    (http, taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_message_is_answered_with_a_signed_one_and_an_unsigned_one_is_refused() {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    let (http, taken) = receiver(0, 0).await;
    let process = Process::start(home.path(), &agent, resolved_webhook(&http.url())).await;
    let body = json!({"id": "1", "peer": "door", "text": "hello"});
    let refused = [
        pushed("another secret, also long", now(), &body),
        pushed(SECRET, now() - 3_600, &body),
        PushedRequest { body: body.to_string().into_bytes(), ..PushedRequest::default() },
        PushedRequest {
            body: json!({"id": "1", "peer": "door", "text": "other"}).to_string().into_bytes(),
            ..pushed(SECRET, now(), &body)
        },
    ];
    for wrong in &refused {
        let fault = process.connectors.accept(&key(), wrong).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::Unauthenticated, "{fault:?}");
    }
    // The same message is pushed twice and must be handled once.
    for _ in 0..2 {
        process.connectors.accept(&key(), &pushed(SECRET, now(), &body)).await.unwrap();
    }
    let request =
        wait_for("the answer", SOON, async || taken.lock().unwrap().first().cloned()).await;
    let answer: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        (answer["peer"].as_str(), answer["text"].as_str()),
        (Some("door"), Some("You said: hello"))
    );
    let seconds: i64 = request.header("x-onyx-timestamp").unwrap().parse().unwrap();
    assert_eq!(
        request.header("x-onyx-signature").unwrap(),
        signature(SECRET, seconds, &request.body)
    );
    assert_eq!(agent.asked(), ["hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_receiver_does_each_answer_arrives_under_one_key() {
    stream::iter(telegram::seeds::seeds())
        .for_each_concurrent(6, async |seed| drop(conversation(seed).await))
        .await;
}

/// Holds a conversation, and returns everything that people were shown in it.
pub(crate) async fn conversation(seed: u64) -> String {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    let (http, taken) = receiver(seed, 12).await;
    let resolved = resolved_webhook(&http.url());
    let mut process = Process::start_at(home.path(), &agent, resolved.clone(), IMPATIENT).await;
    let mut dice = Dice::new(seed + 1);
    let mut said = Vec::new();
    for round in 0..3 {
        for peer in ["a", "b"] {
            let text = format!("s{seed}{peer}{round}");
            let body = json!({"id": round.to_string(), "peer": peer, "text": text});
            process.connectors.accept(&key(), &pushed(SECRET, now(), &body)).await.unwrap();
            said.push(text);
        }
        if dice.below(3) == 0 {
            process.crash().await;
            process = Process::start_at(home.path(), &agent, resolved.clone(), IMPATIENT).await;
        }
    }
    wait_for("all answers", SOON, async || {
        let queues = process.store.connectors.figures(&key()).await.unwrap();
        (queues.incoming == 0 && queues.outgoing == 0).then_some(())
    })
    .await;
    assert_eq!(process.store.connectors.figures(&key()).await.unwrap().dead, 0, "seed {seed}");
    let taken = taken.lock().unwrap().clone();
    for text in &said {
        assert_eq!(agent.asked().iter().filter(|asked| *asked == text).count(), 1, "seed {seed}");
        let keys: std::collections::BTreeSet<_> = taken
            .iter()
            .filter(|request| String::from_utf8_lossy(&request.body).contains(text.as_str()))
            .map(|request| request.header("idempotency-key").unwrap().to_owned())
            .collect();
        assert_eq!(keys.len(), 1, "seed {seed}: {text}: {keys:?}");
    }
    format!("{:?} {:?}", agent.told(), process.status().await)
}
