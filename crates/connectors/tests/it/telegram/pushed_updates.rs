use onyx_connectors::PushedRequest;
use onyx_test_support::networks::FakeTelegram;
use onyx_test_support::wait_for;
use onyx_types::ErrorCode;
use serde_json::json;

use crate::agent::TestAgent;
use crate::process::{Process, SOON, account, resolved_telegram};

const SECRET: &str = "a_secret_of_the_door";

#[tokio::test(flavor = "multi_thread")]
async fn telegram_brings_updates_to_the_door_and_nobody_else_does() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let door = json!({"allow": [7], "mode": "webhook", "secret": SECRET});
    let process =
        Process::start(home.path(), &agent, resolved_telegram(&fake, door, json!([]))).await;
    let asked = wait_for("the door to be told", SOON, async || fake.webhook()).await;
    assert_eq!(asked["url"], "https://onyx.example/connectors/telegram/main");
    assert_eq!(asked["secret_token"], SECRET);
    let update = json!({"update_id": 5, "message": {"message_id": 9, "text": "hello",
        "from": {"id": 7, "first_name": "Anna"}, "chat": {"id": 7, "type": "private", "first_name": "Anna"}}});
    let brought = |secret: &str| PushedRequest {
        headers: vec![("x-telegram-bot-api-secret-token".to_owned(), secret.to_owned())],
        body: update.to_string().into_bytes(),
    };
    let fault = process.connectors.accept(&account(), &brought("guessed")).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::Unauthenticated);
    // Telegram pushes an update again if the answer to it was lost.
    for _ in 0..3 {
        process.connectors.accept(&account(), &brought(SECRET)).await.unwrap();
    }
    wait_for("the answer", SOON, async || (fake.texts(7) == ["You said: hello"]).then_some(()))
        .await;
    assert_eq!(agent.asked(), ["hello"]);
    assert_eq!(fake.polls(), 0);
}
