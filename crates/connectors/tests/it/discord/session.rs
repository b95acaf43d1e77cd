use std::time::Duration;

use onyx_connectors::{AccountState, WaitTimes};
use onyx_test_support::networks::{FakeDiscord, Trouble};
use onyx_test_support::{wait_for, wait_until};
use serde_json::json;

use super::{account, listening, resolved_discord, said, settled};
use crate::agent::TestAgent;
use crate::clock::SteppedClock;
use crate::process::{Process, SOON};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_takes_the_session_up_and_hears_what_was_said_meanwhile() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let resolved = resolved_discord(&fake, json!({"allow": [7]}));
    let process = Process::start(home.path(), &agent, resolved.clone()).await;
    listening(&fake).await;
    fake.say(7, "first");
    said(&process, &fake, 7, "You said: first").await;
    let before = fake.sessions();
    process.crash().await;
    fake.say(7, "second");
    let process = Process::start(home.path(), &agent, resolved).await;
    said(&process, &fake, 7, "You said: second").await;
    let (began, taken_up) = fake.sessions();
    assert_eq!(began, before.0, "a session was thrown away");
    assert!(taken_up > before.1);
    assert_eq!(agent.asked(), ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_while_no_session_lived_is_asked_for_in_order() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let resolved = resolved_discord(&fake, json!({"allow": [7, 70]}));
    let process = Process::start(home.path(), &agent, resolved.clone()).await;
    listening(&fake).await;
    fake.say(7, "first");
    said(&process, &fake, 7, "You said: first").await;
    let (before, _) = fake.sessions();
    process.crash().await;
    fake.lose_session();
    for number in 0..3 {
        fake.say(7, &format!("missed {number}"));
    }
    fake.say_in_channel(70, 7, "@bot missed in a channel");
    fake.say_in_channel(70, 7, "not for the bot");
    let process = Process::start(home.path(), &agent, resolved).await;
    said(&process, &fake, 7, "You said: missed 2").await;
    said(&process, &fake, 70, "You said: Person 7: missed in a channel").await;
    let private: Vec<_> = agent.asked().into_iter().filter(|t| !t.contains("channel")).collect();
    assert_eq!(private, ["first", "missed 0", "missed 1", "missed 2"]);
    assert_eq!(fake.sessions().0, before + 1);
    assert_eq!(fake.texts(70).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_says_nothing_any_more_is_noticed_told_and_healed() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let resolved = resolved_discord(&fake, json!({"allow": [7]}));
    let process = Process::start(home.path(), &agent, resolved).await;
    listening(&fake).await;
    fake.say(7, "first");
    said(&process, &fake, 7, "You said: first").await;
    assert_eq!(process.status().await.state, AccountState::Listening);
    fake.set_deaf(true);
    wait_for("the deafness to be noticed", SOON, async || {
        let status = process.status().await;
        (status.state == AccountState::Deaf && status.restarts > 0).then_some(())
    })
    .await;
    fake.say(7, "second");
    fake.set_deaf(false);
    said(&process, &fake, 7, "You said: second").await;
    wait_until("it to be told", SOON, || {
        agent.told().iter().any(|text| text.contains("works again"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_without_an_answer_is_repeated_and_arrives_once() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [7]}))).await;
    listening(&fake).await;
    fake.say(7, "first");
    said(&process, &fake, 7, "You said: first").await;
    fake.set_trouble(Trouble { seed: 1, lost_after: 2, only_writes: true, ..Trouble::default() });
    for number in 0..6 {
        fake.say(7, &format!("number {number}"));
    }
    said(&process, &fake, 7, "You said: number 5").await;
    assert_eq!(fake.texts(7).len(), 7, "{:?}", fake.texts(7));
    assert_eq!(process.store.connectors.figures(&account()).await.unwrap().dead, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_good_is_said_and_shown_nowhere() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let resolved = resolved_discord(&fake, json!({"token": "NDI0Mg.secret.canary_of_discord"}));
    let bad = resolved.accounts[0].clone();
    let process = Process::start(home.path(), &agent, resolved).await;
    let fault = process.connectors.test(&bad).await.unwrap_err();
    assert!(fault.message.contains("token does not work"), "{fault:?}");
    let status = wait_for("the account to fail", SOON, async || {
        let status = process.status().await;
        (status.state == AccountState::Failing).then_some(status)
    })
    .await;
    let shown = format!("{status:?} {fault:?} {:?}", bad.token);
    assert!(!shown.contains("canary"), "{shown}");
    settled(&process).await;
}

/// Uses the real limits, and a clock that the test moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_gateway_is_noticed_after_120_seconds_and_not_before() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let (resolved, clock) = (resolved_discord(&fake, json!({"allow": [7]})), SteppedClock::new());
    let process =
        Process::start_by(home.path(), &agent, resolved, WaitTimes::default(), clock.clone()).await;
    listening(&fake).await;
    // The advance is shorter than the limit. What is received now counts, or the account would be
    // deaf long before the end.
    clock.advance(Duration::from_secs(100));
    fake.say(7, "first");
    wait_until("the first message", SOON, || agent.asked().len() == 1).await;
    wait_for("it to listen", SOON, async || {
        (process.status().await.state == AccountState::Listening).then_some(())
    })
    .await;
    fake.set_deaf(true);
    // A message that was under way when the gateway fell silent may still be received, and counts
    // too.
    let restarts = process.status().await.restarts;
    clock.advance(Duration::from_secs(119));
    assert_eq!(process.status().await.restarts, restarts);
    clock.advance(Duration::from_secs(1));
    wait_for("the restart", SOON, async || {
        let status = process.status().await;
        if status.state == AccountState::Listening {
            clock.advance(Duration::from_secs(1));
        }
        (status.state == AccountState::Deaf && status.restarts > restarts).then_some(())
    })
    .await;
    fake.say(7, "second");
    fake.set_deaf(false);
    wait_until("it to hear again", SOON, || {
        // The waits between two attempts pass only on this clock.
        clock.advance(Duration::from_millis(200));
        agent.asked().contains(&"second".to_owned())
    })
    .await;
}
