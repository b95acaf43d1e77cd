use std::time::Duration;

use onyx_test_support::networks::{FakeTelegram, Trouble};
use onyx_test_support::wait_until;
use serde_json::json;

use crate::agent::{Reply, TestAgent};
use crate::process::{Process, SOON, account, resolved_telegram};

fn slow(pieces: usize) -> std::sync::Arc<TestAgent> {
    TestAgent::new(move |_| Reply {
        pieces: (0..pieces).map(|piece| format!("piece {piece}. ")).collect(),
        between: Duration::from_millis(150),
        proposes: None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_grows_by_edits_and_ends_as_the_whole_answer() {
    let (home, fake, agent) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await, slow(20));
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1]}), json!([])),
    )
    .await;
    fake.set_gap(crate::process::GAP);
    fake.say(1, "tell me");
    wait_until("it to grow", SOON, || fake.messages(1).first().is_some_and(|m| m.edits >= 2)).await;
    assert!(fake.texts(1)[0].ends_with('…'));
    process.settled(&fake).await;
    let all = fake.messages(1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(
        all[0].text.starts_with("piece 0.") && all[0].text.ends_with("piece 19."),
        "{}",
        all[0].text
    );
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_comes_as_a_new_message_when_edits_are_refused() {
    let (home, fake, agent) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await, slow(12));
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1]}), json!([])),
    )
    .await;
    fake.say(1, "tell me");
    wait_until("it to begin", SOON, || !fake.messages(1).is_empty()).await;
    fake.refuse_edits();
    process.settled(&fake).await;
    let texts = fake.texts(1);
    assert!(texts.last().unwrap().ends_with("piece 11."), "{texts:?}");
    assert_eq!(texts.iter().filter(|text| text.ends_with("piece 11.")).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_without_an_answer_is_told_as_unknown_and_sent_again_only_when_asked() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1]}), json!([])),
    )
    .await;
    // The bot learns its own name before the trouble begins.
    fake.say(1, "first");
    process.settled(&fake).await;
    fake.set_trouble(Trouble { seed: 1, lost_after: 1, only_writes: true, ..Trouble::default() });
    fake.say(1, "second");
    let key = account();
    onyx_test_support::wait_for("the unknown send", SOON, async || {
        let figures = process.store.connectors.figures(&key).await.unwrap();
        (figures.dead == 1).then_some(())
    })
    .await;
    fake.set_trouble(Trouble::default());
    let letters = process.connectors.dead_letters(&key).await.unwrap();
    assert!(letters[0].is_unknown);
    assert_eq!(letters[0].text, "You said: second");
    assert_eq!(fake.texts(1), ["You said: first", "You said: second"]);
    assert!(agent.told().iter().any(|text| text.contains("It is not known")), "{:?}", agent.told());
    process.connectors.retry_letter(&key, letters[0].kind, letters[0].id).await.unwrap();
    process.settled(&fake).await;
    assert_eq!(fake.texts(1).len(), 3);
    assert_eq!(process.connectors.dead_letters(&key).await.unwrap(), []);
    assert_eq!(agent.asked(), ["first", "second"]);
}
