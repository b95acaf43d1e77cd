use std::time::Duration;

use onyx_connectors::{AccountState, ResolvedConnectors, WaitTimes};
use onyx_test_support::networks::FakeTelegram;
use onyx_test_support::{wait_for, wait_until};
use serde_json::json;

use crate::agent::TestAgent;
use crate::clock::SteppedClock;
use crate::process::{Process, SOON, resolved_telegram};

#[tokio::test(flavor = "multi_thread")]
async fn deaf_but_connected_is_noticed_shown_told_and_healed() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let mut wait_times = crate::process::WAIT_TIMES;
    // A request may take longer than an account may be deaf, so only the watch can notice the
    // deafness.
    wait_times.request = Duration::from_secs(60);
    let resolved = resolved_telegram(&fake, json!({"allow": [1]}), json!([]));
    let process = Process::start_at(home.path(), &agent, resolved, wait_times).await;
    fake.say(1, "first");
    process.settled(&fake).await;
    assert_eq!(process.status().await.state, AccountState::Listening);
    fake.set_deaf(true);
    let deaf = wait_for("the deafness to be noticed", SOON, async || {
        let status = process.status().await;
        (status.state == AccountState::Deaf && status.restarts > 0).then_some(status)
    })
    .await;
    assert!(deaf.last_heard.is_some());
    let notices = || agent.told().iter().filter(|text| text.contains("received nothing")).count();
    // The restart is counted a moment before the owner is told of it.
    wait_until("the notice", SOON, || notices() > 0).await;
    assert_eq!(notices(), 1);
    fake.set_deaf(false);
    fake.say(1, "second");
    wait_for("the answer", SOON, async || {
        fake.texts(1).contains(&"You said: second".to_owned()).then_some(())
    })
    .await;
    let status = process.status().await;
    assert_eq!((status.state, status.detail), (AccountState::Listening, None));
    assert!(agent.told().iter().any(|text| text.contains("works again")), "{:?}", agent.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_the_config_takes_away_reads_no_more_and_goes_on_when_it_is_back() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let resolved = resolved_telegram(&fake, json!({"allow": [1]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved.clone()).await;
    fake.say(1, "first");
    process.settled(&fake).await;
    process.connectors.follow(ResolvedConnectors::default()).await;
    let polls = fake.polls();
    fake.say(1, "second");
    assert_eq!(process.connectors.list().await.unwrap(), []);
    process.connectors.follow(resolved).await;
    process.settled(&fake).await;
    assert_eq!(agent.asked(), ["first", "second"]);
    assert!(fake.polls() > polls);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_network_is_told_over_another_that_works() {
    let (home, dead, well) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, FakeTelegram::start().await);
    let agent = TestAgent::echo();
    let mut wait_times = crate::process::WAIT_TIMES;
    wait_times.deaf = Duration::from_millis(2_500);
    let mut resolved = resolved_telegram(&well, json!({"allow": [1]}), json!([]));
    resolved.accounts[0].key.account = "second".to_owned();
    let second = resolved.accounts[0].key.clone();
    let process = Process::start_at(home.path(), &agent, resolved.clone(), wait_times).await;
    // A failure is told only once, so the owner's chat is known before the other account begins.
    well.say(1, "hello");
    process.settled_when(&second, || well.is_read()).await;
    let mut broken = resolved_telegram(&dead, json!({"allow": [1]}), json!([])).accounts.remove(0);
    broken.token = onyx_connectors::Secret::new("4243:another_token");
    resolved.accounts.push(broken);
    process.connectors.follow(resolved).await;
    wait_for("the notice", SOON, async || {
        let texts = well.texts(1);
        texts.iter().any(|text| text.contains("telegram/main has received nothing")).then_some(())
    })
    .await;
    let notices = process.connectors.notices();
    assert!(notices.iter().any(|notice| notice.text.contains("telegram/main")), "{notices:?}");
}

/// Uses the real limits, and a clock that the test moves.
#[tokio::test(flavor = "multi_thread")]
async fn deafness_is_noticed_after_120_seconds_and_not_before() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let (resolved, clock) =
        (resolved_telegram(&fake, json!({"allow": [1]}), json!([])), SteppedClock::new());
    let process =
        Process::start_by(home.path(), &agent, resolved, WaitTimes::default(), clock.clone()).await;
    // Some time passes first, so that the limit counts from the last poll and not from the start.
    for _ in 0..3 {
        let polls = fake.polls();
        clock.advance(Duration::from_secs(40));
        fake.say(1, "hello");
        wait_until("the next poll", SOON, || fake.polls() > polls).await;
    }
    assert_eq!(process.status().await.state, AccountState::Listening);
    fake.set_deaf(true);
    clock.advance(Duration::from_secs(119));
    let status = process.status().await;
    assert_eq!((status.state, status.restarts), (AccountState::Listening, 0));
    clock.advance(Duration::from_secs(1));
    wait_for("the restart", SOON, async || {
        let status = process.status().await;
        (status.state == AccountState::Deaf && status.restarts == 1).then_some(())
    })
    .await;
    fake.set_deaf(false);
    // A poll that was sent meanwhile hangs until the listener is restarted once more.
    clock.advance(Duration::from_secs(120));
    fake.say(1, "are you there?");
    wait_until("it to hear again", SOON, || agent.asked().contains(&"are you there?".to_owned()))
        .await;
    let status = process.status().await;
    assert_eq!((status.state, status.silent_seconds), (AccountState::Listening, Some(0)));
    let told = agent.told();
    assert!(told.iter().any(|text| text.contains("received nothing for 120 s")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("works again")), "{told:?}");
}
