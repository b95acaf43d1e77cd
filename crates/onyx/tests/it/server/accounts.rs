//! An account of a network that is polled, asked for at a gateway that does not serve it.

use onyx_test_support::networks::{FakeTelegram, TELEGRAM_TOKEN};
use onyx_test_support::{OnyxProcess, Reply, ScriptedModel, ServerPlace, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use super::{gateway, place};
use crate::SOON;
use crate::jobs::run_now;

const ACCOUNT: &str = "/api/admin/connectors/telegram/main";

/// Two gateways and the one account that they share, with the gateway that serves it.
struct Shared {
    telegram: FakeTelegram,
    gateways: [OnyxProcess; 2],
    server: usize,
    _place: ServerPlace,
}

async fn shared(model: &ScriptedModel) -> Shared {
    let (place, telegram) = (place().await, FakeTelegram::start().await);
    let account = json!({"token": TELEGRAM_TOKEN, "apiBase": telegram.url(), "allow": [7]});
    let config = json!({"connectors": {"telegram": {"accounts": {"main": account}}}});
    let start = async |id: &str| gateway(&place, id, model).merge(config.clone()).start().await;
    let (one, two) = tokio::join!(start("one"), start("two"));
    let server = wait_for("a gateway to serve the account", SOON, async || {
        let list = one.get("/api/admin/gateways").await.expect(200).json();
        let gateways = list["gateways"].as_array().unwrap().iter();
        let mut serving = gateways.filter(|gateway| gateway["connectors"][0] == "telegram/main");
        serving.next().map(|gateway| usize::from(gateway["id"] == "two"))
    })
    .await;
    Shared { telegram, gateways: [one, two], server, _place: place }
}

impl Shared {
    fn serving(&self) -> (&OnyxProcess, &str) {
        (&self.gateways[self.server], ["one", "two"][self.server])
    }

    fn other(&self) -> &OnyxProcess {
        &self.gateways[1 - self.server]
    }
}

async fn account(onyx: &OnyxProcess) -> Value {
    let list = onyx.get("/api/admin/connectors").await.expect(200).json();
    list["accounts"][0].clone()
}

/// Waits until the account is listed at a gateway in this state.
async fn listed(onyx: &OnyxProcess, state: &str) -> Value {
    wait_for(&format!("the account to be {state}"), SOON, async || {
        Some(account(onyx).await).filter(|account| account["state"] == state)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_gateway_shows_and_edits_an_account_and_names_the_one_that_serves_it() {
    let model = ScriptedModel::start().await;
    let shared = shared(&model).await;
    let ((serving, name), other) = (shared.serving(), shared.other());
    assert_eq!(listed(serving, "listening").await["gateway"], Value::Null);
    assert_eq!(listed(other, "elsewhere").await["gateway"], name);
    let _ = other.get(ACCOUNT).await.expect(200);
    let url = shared.telegram.url();
    let settings = json!({"token": TELEGRAM_TOKEN, "apiBase": url, "allow": [7, 8]});
    let put = other.request(Method::PUT, ACCOUNT).json(&json!({"settings": settings}));
    let edited = Reply::of(put).await.expect(200).json();
    assert_eq!(edited["state"], "elsewhere", "{edited}");
    assert_eq!(edited["settings"]["allow"], json!([7, 8]), "{edited}");
    let refused = other.post(&format!("{ACCOUNT}/test"), &json!({})).await.expect(400).json();
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("runs at the gateway {name}")), "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("Test it there"), "{refused}");
    let _ = serving.post(&format!("{ACCOUNT}/test"), &json!({})).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_gateway_lists_the_accounts_with_the_gateway_that_serves_them_now() {
    let model = ScriptedModel::start().await;
    let shared = shared(&model).await;
    let ((drained, name), other) = (shared.serving(), shared.other());
    listed(drained, "listening").await;
    let drain = format!("/api/admin/gateways/{name}/drain");
    let _ = other.post(&drain, &json!({})).await.expect(204);
    listed(other, "listening").await;
    let other_name = ["one", "two"][1 - shared.server];
    wait_for("the drained one to name the other", SOON, async || {
        let account = account(drained).await;
        (account["state"] == "elsewhere" && account["gateway"] == other_name).then_some(())
    })
    .await;
    shared.telegram.say(7, "Are you there?");
    wait_for("an answer", SOON * 3, async || {
        (shared.telegram.messages(7).len() == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_are_approved_and_jobs_write_to_them_through_any_gateway() {
    let model = ScriptedModel::start().await;
    model.set_default("It rains in Ribe.");
    let shared = shared(&model).await;
    let (telegram, other) = (&shared.telegram, shared.other());
    listed(shared.serving().0, "listening").await;
    let peers = async || {
        let list = other.get(&format!("{ACCOUNT}/peers")).await.expect(200).json();
        list["peers"].as_array().unwrap().clone()
    };
    for stranger in [42, 43] {
        telegram.say(stranger, "hello");
    }
    let waiting = wait_for("both to get a code", SOON, async || {
        Some(peers().await).filter(|peers| peers.len() == 2)
    })
    .await;
    let code = waiting.iter().find(|peer| peer["id"] == "42").unwrap()["code"].clone();
    let _ = other.post("/api/admin/connectors/pair", &json!({"code": code})).await.expect(200);
    let _ = other.post(&format!("{ACCOUNT}/peers/43/approve"), &json!({})).await.expect(200);
    for peer in [42, 43] {
        wait_for("the peer to be told", SOON * 3, async || {
            telegram.texts(peer).iter().any(|text| text.contains("You are paired")).then_some(())
        })
        .await;
    }
    let deliver = json!({"connector": "telegram/main/42"});
    let job = json!({"id": "weather", "every": "1h", "prompt": "Look.", "deliver": deliver});
    let _ = other.post("/api/jobs", &job).await.expect(201);
    for times in 1..=3 {
        // Either gateway may fire the job and deliver its result.
        let run = run_now(other, "weather").await;
        assert_eq!(run["delivery"], "delivered", "{run}");
        wait_for("the result to arrive", SOON * 3, async || {
            let texts = telegram.texts(42);
            let told = texts.iter().filter(|text| text.contains("It rains in Ribe.")).count();
            (told >= times).then_some(())
        })
        .await;
    }
    let told = telegram.texts(42);
    assert_eq!(
        told.iter().filter(|text| text.contains("It rains in Ribe.")).count(),
        3,
        "{told:?}"
    );
}
