use std::time::Instant;

use onyx_test_support::{
    DEFAULT_PASSWORD as PASSWORD, DEFAULT_TOKEN, OnyxProcess, Reply, ScriptedModel,
};
use serde_json::{Value, json};

use super::{forgiven_since, log_in, most_guesses, set_password, stranger_at};
use crate::builder;
use crate::ws::Client;

async fn household() -> (ScriptedModel, OnyxProcess) {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"people": ["anna", "bert"]})).start().await;
    set_password(&onyx, "anna").await;
    set_password(&onyx, "bert").await;
    (model, onyx)
}

/// Opens the owner's sign-in link at another address of this machine.
async fn open_link(onyx: &OnyxProcess, from: u8) -> u16 {
    let link = onyx.post("/api/admin/links", &json!({})).await.expect(200).json();
    let request = stranger_at(from).get(link["url"].as_str().unwrap());
    Reply::of(request).await.status
}

/// Guesses until no more are looked at, and returns how many were.
async fn guess_all(onyx: &OnyxProcess, name: &str) -> usize {
    let mut looked_at = 0;
    while looked_at < 50 && log_in(onyx, 1, name, "wrong").await.status == 401 {
        looked_at += 1;
    }
    looked_at
}

/// Whether even the right password must wait when no guess is left. A guess is forgiven every few
/// seconds, so it may take several rounds to observe that.
async fn must_wait(onyx: &OnyxProcess, name: &str) -> bool {
    for _ in 0..8 {
        guess_all(onyx, name).await;
        if log_in(onyx, 1, name, PASSWORD).await.status == 429 {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn wrong_guesses_for_one_name_keep_nobody_else_out() {
    let (_model, onyx) = household().await;
    for name in ["nobody", "anna"] {
        let begun = Instant::now();
        let guesses = (0..20).map(|_| log_in(&onyx, 1, name, "wrong"));
        let answers = futures::future::join_all(guesses).await;
        let looked_at = answers.iter().filter(|answer| answer.status == 401).count();
        let allowed = 10..=most_guesses(begun);
        assert!(allowed.contains(&looked_at), "{name}: {looked_at} guesses were looked at");
    }
    // The guesses were at anna's password, so only her password sign-in must wait.
    assert!(must_wait(&onyx, "anna").await);
    let used_up = Instant::now();
    guess_all(&onyx, "anna").await;
    assert_eq!(log_in(&onyx, 1, "bert", PASSWORD).await.status, 200);
    assert_eq!(open_link(&onyx, 1).await, 200);
    let pair = stranger_at(1).post(onyx.url("/api/auth/pair")).json(&json!({}));
    assert_eq!(Reply::of(pair).await.status, 201);
    let me = stranger_at(1).get(onyx.url("/api/auth/me")).bearer_auth(DEFAULT_TOKEN);
    assert_eq!(Reply::of(me).await.status, 200);
    // That bert has signed in gives nobody more guesses at anna's password.
    let more = guess_all(&onyx, "anna").await;
    assert!(more <= 1 + forgiven_since(used_up), "{more} guesses more");
}

#[tokio::test]
async fn another_address_of_this_machine_brings_no_new_guesses() {
    let (_model, onyx) = household().await;
    let (begun, mut looked_at) = (Instant::now(), 0);
    for number in 0..40_u8 {
        let status = log_in(&onyx, 2 + number, "anna", "wrong").await.status;
        assert!(matches!(status, 401 | 429), "{status}");
        looked_at += usize::from(status == 401);
    }
    let allowed = 10..=most_guesses(begun);
    assert!(allowed.contains(&looked_at), "{looked_at} guesses were looked at");
}

#[tokio::test]
async fn a_flood_of_made_up_names_keeps_no_person_out_and_does_not_tell_who_there_is() {
    let (_model, onyx) = household().await;
    let flood = (0..130).map(|number| {
        let (onyx, name) = (&onyx, format!("nobody-{number}"));
        async move { log_in(onyx, 1, &name, "wrong").await.status }
    });
    let answers = futures::future::join_all(flood).await;
    let limited = answers.iter().filter(|status| **status == 429).count();
    assert!((10..=30).contains(&limited), "{limited} of 130 had to wait: {answers:?}");
    // Under attack, existing and unknown names are refused alike. A guess is forgiven every few
    // seconds, so it may take several rounds to observe that.
    let mut alike = false;
    for round in 0..8 {
        let more = (0..3).map(|number| {
            let (onyx, name) = (&onyx, format!("more-{round}-{number}"));
            async move { log_in(onyx, 1, &name, "wrong").await.status }
        });
        futures::future::join_all(more).await;
        let (is, is_not) =
            tokio::join!(log_in(&onyx, 1, "bert", "wrong"), log_in(&onyx, 1, "no", "wrong"));
        if (is.status, is_not.status) == (429, 429) {
            alike = is.text() == is_not.text();
            break;
        }
    }
    assert!(alike);
    assert_eq!(log_in(&onyx, 1, "anna", PASSWORD).await.status, 200);
}

#[tokio::test]
async fn wrong_links_and_wrong_tokens_never_lock_a_good_one_out() {
    let (_model, onyx) = household().await;
    let client = stranger_at(1);
    let mut told_to_wait = false;
    // A failure is forgiven twice a second, so a slow machine needs more of them.
    for _ in 0..1_000 {
        let wrong = Reply::of(client.get(onyx.url("/auth/link?code=wrong"))).await;
        assert!(matches!(wrong.status, 401 | 429), "{}", wrong.status);
        told_to_wait = wrong.status == 429;
        if told_to_wait {
            break;
        }
    }
    assert!(told_to_wait);
    assert_eq!(open_link(&onyx, 1).await, 200);
    let me = client.get(onyx.url("/api/auth/me")).bearer_auth(DEFAULT_TOKEN);
    assert_eq!(Reply::of(me).await.status, 200);
}

#[tokio::test]
async fn guesses_in_frames_are_counted_and_a_connection_is_good_for_one() {
    let (_model, onyx) = household().await;
    let mut code = Value::Null;
    // A failure is forgiven twice a second, so a slow machine needs more of them.
    for _ in 0..1_000 {
        let mut client = Client::stranger(&onyx).await;
        client.tell(json!({"type": "auth", "data": {"token": "onyx_sk_wrong"}})).await;
        code = client.next().await.unwrap()["error"]["code"].clone();
        assert!(client.next().await.is_err(), "the connection is closed");
        if code == "rate_limited" {
            break;
        }
    }
    assert_eq!(code, "rate_limited");
    // The same holds on connections that have signed in already. One failure may have been forgiven
    // meanwhile, so the first of them may still be looked at.
    for _ in 0..8 {
        let mut client = Client::with_token(&onyx, DEFAULT_TOKEN).await;
        let _ = client.ask("ping", json!({})).await;
        client.tell(json!({"type": "auth", "id": "q", "data": {"token": "onyx_sk_wrong"}})).await;
        code = client.until("auth.result").await["error"]["code"].clone();
        assert!(client.next().await.is_err(), "the connection is closed");
        if code == "rate_limited" {
            break;
        }
    }
    assert_eq!(code, "rate_limited");
}
