//! The machine of the database vanishes without closing its connections: nothing is answered on those
//! that are open, and new ones lead to the machine that took over.

use std::time::{Duration, Instant};

use onyx_test_support::{
    FaultProxy, OnyxBuilder, OnyxProcess, ScriptedModel, ServerPlace, wait_for,
};
use serde_json::json;

use super::{gateway, place, start};
use crate::{SOON, stranger};

/// How soon a gateway must follow the others again: after the time limit of one poll.
const FOLLOWED_AGAIN: Duration = Duration::from_secs(8);

/// How soon a gateway must say whether it is ready: a little more than its time limit for the
/// database.
const READY: Duration = Duration::from_secs(5);

/// Starts a gateway that reaches the database through a proxy.
pub(super) async fn behind(place: &ServerPlace, onyx: OnyxBuilder) -> (FaultProxy, OnyxProcess) {
    let url = place.storage()["database"].as_str().unwrap().to_owned();
    let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    let proxy = FaultProxy::before(server.parse().unwrap()).await;
    let database = url.replace(server, &proxy.address.to_string());
    let onyx = onyx.merge(json!({"storage": {"database": database}})).start().await;
    (proxy, onyx)
}

#[tokio::test]
async fn a_token_that_is_revoked_while_the_connections_are_silent_is_refused_soon_after() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let one = start(&place, "one", &model).await;
    let (proxy, two) = behind(&place, gateway(&place, "two", &model)).await;
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
    proxy.heal();
    let gone = one.delete(&format!("/api/admin/tokens/{id}")).await;
    assert!(gone.status < 300, "{}", gone.text());
    let revoked = Instant::now();
    wait_for("the token to be refused", FOLLOWED_AGAIN, async || {
        (status().await == Some(401)).then_some(())
    })
    .await;
    assert!(revoked.elapsed() < FOLLOWED_AGAIN, "{:?}", revoked.elapsed());
}

#[tokio::test]
async fn a_gateway_whose_database_is_silent_says_within_seconds_that_it_is_not_ready() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let (proxy, onyx) = behind(&place, gateway(&place, "one", &model)).await;
    proxy.silence();
    let refused = wait_for("it not to be ready", SOON, async || {
        let asked = Instant::now();
        let ready = onyx.get("/ready").await;
        assert!(asked.elapsed() < READY, "{:?}", asked.elapsed());
        (ready.status == 503).then_some(ready)
    })
    .await;
    let storage = refused.json()["dependencies"].as_array().unwrap().iter().find_map(|one| {
        (one["name"] == "storage").then(|| one["detail"].as_str().unwrap().to_owned())
    });
    assert!(storage.as_ref().unwrap().contains("the database"), "{storage:?}");
    proxy.heal();
    wait_for("it to be ready again", SOON, async || {
        (onyx.get("/ready").await.status == 200).then_some(())
    })
    .await;
}

/// Anybody may ask for `/ready`, and each write costs the database a sync of its disk.
#[tokio::test]
async fn whoever_asks_often_whether_a_gateway_is_ready_makes_it_write_once_a_second() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let onyx = start(&place, "one", &model).await;
    let count = "CREATE SEQUENCE beats;
        CREATE FUNCTION beats() RETURNS TRIGGER LANGUAGE plpgsql AS $beats$
            BEGIN
                PERFORM nextval('beats');
                RETURN NEW;
            END $beats$;
        CREATE TRIGGER beats BEFORE UPDATE ON gateways FOR EACH ROW EXECUTE FUNCTION beats()";
    let sql = place.sql().await;
    sql.batch_execute(count).await.unwrap();
    let began = Instant::now();
    for _ in 0..40 {
        let _ = onyx.get("/ready").await.expect(200);
    }
    let most = began.elapsed().as_secs() + 3;
    let beats: i64 = sql.query_one("SELECT last_value FROM beats", &[]).await.unwrap().get(0);
    assert!(u64::try_from(beats).unwrap() <= most, "{beats} writes, but at most {most} are needed");
}
