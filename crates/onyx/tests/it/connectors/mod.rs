//! Connectors through the real server, with a Telegram server of the test and a scripted model.

mod administration;
mod killed;
mod talk;
mod widget;

use onyx_test_support::networks::{FakeTelegram, TELEGRAM_TOKEN};
use onyx_test_support::{OnyxProcess, ScriptedModel, wait_for};
use serde_json::{Value, json};
use std::path::Path;
use tokio::io::AsyncWriteExt as _;

use crate::{Ran, SOON, builder, command};

/// A server with an account at this Telegram, where person 7 is allowed.
async fn connected(model: &ScriptedModel, telegram: &FakeTelegram) -> OnyxProcess {
    connected_as(model, telegram, "act").await
}

async fn connected_as(model: &ScriptedModel, telegram: &FakeTelegram, tier: &str) -> OnyxProcess {
    let account = json!({"token": TELEGRAM_TOKEN, "apiBase": telegram.url(), "allow": [7]});
    let agent = json!({"id": "main", "default": true, "model": "mine/some-model", "tier": tier});
    let config = json!({
        "connectors": {"telegram": {"accounts": {"main": account}}},
        "agents": {"list": [agent]},
    });
    builder(model).merge(config).start().await
}

/// The output of a command whose input comes through a pipe.
async fn run_with_input(home: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = command(home, arguments);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let ran: Ran = child.wait_with_output().await.unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out
}

async fn account(onyx: &OnyxProcess) -> Value {
    let all = onyx.get("/api/admin/connectors").await.expect(200).json();
    all["accounts"].as_array().unwrap().iter().find(|a| a["account"] == "main").unwrap().clone()
}

/// Waits until all updates are read and none waits to be answered or sent.
async fn settled(onyx: &OnyxProcess, telegram: &FakeTelegram) {
    wait_for("everything to be answered", SOON * 4, async || {
        // Acknowledged updates are stored, so the queues are checked after the updates were read.
        if !telegram.is_read() {
            return None;
        }
        let account = account(onyx).await;
        (account["incoming"] == 0 && account["outgoing"] == 0).then_some(())
    })
    .await;
}
