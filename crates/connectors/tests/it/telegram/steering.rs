//! Tests that messages which come while a run works are handed to that run.

use std::sync::Arc;

use onyx_test_support::networks::FakeTelegram;
use onyx_test_support::wait_until;
use serde_json::json;

use crate::agent::{Reply, TestAgent};
use crate::process::{Process, SOON, resolved_telegram};

/// An agent that answers each message with its text, and works until the test releases it.
fn held() -> Arc<TestAgent> {
    let agent = TestAgent::new(|request| Reply::words(format!("[{}]", request.text)));
    agent.steer();
    agent.hold(true);
    agent
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_come_while_a_run_works_are_read_by_that_run() {
    let (home, fake, agent) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await, held());
    let resolved = resolved_telegram(&fake, json!({"allow": [7]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved).await;
    fake.say(7, "a long one");
    wait_until("the run", SOON, || agent.asked().len() == 1).await;
    fake.say(7, "shorter, please");
    fake.say(7, "and in French");
    // The messages are handed over while the first answer is still growing.
    wait_until("the words to be handed over", SOON, || agent.asked().len() == 3).await;
    // A command that changes the conversation waits for the end of the run.
    fake.say(7, "/new");
    agent.hold(false);
    process.settled(&fake).await;
    let texts = fake.texts(7);
    assert_eq!(texts.len(), 2, "one answer, and one to the command: {texts:?}");
    for words in ["[a long one]", "[shorter, please]", "[and in French]"] {
        assert_eq!(texts[0].matches(words).count(), 1, "{texts:?}");
    }
    assert!(texts[1].starts_with("Your next message"), "{texts:?}");
    assert_eq!(agent.run_count(), 1);
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn words_for_a_run_survive_a_crash_and_are_neither_lost_nor_doubled() {
    let (home, fake, agent) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await, held());
    let resolved = resolved_telegram(&fake, json!({"allow": [7]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved.clone()).await;
    fake.say(7, "a long one");
    wait_until("the run", SOON, || agent.asked().len() == 1).await;
    fake.say(7, "shorter, please");
    wait_until("the words to be handed over", SOON, || agent.asked().len() == 2).await;
    process.crash().await;
    agent.hold(false);
    let process = Process::start(home.path(), &agent, resolved).await;
    process.settled(&fake).await;
    assert_eq!(agent.asked(), ["a long one", "shorter, please"]);
    let whole: Vec<_> = fake.texts(7).into_iter().filter(|text| !text.ends_with('…')).collect();
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert!(whole[0].contains("[a long one]") && whole[0].contains("[shorter, please]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_each_message_waits_for_its_turn() {
    let (home, fake, agent) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await, held());
    let resolved = resolved_telegram(&fake, json!({"allow": [-50]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved).await;
    fake.say_in_group(-50, 1, "@onyx_test_bot a long one");
    wait_until("the run", SOON, || agent.asked().len() == 1).await;
    fake.say_in_group(-50, 2, "@onyx_test_bot something else");
    wait_until("both to be read", SOON, || fake.is_read()).await;
    agent.hold(false);
    process.settled(&fake).await;
    let texts = fake.texts(-50);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("[Person 1: a long one]"), "{texts:?}");
    assert!(texts[1].contains("[Person 2: something else]"), "{texts:?}");
    assert_eq!(agent.run_count(), 2);
}
