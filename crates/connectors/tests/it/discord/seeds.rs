//! Holds the same conversations as on Telegram, over a gateway that is cut, silenced, moved and
//! loses its sessions.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use onyx_test_support::networks::{FakeDiscord, Trouble};
use onyx_test_support::{Dice, wait_for};
use serde_json::json;

use super::{account, listening, resolved_discord};
use crate::agent::TestAgent;
use crate::process::{GAP, IMPATIENT, Process, SOON};
use crate::telegram::seeds::{answering_agent, answers, network_trouble, seeds};

const PEERS: [u64; 3] = [1, 2, 3];
const CHANNEL: u64 = 70;

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_answered_once_or_told_whatever_the_gateway_and_the_machine_do() {
    stream::iter(seeds()).for_each_concurrent(6, async |seed| drop(conversation(seed).await)).await;
}

fn trouble(seed: u64) -> Trouble {
    Trouble { cut: 9, silenced: 21, moved: 14, session_lost: 12, ..network_trouble(seed) }
}

/// Holds a conversation, and returns everything that people were shown in it.
pub(crate) async fn conversation(seed: u64) -> String {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeDiscord::start().await);
    let agent = answering_agent();
    let resolved = resolved_discord(&fake, json!({"allow": [1, 2, 3, CHANNEL]}));
    fake.set_gap(GAP - Duration::from_millis(3));
    let mut dice = Dice::new(seed + 1);
    let mut process = Process::start_at(home.path(), &agent, resolved.clone(), IMPATIENT).await;
    listening(&fake).await;
    // Everybody writes once in the beginning, because the private chats of people who never wrote
    // before a session was lost are unknown and cannot be asked.
    let mut all: Vec<(u64, String)> = Vec::new();
    for chat in PEERS {
        all.push((chat, write(&fake, seed, chat, 0)));
    }
    wait_for("the first answers", SOON, async || {
        PEERS.iter().all(|chat| answers(fake.texts(*chat)).len() == 1).then_some(())
    })
    .await;
    fake.set_trouble(trouble(seed));
    for round in 1..4 {
        for chat in PEERS.into_iter().chain([CHANNEL]) {
            all.push((chat, write(&fake, seed, chat, round)));
        }
        tokio::time::sleep(Duration::from_millis(dice.below(120) as u64)).await;
        if dice.below(3) == 0 {
            process.crash().await;
            process = Process::start_at(home.path(), &agent, resolved.clone(), IMPATIENT).await;
        }
    }
    // The network has no more trouble from here on, so everything has to be answered.
    fake.set_trouble(Trouble::default());
    wait_for(&format!("seed {seed}: everything to be heard"), SOON, async || {
        let asked = agent.asked();
        all.iter().all(|(_, text)| asked.iter().any(|said| said.contains(text))).then_some(())
    })
    .await;
    process.settled_when(&account(), || true).await;
    check(seed, &process, &fake, &agent, &all).await
}

fn write(fake: &FakeDiscord, seed: u64, chat: u64, round: u64) -> String {
    let text = format!("s{seed}p{chat}r{round}");
    if chat == CHANNEL {
        fake.say_in_channel(CHANNEL, 1, &format!("@bot {text}"));
    } else {
        fake.say(chat, &text);
    }
    text
}

async fn check(
    seed: u64,
    process: &Process,
    fake: &FakeDiscord,
    agent: &TestAgent,
    all: &[(u64, String)],
) -> String {
    let letters = process.connectors.dead_letters(&account()).await.unwrap();
    let asked = agent.asked();
    for (chat, text) in all {
        let times = asked.iter().filter(|words| words.ends_with(text.as_str())).count();
        assert_eq!(times, 1, "seed {seed}: {text} was asked {times} times; {letters:?}");
        let whole = format!("{text} END");
        let said = answers(fake.texts(*chat));
        let answers = said.iter().filter(|answer| answer.ends_with(&whole)).count();
        let told = letters.iter().filter(|letter| letter.text.contains(&whole)).count();
        assert!(answers <= 1, "seed {seed}: {text} was answered {answers} times");
        assert!(answers + told >= 1, "seed {seed}: {text} was lost");
    }
    for chat in PEERS {
        let order = answers(fake.texts(chat));
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(order, sorted, "seed {seed}: out of order");
    }
    assert_eq!(fake.violations(), Vec::<String>::new(), "seed {seed}");
    format!("{letters:?} {:?} {:?}", agent.told(), process.status().await)
}
