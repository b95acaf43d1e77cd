//! Holds conversations that follow from a seed, while the network misbehaves and the process ends
//! at random moments. Every message is answered exactly once, or reported as unknown, in order and
//! within the limits.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use onyx_test_support::Dice;
use onyx_test_support::networks::{FakeTelegram, Trouble};
use serde_json::json;

use crate::agent::{Reply, TestAgent};
use crate::process::{GAP, IMPATIENT, Process, account, resolved_telegram};

const PEERS: [i64; 3] = [11, 12, 13];

/// The seeds to try: fifty by default, and a thousand with `ONYX_ALL_SEEDS`. `ONYX_SEED` can name
/// one (`7`) or a range (`0-250`).
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let many = std::env::var("ONYX_ALL_SEEDS").is_ok();
    let Ok(named) = std::env::var("ONYX_SEED") else {
        return if many { 0..1_000 } else { 0..50 };
    };
    let number = |text: &str| text.parse::<u64>().expect("ONYX_SEED is a number or two with -");
    match named.split_once('-') {
        Some((first, end)) => number(first)..number(end),
        None => number(&named)..number(&named) + 1,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_answered_once_or_told_whatever_the_network_and_the_machine_do() {
    stream::iter(seeds()).for_each_concurrent(6, async |seed| drop(conversation(seed).await)).await;
}

/// The trouble that requests have on any network.
pub(crate) fn network_trouble(seed: u64) -> Trouble {
    Trouble {
        seed,
        lost_before: 17,
        lost_after: 19,
        late: 31,
        half_closed: 23,
        too_fast: 15,
        failed: 29,
        redelivers: 4,
        reorders: 4,
        lateness: Duration::from_millis(700),
        ..Trouble::default()
    }
}

/// An agent that answers each message with its text, and accepts further messages while it works.
pub(crate) fn answering_agent() -> Arc<TestAgent> {
    let agent = TestAgent::new(|request| Reply {
        pieces: vec!["answer to ".to_owned(), request.text.clone(), " END".to_owned()],
        between: Duration::from_millis(request.text.len() as u64 % 5 * 4),
        proposes: None,
    });
    agent.steer();
    agent
}

/// Holds a conversation, and returns everything that people were shown in it.
pub(crate) async fn conversation(seed: u64) -> String {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await);
    let agent = answering_agent();
    let resolved = resolved_telegram(&fake, json!({"allow": PEERS}), json!([]));
    fake.set_gap(GAP - Duration::from_millis(3));
    fake.set_trouble(network_trouble(seed));
    let mut dice = Dice::new(seed + 1);
    let mut process = Process::start_at(home.path(), &agent, resolved.clone(), IMPATIENT).await;
    let mut said = Vec::new();
    for round in 0..4 {
        for peer in PEERS {
            let text = format!("s{seed}p{peer}r{round}");
            fake.say(peer, &text);
            said.push((peer, text));
        }
        tokio::time::sleep(Duration::from_millis(dice.below(120) as u64)).await;
        if dice.below(3) == 0 {
            process.crash().await;
            process = Process::start_at(home.path(), &agent, resolved.clone(), IMPATIENT).await;
        }
    }
    // The network has no more trouble from here on, so everything has to be answered.
    fake.set_trouble(Trouble::default());
    process.settled(&fake).await;
    check(seed, &process, &fake, &agent, &said).await
}

/// The answers in finished messages, in order. One message holds several answers if others were
/// written while its run was at work.
pub(crate) fn answers(texts: Vec<String>) -> Vec<String> {
    let whole = texts.into_iter().filter(|text| text.ends_with("END"));
    whole.flat_map(|text| text.split("\n\n").map(str::to_owned).collect::<Vec<_>>()).collect()
}

async fn check(
    seed: u64,
    process: &Process,
    fake: &FakeTelegram,
    agent: &TestAgent,
    said: &[(i64, String)],
) -> String {
    let letters = process.connectors.dead_letters(&account()).await.unwrap();
    let asked = agent.asked();
    for (peer, text) in said {
        let times = asked.iter().filter(|words| *words == text).count();
        assert_eq!(times, 1, "seed {seed}: {text} was asked {times} times; {letters:?}");
        let whole = format!("answer to {text} END");
        let answers = answers(fake.texts(*peer)).into_iter().filter(|answer| *answer == whole);
        let answers = answers.count();
        let told = letters.iter().filter(|letter| letter.text.contains(&whole)).count();
        assert!(answers <= 1, "seed {seed}: {text} was answered {answers} times");
        assert!(answers + told >= 1, "seed {seed}: {text} was lost");
    }
    for peer in PEERS {
        let order = answers(fake.texts(peer));
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(order, sorted, "seed {seed}: out of order");
    }
    assert_eq!(fake.violations(), Vec::<String>::new(), "seed {seed}");
    format!("{letters:?} {:?} {:?}", agent.told(), process.status().await)
}
