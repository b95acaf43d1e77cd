//! Sign-ins at providers and MCP servers with two gateways: one gateway renews for all, any gateway
//! can finish a sign-in, and its end applies everywhere.

use std::time::Duration;

use futures::future::join_all;
use onyx_test_support::{
    AuthorizationServer, Decision, Grant, MASTER_KEY, OnyxProcess, ScriptedModel, ServerPlace,
    wait_for,
};
use serde_json::{Value, json};

use super::{place, start};
use crate::login::tokens::take_only;
use crate::login::{LOGIN, begin, ended, sign_in, sign_out, state, with_login};
use crate::mcp::signing_in::agree;
use crate::mcp::{accept_all, add, called, obedient, output};
use crate::{SOON, builder, said};

/// The MCP server that both gateways use.
const OTHER: &str = "/api/admin/mcp/other";

/// Two gateways with the same provider to sign in at.
async fn two(model: &ScriptedModel, login: &Value) -> (ServerPlace, OnyxProcess, OnyxProcess) {
    let place = place().await;
    let gateway = |id: &str| {
        with_login(model, login).merge(place.config(id)).env("ONYX_MASTER_KEY", MASTER_KEY)
    };
    let (one, two) = tokio::join!(gateway("one").start(), gateway("two").start());
    (place, one, two)
}

async fn until(onyx: &OnyxProcess, wanted: &str) -> Value {
    wait_for(&format!("the sign-in to be {wanted}"), SOON, async || {
        let state = state(onyx).await;
        (state["state"] == wanted).then_some(state)
    })
    .await
}

async fn chat(onyx: &OnyxProcess) -> String {
    said(&onyx.chat_stream(&json!({"message": "hi"})).await)
}

#[tokio::test]
async fn twenty_chats_at_two_gateways_wait_for_one_renewal() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    server.revoke_on_reuse();
    // The token has no known end, so only a refusal shows that it has expired.
    server.set_grant(Grant { seconds: None, refreshes: true });
    let (_place, one, two) = two(&model, &server.settings()).await;
    sign_in(&one, &server).await;
    until(&two, "signed_in").await;
    server.delay_refreshes(Duration::from_millis(500));
    for round in 1..=3 {
        let old = format!("access-{round}-");
        take_only(&model, &server.access_token().replace(&old, &format!("access-{}-", round + 1)));
        let chats = (0..20).map(|n| chat(if n % 2 == 0 { &one } else { &two }));
        assert_eq!(join_all(chats).await, ["ok"; 20], "round {round}");
        assert_eq!(server.refreshes(), round, "round {round}");
    }
    for onyx in [&one, &two] {
        assert_eq!(state(onyx).await["state"], "signed_in");
    }
}

/// The database is away at the first two tries to release a sign-in after its renewal.
const AWAY_WHEN_RELEASED: &str = "CREATE SEQUENCE tries;
    CREATE FUNCTION away() RETURNS TRIGGER LANGUAGE plpgsql AS $away$
        BEGIN
            IF starts_with(OLD.name, 'sign-in ') THEN
                IF nextval('tries') <= 2 THEN
                    RAISE EXCEPTION 'away' USING ERRCODE = '57P03';
                END IF;
            END IF;
            RETURN OLD;
        END $away$;
    CREATE TRIGGER away BEFORE DELETE ON owners FOR EACH ROW EXECUTE FUNCTION away()";

#[tokio::test]
async fn a_sign_in_that_cannot_be_released_at_once_can_be_renewed_by_the_other_soon() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    server.revoke_on_reuse();
    server.set_grant(Grant { seconds: None, refreshes: true });
    let (place, one, two) = two(&model, &server.settings()).await;
    sign_in(&one, &server).await;
    until(&two, "signed_in").await;
    place.sql().await.batch_execute(AWAY_WHEN_RELEASED).await.unwrap();
    for (round, onyx) in [(1, &one), (2, &two)] {
        let old = format!("access-{round}-");
        take_only(&model, &server.access_token().replace(&old, &format!("access-{}-", round + 1)));
        assert_eq!(chat(onyx).await, "ok", "round {round}");
        // The model refuses the other gateway's old token; the gateway then uses the renewed one.
        for onyx in [&one, &two] {
            assert_eq!(chat(onyx).await, "ok", "round {round}");
        }
        assert_eq!(server.refreshes(), round, "round {round}");
    }
}

#[tokio::test]
async fn a_sign_in_with_a_code_is_shown_at_both_and_taken_over_from_a_gateway_that_dies() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let (_place, mut one, two) = two(&model, &server.settings()).await;
    let begun = begin(&one).await;
    let shown = until(&two, "waiting").await;
    assert_eq!(shown["user_code"], begun["user_code"], "{shown}");
    // Beginning the sign-in again at the other gateway gives the same code.
    assert_eq!(begin(&two).await["user_code"], begun["user_code"]);
    assert_eq!(server.codes(), 1);
    one.kill().await;
    server.decide(Decision::Approve);
    let signed_in = wait_for("the other to finish it", Duration::from_secs(30), async || {
        let state = state(&two).await;
        (state["state"] == "signed_in").then_some(state)
    })
    .await;
    assert_eq!(signed_in["account"], "octocat");
    assert_eq!(chat(&two).await, "ok");
}

#[tokio::test]
async fn a_browser_that_was_sent_by_one_comes_back_to_the_other_once() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let (_place, one, two) = two(&model, &server.settings_for_browser()).await;
    let begun = one.post(&format!("{LOGIN}?way=browser"), &json!({})).await.expect(201).json();
    let back = server.agree(begun["verification_uri"].as_str().unwrap());
    until(&two, "waiting").await;
    let paste = async |onyx: &OnyxProcess, address: &str| {
        onyx.post(&format!("{LOGIN}/callback"), &json!({"address": address})).await
    };
    let stray = paste(&two, &back.replace("state=", "state=x")).await;
    let _ = stray.expect(400);
    // Both gateways get the address at once, and one of them redeems it.
    let (left, right) = tokio::join!(paste(&one, &back), paste(&two, &back));
    assert!(left.status == 200 || right.status == 200, "{} {}", left.text(), right.text());
    for onyx in [&one, &two] {
        assert_eq!(until(onyx, "signed_in").await["account"], "octocat");
        assert_eq!(chat(onyx).await, "ok");
    }
    let redeemed = server.requests().iter().filter(|it| it.contains("authorization_code")).count();
    assert_eq!(redeemed, 1);
    sign_out(&two).await;
    until(&one, "none").await;
}

#[tokio::test]
async fn a_sign_in_that_is_refused_for_good_is_so_at_both() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    server.set_grant(Grant { seconds: Some(0), refreshes: true });
    let (_place, one, two) = two(&model, &server.settings()).await;
    sign_in(&one, &server).await;
    until(&two, "signed_in").await;
    server.refuse_refreshes("bad_refresh_token");
    let _ = one.chat_stream(&json!({"message": "hi"})).await;
    for onyx in [&one, &two] {
        assert_eq!(until(onyx, "sign_in_again").await["account"], "octocat");
    }
    let _ = two.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(server.refreshes(), 1, "nobody asks with a token that was refused for good");
    server.set_grant(Grant { seconds: Some(3600), refreshes: true });
    server.decide(Decision::Refuse("access_denied"));
    begin(&two).await;
    let failed = ended(&two).await;
    assert_eq!(failed["state"], "failed", "{failed}");
    assert_eq!(until(&one, "failed").await["error"], failed["error"]);
}

/// A free port below those that the system gives to whoever asks for any, so that nobody gets it
/// before the server listens or while it restarts.
fn lasting_port() -> u16 {
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..32_000).find(is_free).expect("a free port")
}

#[tokio::test]
async fn a_sign_in_at_an_mcp_server_is_begun_at_one_finished_at_the_other_and_renewed_by_one() {
    let (theirs, ours) = (obedient().await, obedient().await);
    // The server comes back at the same address after a restart.
    let server = builder(&theirs).merge(json!({"gateway": {"port": lasting_port()}}));
    let mut server = server.file("people/owner/vault/a.md", "their note\n").start().await;
    let place = place().await;
    let (one, two) = tokio::join!(start(&place, "one", &ours), start(&place, "two", &ours));
    let url = server.client().url("/mcp");
    add(&one, "other", json!({"url": url, "effects": {"read_file": "read"}})).await;
    wait_for("the other gateway to know the server", SOON, async || {
        (two.get(OTHER).await.status == 200).then_some(())
    })
    .await;
    let login = json!({"redirect_uri": "http://127.0.0.1:9/cb"});
    let begun = one.post("/api/admin/mcp/other/login", &login).await.expect(200).json();
    let back = agree(&server, begun["address"].as_str().unwrap()).await;
    let fields = onyx_mcp::oauth::pairs(back.split_once('?').unwrap().1);
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).unwrap().1.clone();
    let brought = json!({"state": field("state"), "code": field("code"), "iss": field("iss")});
    let finish = async |onyx: &OnyxProcess| {
        onyx.post("/api/admin/mcp/other/login/finish", &brought).await.status
    };
    let mut both = <[u16; 2]>::from(tokio::join!(finish(&two), finish(&one)));
    both.sort_unstable();
    assert_eq!(both, [200, 400], "one of them finishes it");
    wait_for("both to know of it", SOON, async || {
        let (left, right) = tokio::join!(one.get(OTHER), two.get(OTHER));
        (left.json()["signed_in"] == true && right.json()["signed_in"] == true).then_some(())
    })
    .await;
    accept_all(&one, "other").await;
    let read = async |onyx: &OnyxProcess| {
        let call = json!({"name": "mcp:other/read_file", "arguments": {"path": "a.md"}});
        output(&called(onyx, "call_tool", call).await.0).to_owned()
    };
    wait_for("both to use it", SOON, async || {
        let all = join_all([read(&one), read(&two)]).await;
        (all == ["their note\n", "their note\n"]).then_some(())
    })
    .await;
    for _ in 0..2 {
        // Access tokens are valid until the server restarts. Two renewals with one token would end
        // the sign-in.
        server.terminate().await;
        server.restart().await;
        assert_eq!(server.client().url("/mcp"), url);
        wait_for("both to go on", SOON, async || {
            let all = join_all([read(&one), read(&two), read(&one), read(&two)]).await;
            all.iter().all(|it| it == "their note\n").then_some(())
        })
        .await;
    }
    let log = server.log();
    assert!(!log.contains("a refresh token was used twice"), "{log}");
}
