//! Tests the widget: visitors write from pages of the sites that the config names, and fetch the
//! answers.

use futures::{StreamExt as _, stream};
use onyx_connectors::{Privacy, PushedRequest, ResolvedConnectors};
use onyx_storage::{AccountKey, PeerChange, PeerKey, PeerKind, PeerState};
use onyx_types::{ErrorCode, Timestamp};
use serde_json::{Value, json};

use crate::agent::{TestAgent, owner};
use crate::process::{Process, resolved_account};

const SITE: &str = "https://www.example.org";
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "ffffffffffffffff0123456789abcdef";

fn key() -> AccountKey {
    AccountKey { network: "widget".to_owned(), account: "main".to_owned() }
}

fn resolved_widget(more: Value) -> ResolvedConnectors {
    resolved_account("widget", json!({"origins": [SITE]}), more, json!([]))
}

fn pushed(origin: &str, secret: &str, body: &Value) -> PushedRequest {
    let headers = vec![
        ("origin".to_owned(), origin.to_owned()),
        ("x-onyx-visitor".to_owned(), secret.to_owned()),
    ];
    PushedRequest { headers, body: body.to_string().into_bytes() }
}

async fn write(process: &Process, secret: &str, id: &str, text: &str) {
    let written = pushed(SITE, secret, &json!({"id": id, "text": text}));
    process.connectors.accept(&key(), &written).await.unwrap();
    process.settled_when(&key(), || true).await;
}

async fn texts(process: &Process, secret: &str, after: i64) -> Vec<String> {
    let asked = pushed(SITE, secret, &json!({}));
    let mail = process.connectors.collect(&key(), &asked, after).await.unwrap();
    mail.into_iter().map(|mail| mail.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_widget_answers_visitors_without_anything_private_and_keeps_them_apart() {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    let resolved = resolved_widget(json!({"open": true}));
    let process = Process::start(home.path(), &agent, resolved.clone()).await;
    // The same message is sent twice and must be handled once.
    for _ in 0..2 {
        write(&process, SECRET, "1", "hello **you**").await;
    }
    write(&process, OTHER, "1", "from another").await;
    // A visitor cannot give commands, whatever it claims to be.
    write(&process, SECRET, "2", "/agent research").await;
    let asked = agent.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|request| request.privacy == Privacy::Group));
    process.crash().await;
    // The answers are still there after a restart, each for the visitor to whom it belongs.
    let process = Process::start(home.path(), &agent, resolved).await;
    let mine = texts(&process, SECRET, 0).await;
    assert!(mine[0].ends_with("hello you"), "{mine:?}");
    assert!(mine[1].contains("Only people who are paired"), "{mine:?}");
    assert_eq!(mine.len(), 2);
    let theirs = texts(&process, OTHER, 0).await;
    assert!(theirs.len() == 1 && theirs[0].ends_with("from another"), "{theirs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_named_sites_come_in_and_only_with_a_secret_and_only_so_often() {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    let process = Process::start(home.path(), &agent, resolved_widget(json!({"open": true}))).await;
    let body = json!({"id": "1", "text": "hello"});
    for wrong in [
        pushed("https://evil.example", SECRET, &body),
        pushed("null", SECRET, &body),
        pushed(SITE, "short", &body),
        PushedRequest { body: body.to_string().into_bytes(), ..PushedRequest::default() },
    ] {
        let fault = process.connectors.accept(&key(), &wrong).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::Unauthenticated, "{fault:?}");
        let fault = process.connectors.collect(&key(), &wrong, 0).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::Unauthenticated, "{fault:?}");
    }
    let long = json!({"id": "1", "text": "x".repeat(5_000)});
    let fault = process.connectors.accept(&key(), &pushed(SITE, SECRET, &long)).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidRequest);
    let mut refused = 0;
    for number in 0..15 {
        let body = json!({"id": number.to_string(), "text": "again"});
        if let Err(fault) = process.connectors.accept(&key(), &pushed(SITE, SECRET, &body)).await {
            assert_eq!(fault.code, ErrorCode::RateLimited);
            refused += 1;
        }
    }
    assert_eq!(refused, 5);
    assert!(process.connectors.shows_widget("main", "https://www.example.org/"));
    assert!(!process.connectors.shows_widget("main", "https://evil.example"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_open_a_visitor_is_a_stranger_and_closing_a_widget_pairs_nobody() {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    let process = Process::start(home.path(), &agent, resolved_widget(json!({"open": true}))).await;
    write(&process, SECRET, "1", "while it is open").await;
    process.connectors.follow(resolved_widget(json!({}))).await;
    write(&process, SECRET, "2", "after it was closed").await;
    assert_eq!(agent.asked().len(), 1);
    let peers = process.connectors.peers(&key()).await.unwrap();
    let waiting = peers.iter().find(|peer| peer.state == PeerState::Waiting).unwrap();
    let code = waiting.code.clone().unwrap().code;
    let said = texts(&process, SECRET, 0).await;
    assert!(said.len() == 1 && said[0].contains(&code), "{said:?}");
    process.connectors.approve_code(&code, owner()).await.unwrap();
    write(&process, SECRET, "3", "and now?").await;
    assert_eq!(agent.asked.lock().unwrap()[1].privacy, Privacy::Private);
    assert_eq!(texts(&process, SECRET, 0).await.last().unwrap(), "You said: and now?");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_is_none_makes_the_account_unusable_with_a_reason() {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    for (origins, why) in [(json!([]), "needs `origins`"), (json!(["*"]), "is not a site")] {
        let resolved = resolved_widget(json!({ "origins": origins }));
        let process = Process::start(home.path(), &agent, resolved).await;
        let status = process.status().await;
        assert!(status.detail.as_deref().unwrap().contains(why), "{status:?}");
        process.crash().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_widget_remembers_a_bounded_number_of_visitors_and_forgets_the_idle_ones() {
    let (home, agent) = (tempfile::tempdir().unwrap(), TestAgent::echo());
    let process = Process::start(home.path(), &agent, resolved_widget(json!({"open": true}))).await;
    write(&process, SECRET, "1", "the first").await;
    // All other visitors came earlier than the first one, one after the other.
    let met = |number: i64| PeerChange {
        key: PeerKey { account: key(), peer: format!("visitor-{number:032}") },
        kind: PeerKind::Group,
        name: "Visitor".to_owned(),
        state: PeerState::Paired,
        person: Some(owner()),
        code: None,
        at: Timestamp::from_millis(1_000 + number),
    };
    let paired = PeerChange {
        key: PeerKey { account: key(), peer: "a-paired-one".to_owned() },
        kind: PeerKind::Person,
        at: Timestamp::from_millis(1),
        ..met(0)
    };
    process.store.connectors.put_peer(paired, 200).await.unwrap();
    stream::iter(0..2_500)
        .for_each_concurrent(64, async |number| {
            process.store.connectors.put_peer(met(number), 200).await.unwrap();
        })
        .await;
    // A process counts the stored visitors at its first new visitor and then after every hundred.
    process.crash().await;
    let process = Process::start(home.path(), &agent, resolved_widget(json!({"open": true}))).await;
    write(&process, OTHER, "1", "one more").await;
    let peers = process.connectors.peers(&key()).await.unwrap();
    let names: Vec<&str> = peers.iter().map(|peer| peer.key.peer.as_str()).collect();
    assert!(names.len() <= 2_001, "{}", names.len());
    assert!(names.contains(&"a-paired-one"), "somebody whom the owner let in was forgotten");
    assert!(!names.contains(&format!("visitor-{:032}", 0).as_str()), "the idlest is still there");
    assert!(names.contains(&format!("visitor-{:032}", 2_499).as_str()));
    // A visitor that came recently continues the same conversation.
    write(&process, SECRET, "2", "again").await;
    let asked = agent.asked.lock().unwrap().clone();
    assert!(asked.last().unwrap().session.is_some());
}
