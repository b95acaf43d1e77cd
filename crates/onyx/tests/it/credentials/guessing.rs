use onyx_test_support::{
    DEFAULT_PASSWORD as PASSWORD, DEFAULT_TOKEN, OnyxProcess, Reply, ScriptedModel,
};
use serde_json::json;

use super::{log_in, set_password, stranger_at};
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

#[tokio::test]
async fn wrong_guesses_for_one_name_keep_nobody_else_out() {
    let (_model, onyx) = household().await;
    for name in ["nobody", "anna"] {
        // The guesses are sent at the same time, so that none is forgiven meanwhile.
        let guesses = (0..20).map(|_| log_in(&onyx, 1, name, "wrong"));
        let answers = futures::future::join_all(guesses).await;
        let looked_at = answers.iter().filter(|answer| answer.status == 401).count();
        assert!((10..=13).contains(&looked_at), "{name}: {looked_at} guesses were looked at");
    }
    // The guesses were at anna's password, so only her password sign-in must wait.
    assert_eq!(log_in(&onyx, 1, "anna", PASSWORD).await.status, 429);
    assert_eq!(log_in(&onyx, 1, "bert", PASSWORD).await.status, 200);
    assert_eq!(open_link(&onyx, 1).await, 200);
    let pair = stranger_at(1).post(onyx.url("/api/auth/pair")).json(&json!({}));
    assert_eq!(Reply::of(pair).await.status, 201);
    let me = stranger_at(1).get(onyx.url("/api/auth/me")).bearer_auth(DEFAULT_TOKEN);
    assert_eq!(Reply::of(me).await.status, 200);
    // That bert has signed in gives nobody more guesses at anna's password.
    assert_eq!(log_in(&onyx, 1, "anna", "wrong").await.status, 429);
}

#[tokio::test]
async fn another_address_of_this_machine_brings_no_new_guesses() {
    let (_model, onyx) = household().await;
    let mut looked_at = 0;
    for number in 0..40_u8 {
        let status = log_in(&onyx, 2 + number, "anna", "wrong").await.status;
        assert!(matches!(status, 401 | 429), "{status}");
        looked_at += usize::from(status == 401);
    }
    // Ten guesses are allowed, and one more for every six seconds that this took.
    assert!((10..=14).contains(&looked_at), "{looked_at} guesses were looked at");
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
    let mut told_to_wait = 0;
    for _ in 0..140 {
        let wrong = Reply::of(client.get(onyx.url("/auth/link?code=wrong"))).await;
        assert!(matches!(wrong.status, 401 | 429), "{}", wrong.status);
        told_to_wait += usize::from(wrong.status == 429);
    }
    assert!(told_to_wait > 0);
    assert_eq!(open_link(&onyx, 1).await, 200);
    let me = client.get(onyx.url("/api/auth/me")).bearer_auth(DEFAULT_TOKEN);
    assert_eq!(Reply::of(me).await.status, 200);
}

#[tokio::test]
async fn guesses_in_frames_are_counted_and_a_connection_is_good_for_one() {
    let (_model, onyx) = household().await;
    let mut codes = Vec::new();
    for _ in 0..140 {
        let mut client = Client::stranger(&onyx).await;
        client.tell(json!({"type": "auth", "data": {"token": "onyx_sk_wrong"}})).await;
        let refused = client.next().await.unwrap();
        codes.push(refused["error"]["code"].as_str().unwrap().to_owned());
        assert!(client.next().await.is_err(), "the connection is closed");
    }
    assert!(codes.contains(&"rate_limited".to_owned()), "{codes:?}");
    // The same holds on a connection that has signed in already.
    let mut client = Client::with_token(&onyx, DEFAULT_TOKEN).await;
    let _ = client.ask("ping", json!({})).await;
    client.tell(json!({"type": "auth", "id": "q", "data": {"token": "onyx_sk_wrong"}})).await;
    let refused = client.until("auth.result").await;
    assert_eq!(refused["error"]["code"], "rate_limited", "{refused}");
    assert!(client.next().await.is_err(), "the connection is closed");
}
