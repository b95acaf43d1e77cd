//! Tests the Discord connector against a fake Discord server.

pub(crate) mod seeds;
mod session;
mod talk;

use onyx_connectors::ResolvedConnectors;
use onyx_storage::AccountKey;
use onyx_test_support::networks::{DISCORD_TOKEN, FakeDiscord};
use onyx_test_support::wait_for;
use serde_json::{Value, json};

use crate::process::{Process, SOON, resolved_account};

fn account() -> AccountKey {
    AccountKey { network: "discord".to_owned(), account: "main".to_owned() }
}

fn resolved_discord(fake: &FakeDiscord, more: Value) -> ResolvedConnectors {
    let account = json!({"token": DISCORD_TOKEN, "apiBase": fake.url()});
    resolved_account("discord", account, more, json!([]))
}

/// Waits until nothing is left to be answered or sent.
async fn settled(process: &Process) {
    process.settled_when(&account(), || true).await;
}

/// Waits for a text in a chat, and then until everything is settled.
async fn said(process: &Process, fake: &FakeDiscord, chat: u64, text: &str) {
    wait_for(&format!("{text:?}"), SOON, async || {
        fake.texts(chat).iter().any(|said| said == text).then_some(())
    })
    .await;
    settled(process).await;
}

/// Waits for the first session, because messages that were sent before it are never delivered, as
/// on Discord.
async fn listening(fake: &FakeDiscord) {
    wait_for("the session", SOON, async || (fake.sessions().0 > 0).then_some(())).await;
}
