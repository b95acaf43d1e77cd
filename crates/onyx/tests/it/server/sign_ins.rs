//! Sign-ins with two gateways: what begins at one can be finished at the other, once, and guesses
//! are counted together.

use std::time::Instant;

use futures::future::join_all;
use onyx_test_support::{DEFAULT_PASSWORD, OnyxProcess, Reply, ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::json;

use super::together::{TIMED, assert_followed, two};
use super::{place, start};
use crate::credentials::{log_in, set_password, stranger_at};
use crate::{SOON, stranger};

/// The code of a sign-in link that a gateway gives to the owner.
async fn link_of(onyx: &OnyxProcess) -> String {
    let link = onyx.post("/api/admin/links", &json!({})).await.expect(200).json();
    let url = link["url"].as_str().unwrap().to_owned();
    url.split_once("code=").unwrap().1.to_owned()
}

async fn open_link(onyx: &OnyxProcess, code: &str) -> u16 {
    let path = format!("/auth/link?code={code}");
    Reply::of(stranger_at(1).get(onyx.url(&path))).await.status
}

#[tokio::test]
async fn a_link_of_one_gateway_signs_in_at_the_other_and_of_all_who_try_at_once_one_gets_in() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let code = link_of(&one).await;
    assert_eq!(open_link(&two, &code).await, 200);
    assert_eq!(open_link(&one, &code).await, 401, "it was used at the other");
    for _ in 0..5 {
        let code = link_of(&two).await;
        let tries = (0..8).map(|n| open_link(if n % 2 == 0 { &one } else { &two }, &code));
        let mut answers = join_all(tries).await;
        answers.sort_unstable();
        assert_eq!(answers, [200, 401, 401, 401, 401, 401, 401, 401]);
    }
}

#[tokio::test]
async fn a_device_is_begun_approved_and_let_in_through_different_gateways_once() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let begin = async |onyx: &OnyxProcess| {
        let body = json!({"name": "phone", "client": "device"});
        let begun = Reply::of(stranger().post(onyx.url("/api/auth/pair")).json(&body)).await;
        let begun = begun.expect(201).json();
        let text = |name: &str| begun[name].as_str().unwrap().to_owned();
        (text("pairing_id"), text("code"))
    };
    let pick_up = async |onyx: &OnyxProcess, id: &str| {
        Reply::of(stranger().get(onyx.url(&format!("/api/auth/pair/{id}")))).await
    };
    let (id, code) = begin(&one).await;
    assert_eq!(pick_up(&two, &id).await.expect(200).json()["status"], "pending");
    let waiting = two.get("/api/admin/pairings").await.expect(200).json();
    assert_eq!(waiting["pairings"][0]["code"], code.as_str(), "{waiting}");
    // Two decisions at the same moment: only one of them counts.
    let (approve, reject) = (json!({"code": code}), json!({"code": code}));
    let (yes, no) = tokio::join!(
        two.post("/api/admin/pairings/approve", &approve),
        one.post("/api/admin/pairings/reject", &reject),
    );
    let mut decided = [yes.status, no.status];
    decided.sort_unstable();
    assert_eq!(decided, [204, 404], "{} {}", yes.text(), no.text());
    let (id, code) = begin(&two).await;
    let approved = one.post("/api/admin/pairings/approve", &json!({"code": code})).await;
    let _ = approved.expect(204);
    let tries = (0..8).map(|n| pick_up(if n % 2 == 0 { &one } else { &two }, &id));
    let answers = join_all(tries).await;
    let mut given: Vec<Reply> = Vec::new();
    for answer in answers {
        match answer.status {
            200 => given.push(answer),
            status => assert_eq!(status, 404, "{}", answer.text()),
        }
    }
    assert_eq!(given.len(), 1, "one of them gets the token");
    let token = given[0].json()["token"].as_str().unwrap().to_owned();
    for onyx in [&one, &two] {
        let me = stranger().get(onyx.url("/api/auth/me")).bearer_auth(&token);
        let _ = Reply::of(me).await.expect(200);
    }
}

/// The table of credentials is locked, so whoever reads it waits.
#[tokio::test]
async fn unknown_tokens_do_not_make_a_gateway_read_the_credentials_again() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let one = start(&place, "one", &model).await;
    let with_token = async || {
        let request = stranger().get(one.url("/v1/sessions")).bearer_auth("onyx_sk_wrong");
        Reply::of(request.timeout(SOON)).await.status
    };
    let with_refresh_token = async || {
        let request = stranger().post(one.url("/api/auth/refresh"));
        let request = request.json(&json!({"refresh_token": "onyx_rt_wrong"}));
        Reply::of(request.timeout(SOON)).await.status
    };
    // What changed while the gateway started is read with the first one.
    assert_eq!(with_token().await, 401);
    let mut sql = place.sql().await;
    let locked = sql.transaction().await.unwrap();
    locked.batch_execute("LOCK TABLE credentials IN ACCESS EXCLUSIVE MODE").await.unwrap();
    for _ in 0..2 {
        assert_eq!((with_token().await, with_refresh_token().await), (401, 401));
    }
    locked.rollback().await.unwrap();
}

#[tokio::test]
async fn guesses_at_two_gateways_count_together() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    for name in ["anna", "bert"] {
        let _ = one.post("/api/admin/people", &json!({"id": name})).await.expect(201);
        set_password(&one, name).await;
    }
    wait_for("the password to be good at the other", SOON, async || {
        (log_in(&two, 1, "bert", DEFAULT_PASSWORD).await.status == 200).then_some(())
    })
    .await;
    // The guesses are sent at the same time, so that none is forgiven meanwhile.
    let (stranger, body) = (stranger_at(1), json!({"person": "anna", "password": "wrong"}));
    let guesses = (0..40).map(|n| {
        let onyx = if n % 2 == 0 { &one } else { &two };
        Reply::of(stranger.post(onyx.url("/api/auth/login")).json(&body))
    });
    let answers = join_all(guesses).await;
    let looked_at = answers.iter().filter(|answer| answer.status == 401).count();
    assert!((10..=14).contains(&looked_at), "{looked_at} of 40 guesses were looked at");
    for onyx in [&one, &two] {
        // One guess is forgiven every few seconds. That may be right before the password is sent.
        wait_for("the right password to be refused too", SOON, async || {
            let wrong = log_in(onyx, 1, "anna", "wrong").await.status;
            let right = log_in(onyx, 1, "anna", DEFAULT_PASSWORD).await.status;
            ((wrong, right) == (429, 429)).then_some(())
        })
        .await;
        assert_eq!(log_in(onyx, 1, "bert", DEFAULT_PASSWORD).await.status, 200);
    }
}

#[tokio::test]
async fn a_password_that_is_changed_at_one_opens_nothing_at_the_other_within_a_second() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let _ = one.post("/api/admin/people", &json!({"id": "anna"})).await.expect(201);
    set_password(&one, "anna").await;
    let (mut password, mut took) = (DEFAULT_PASSWORD.to_owned(), Vec::new());
    for number in 0..TIMED {
        let signed_in = wait_for("the password to be good at the other", SOON, async || {
            let answer = log_in(&two, 1, "anna", &password).await;
            (answer.status == 200).then_some(answer)
        })
        .await;
        let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let page_key = signed_in.json()["page_key"].as_str().unwrap().to_owned();
        let me = async || {
            let request = stranger().get(two.url("/api/auth/me"));
            let request = request.header("cookie", &cookie).header("x-onyx-page-key", &page_key);
            Reply::of(request).await.status
        };
        assert_eq!(me().await, 200);
        password = format!("another long password {number}");
        let request = one.request(Method::PUT, "/api/admin/people/anna/password");
        let _ = Reply::of(request.json(&json!({"password": password}))).await.expect(204);
        let changed = Instant::now();
        wait_for("the browser to be signed out", SOON, async || (me().await == 401).then_some(()))
            .await;
        took.push(changed.elapsed());
    }
    assert_followed(took);
    assert_eq!(log_in(&two, 1, "anna", DEFAULT_PASSWORD).await.status, 401);
    assert_eq!(log_in(&two, 1, "anna", &password).await.status, 200);
}
