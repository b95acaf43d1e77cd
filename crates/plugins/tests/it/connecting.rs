use onyx_connectors::{Account, Batch, NetworkError, Outgoing, OutgoingKind, RenderedMessage};
use onyx_plugins::PluginStatus;
use serde_json::json;

use super::house::House;

fn connector(account: &Account) -> std::sync::Arc<dyn onyx_connectors::Connector> {
    account.provided.as_ref().unwrap().connector()
}

async fn pipe(mode: &str) -> (House, Account) {
    let house = House::new().await;
    let part = json!({"command": ["python3", "plugin.py"], "connectors": [{"name": "pipe"}]});
    house.enable("my.pipe", part, json!({"mode": mode})).await;
    let account = house.plugins.accounts().remove(0);
    assert_eq!(account.key.to_string(), "pipe/my-pipe");
    (house, account)
}

#[tokio::test]
async fn what_a_plugin_brings_is_acknowledged_when_it_is_stored_and_not_before() {
    let (house, account) = pipe("bring").await;
    let connector = connector(&account);
    let texts = |batch: &Batch| -> Vec<String> {
        batch.updates.iter().map(|update| update.incoming.text.clone()).collect()
    };
    let mut batch = connector.receive(None).await.unwrap();
    assert_eq!(texts(&batch)[0], "text 1");
    // The batch was not stored, so it is delivered again, and the plugin has got no
    // acknowledgement.
    let again = connector.receive(None).await.unwrap();
    assert_eq!(again, batch);
    let log = house.plugins.get("my.pipe").await.unwrap().log;
    assert!(!log.iter().any(|line| line.contains(r#""ok": true"#)), "{log:?}");
    // The cursor says that the batch is stored.
    let mut seen = texts(&batch);
    while !seen.contains(&"text 2".to_owned()) {
        batch = connector.receive(batch.cursor.as_deref()).await.unwrap();
        seen.extend(texts(&batch));
    }
    // The messages may arrive one by one, so they are received as long as the test waits.
    let receive = tokio::spawn(async move {
        while let Ok(next) = connector.receive(batch.cursor.as_deref()).await {
            batch = next;
        }
    });
    house.wait_for_log("my.pipe", r#""id": "m1", "jsonrpc": "2.0", "result": {"ok": true}"#).await;
    house.wait_for_log("my.pipe", r#""id": "m2", "jsonrpc": "2.0", "result": {"ok": true}"#).await;
    // An invalid message is answered with an error and not delivered.
    let log = house.wait_for_log("my.pipe", r#""id": "m3""#).await;
    let refused = log.iter().find(|line| line.contains(r#""id": "m3""#)).unwrap();
    assert!(
        refused.contains("missing field `id`") && refused.contains(r#""ok": false"#),
        "{refused}"
    );
    receive.abort();
}

#[tokio::test]
async fn answers_go_out_by_their_key_and_a_plugin_that_is_down_says_so() {
    let (house, account) = pipe("plain").await;
    let connector = connector(&account);
    let message = Outgoing {
        peer: "p".to_owned(),
        thread: String::new(),
        key: "k1".to_owned(),
        what: OutgoingKind::Text { text: RenderedMessage::literal("hello"), buttons: Vec::new() },
    };
    assert_eq!(connector.send(&message).await.unwrap(), "sent-k1");
    house.wait_for_log("my.pipe", "sends k1 hello").await;
    // With the same settings the connector stays the same and is not started again.
    house.follow(&[("my.pipe", json!({"mode": "plain"}))]).await;
    assert!(house.plugins.accounts().remove(0) == account);
    house.follow(&[("my.pipe", json!({"mode": "crash at start"}))]).await;
    house.wait_for_status("my.pipe", |status| matches!(status, PluginStatus::Parked(_))).await;
    let now = house.plugins.accounts().remove(0);
    assert!(now != account);
    let connector = super::connecting::connector(&now);
    assert!(matches!(connector.send(&message).await, Err(NetworkError::Unreachable(_))));
    assert!(matches!(connector.receive(None).await, Err(NetworkError::Unreachable(_))));
}
