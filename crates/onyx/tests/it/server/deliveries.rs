//! Results of jobs that are delivered outside, while two gateways look for deliveries.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onyx_test_support::{OnyxProcess, ScriptedModel, ServerPlace, wait_for};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::{gateway, place};
use crate::SOON;
use crate::jobs::run_now;

/// Longer than the time after which another gateway looks for the deliveries of a dead one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server for webhooks that answers no request before it is allowed to.
struct SlowHook {
    address: String,
    keys: Arc<Mutex<Vec<String>>>,
    allowed: Arc<Semaphore>,
}

impl SlowHook {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (keys, allowed): (Arc<Mutex<Vec<String>>>, _) = (Arc::default(), Semaphore::new(0));
        let hook = Self { address, keys, allowed: Arc::new(allowed) };
        let (keys, allowed) = (Arc::clone(&hook.keys), Arc::clone(&hook.allowed));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&keys), Arc::clone(&allowed)));
            }
        });
        hook
    }

    /// The keys of the requests that came so far.
    fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }

    async fn until_asked(&self, times: usize) {
        wait_for("the webhook to be asked", PATIENCE, async || {
            (self.keys().len() >= times).then_some(())
        })
        .await;
    }

    /// Two gateways with a job for this webhook.
    async fn gateways(&self, place: &ServerPlace, model: &ScriptedModel) -> [OnyxProcess; 2] {
        let web = json!({"tools": {"web": {"allowPrivateHosts": [self.address]}}});
        let start = async |id: &str| gateway(place, id, model).merge(web.clone()).start().await;
        let (one, two) = tokio::join!(start("one"), start("two"));
        let url = format!("http://{}/in", self.address);
        let watch =
            json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": {"webhook": url}});
        let _ = one.post("/api/jobs", &watch).await.expect(201);
        [one, two]
    }
}

async fn answer(mut stream: TcpStream, keys: Arc<Mutex<Vec<String>>>, allowed: Arc<Semaphore>) {
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.contains("\r\n\r\n") {
        let read = stream.read(&mut buffer).await.unwrap();
        if read == 0 {
            return;
        }
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    let key = text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("idempotency-key").then(|| value.to_owned())
    });
    keys.lock().unwrap().push(key.expect("a key"));
    let _permit = allowed.acquire().await.unwrap();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    // The gateway may have been killed meanwhile.
    let _ = stream.write_all(answer).await;
}

/// The last time that the job fired, once its delivery is over.
async fn delivered(onyx: &OnyxProcess) -> Value {
    wait_for("the delivery to end", SOON * 3, async || {
        let page = onyx.get("/api/jobs/watch/runs").await.expect(200).json();
        Some(page["runs"][0].clone()).filter(|run| run["delivery"] != "pending")
    })
    .await
}

#[tokio::test]
async fn a_result_is_delivered_by_one_gateway_while_the_other_looks_for_deliveries_too() {
    let (place, model, hook) =
        (place().await, ScriptedModel::start().await, SlowHook::start().await);
    model.set_default("All quiet.");
    let [one, two] = hook.gateways(&place, &model).await;
    let other = json!({"id": "other", "every": "1h", "prompt": "Look elsewhere."});
    let _ = one.post("/api/jobs", &other).await.expect(201);
    let _ = one.post("/api/jobs/watch/run", &json!({})).await.expect(200);
    hook.until_asked(1).await;
    // A job that is asked for makes its gateway look for deliveries at once.
    for onyx in [&one, &two, &one, &two] {
        run_now(onyx, "other").await;
    }
    hook.allowed.add_permits(9);
    assert_eq!(delivered(&two).await["delivery"], "delivered");
    assert_eq!(hook.keys().len(), 1, "{:?}", hook.keys());
}

#[tokio::test]
async fn a_delivery_of_a_killed_gateway_is_taken_over_with_the_same_key() {
    let (place, model, hook) =
        (place().await, ScriptedModel::start().await, SlowHook::start().await);
    model.set_default("All quiet.");
    let [mut one, mut two] = hook.gateways(&place, &model).await;
    let _ = one.post("/api/jobs/watch/run", &json!({})).await.expect(200);
    hook.until_asked(1).await;
    let deliverer = "SELECT gateway FROM owners WHERE name LIKE 'delivery %'";
    let deliverer = place.sql().await.query_one(deliverer, &[]).await.unwrap();
    let (first, second) = match deliverer.get::<_, &str>(0) {
        "one" => (&mut one, &two),
        _ => (&mut two, &one),
    };
    first.kill().await;
    hook.until_asked(2).await;
    hook.allowed.add_permits(9);
    assert_eq!(delivered(second).await["delivery"], "delivered");
    let keys = hook.keys();
    assert_eq!(keys, [keys[0].clone(), keys[0].clone()]);
}
