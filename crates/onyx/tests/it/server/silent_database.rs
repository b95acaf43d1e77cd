//! The machine of the database vanishes without closing its connections: nothing is answered on those
//! that are open, and new ones lead to the machine that took over.

use std::time::{Duration, Instant};

use onyx_test_support::{FaultProxy, OnyxProcess, ScriptedModel, ServerPlace, wait_for};
use serde_json::json;

use super::{gateway, place, start};
use crate::stranger;

/// How soon a gateway must follow the others again: after the time limit of one poll.
const FOLLOWED_AGAIN: Duration = Duration::from_secs(8);

/// A gateway that reaches the database through a proxy.
async fn behind(place: &ServerPlace, id: &str, model: &ScriptedModel) -> (FaultProxy, OnyxProcess) {
    let url = place.storage()["database"].as_str().unwrap().to_owned();
    let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    let proxy = FaultProxy::before(server.parse().unwrap()).await;
    let database = url.replace(server, &proxy.address.to_string());
    let settings = json!({"storage": {"database": database}});
    let onyx = gateway(place, id, model).merge(settings).start().await;
    (proxy, onyx)
}

#[tokio::test]
async fn a_token_that_is_revoked_while_the_connections_are_silent_is_refused_soon_after() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let one = start(&place, "one", &model).await;
    let (proxy, two) = behind(&place, "two", &model).await;
    let new = json!({"name": "program", "scopes": ["read"]});
    let made = one.post("/api/admin/tokens", &new).await;
    assert!(made.status < 300, "{}", made.text());
    let made = made.json();
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    // Without an answer the request waits for the database.
    let status = async || {
        let request = stranger().get(two.url("/v1/sessions")).bearer_auth(token);
        let sent = request.timeout(Duration::from_secs(1)).send().await;
        sent.ok().map(|answer| answer.status().as_u16())
    };
    wait_for("the token to be known", FOLLOWED_AGAIN, async || {
        (status().await == Some(200)).then_some(())
    })
    .await;
    proxy.silence();
    let gone = one.delete(&format!("/api/admin/tokens/{id}")).await;
    assert!(gone.status < 300, "{}", gone.text());
    let revoked = Instant::now();
    wait_for("the token to be refused", FOLLOWED_AGAIN, async || {
        (status().await == Some(401)).then_some(())
    })
    .await;
    assert!(revoked.elapsed() < FOLLOWED_AGAIN, "{:?}", revoked.elapsed());
}
