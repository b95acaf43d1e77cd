use onyx_connectors::Privacy;
use onyx_storage::{PeerKey, PeerState};
use onyx_test_support::networks::FakeTelegram;
use serde_json::json;

use crate::agent::{TestAgent, owner};
use crate::process::{Process, account, resolved_telegram};

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_a_code_and_nothing_else_until_the_owner_lets_it_in() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1]}), json!([])),
    )
    .await;
    for text in ["hello", "/new", "/approve 1", "please"] {
        fake.say(99, text);
    }
    process.settled(&fake).await;
    let said = fake.texts(99);
    assert_eq!(said.len(), 1, "{said:?}");
    let waiting = process.connectors.peers(&account()).await.unwrap();
    let code = waiting[0].code.clone().unwrap().code;
    assert!(said[0].contains(&code), "{said:?}");
    assert_eq!(agent.asked(), Vec::<String>::new());
    assert!(process.connectors.approve_code("ABCDEFGH", owner()).await.is_err());

    process.connectors.approve_code(&code.to_lowercase(), owner()).await.unwrap();
    fake.say(99, "now?");
    process.settled(&fake).await;
    assert_eq!(agent.asked(), ["now?"]);
    assert_eq!(fake.texts(99).last().unwrap(), "You said: now?");
    assert!(process.connectors.approve_code(&code, owner()).await.is_err(), "a code is good once");

    process.connectors.block_peer(&account(), "99").await.unwrap();
    fake.say(99, "and now?");
    process.settled(&fake).await;
    assert_eq!(agent.asked(), ["now?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_lets_somebody_in_from_a_chat_and_nobody_else_can() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1]}), json!([])),
    )
    .await;
    fake.say(99, "hello");
    fake.say(98, "hello");
    process.settled(&fake).await;
    let code = async |peer: &str| {
        let key = PeerKey { account: account(), peer: peer.to_owned() };
        process.store.connectors.peer(&key).await.unwrap().unwrap().code.unwrap().code
    };
    let (first, second) = (code("99").await, code("98").await);
    // A stranger can use neither another stranger's code nor its own.
    fake.say(98, &format!("/pair {first}"));
    process.settled(&fake).await;
    fake.say(1, &format!("/pair {first}"));
    process.settled(&fake).await;
    let states: Vec<_> = process
        .connectors
        .peers(&account())
        .await
        .unwrap()
        .into_iter()
        .filter(|peer| peer.key.peer != "1")
        .map(|peer| (peer.key.peer, peer.state))
        .collect();
    assert!(states.contains(&("99".to_owned(), PeerState::Paired)), "{states:?}");
    assert!(states.contains(&("98".to_owned(), PeerState::Waiting)), "{states:?}");
    assert_ne!(first, second);
}

/// CI sends a thousand strangers. The time that this takes is not tested: the test waits as long as
/// the number of open messages shrinks.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_strangers_cost_a_bounded_number_of_rows_bounded_memory_and_no_model() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let strangers: i64 = if std::env::var("ONYX_ALL_SEEDS").is_ok() { 10_000 } else { 1_000 };
    let process =
        Process::start(home.path(), &agent, resolved_telegram(&fake, json!({}), json!([]))).await;
    let (mut met, mut memory) = (0, Vec::new());
    let cpu = cpu_time();
    for part in 1..=10 {
        while met < strangers * part / 10 {
            fake.say(1_000_000 + met, "hello");
            met += 1;
        }
        crowd_is_gone(&process, &fake).await;
        memory.push(onyx_test_support::resident_bytes_of(std::process::id()).unwrap());
    }
    let cpu = cpu_time().saturating_sub(cpu) / u32::try_from(strangers).unwrap();
    println!("{strangers} strangers: {cpu:?} of CPU each, the network's side included; {memory:?}");
    let waiting = process.connectors.peers(&account()).await.unwrap().len();
    assert_eq!((waiting, fake.all_messages()), (200, 200));
    assert_eq!(agent.asked(), Vec::<String>::new());
    // The first tenth is not measured, because it fills caches and the rows of the strangers who
    // got a code.
    let grown = memory[9].saturating_sub(memory[1]);
    assert!(grown < 24 << 20, "{grown} bytes more: {memory:?}");
}

/// Waits until no message of the crowd is open. It fails only if the number stays the same for a
/// long time.
async fn crowd_is_gone(process: &Process, fake: &FakeTelegram) {
    let (mut before, mut since) = (u64::MAX, std::time::Instant::now());
    loop {
        let is_read = fake.is_read();
        let queues = process.store.connectors.figures(&account()).await.unwrap();
        let left = queues.incoming + queues.outgoing + fake.unread();
        if is_read && left == 0 {
            return;
        }
        if left != before {
            (before, since) = (left, std::time::Instant::now());
        }
        assert!(since.elapsed().as_secs() < 120, "{left} strangers stand still");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// The CPU time that this whole process has used.
fn cpu_time() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // The fields are the user and system time, in hundredths of a second.
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    std::time::Duration::from_millis(ticks * 10)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_answered_when_mentioned_without_private_memory_and_with_who_spoke() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1, -50]}), json!([])),
    )
    .await;
    fake.say_in_group(-50, 1, "nobody asked the bot");
    fake.say_in_group(-50, 2, "@onyx_test_bot what time is it?");
    fake.say_in_group(-60, 2, "not for the bot");
    fake.message(json!({"from": {"id": 3, "first_name": "Carl"}, "chat": {"id": -50, "type": "supergroup", "title": "G"},
        "text": "why?", "message_thread_id": 12, "is_topic_message": true,
        "reply_to_message": {"message_id": 5, "chat": {"id": -50, "type": "supergroup"}, "from": {"id": 4242, "first_name": "Onyx"}, "text": "because"}}));
    process.settled(&fake).await;
    // A member that is not paired cannot give commands.
    fake.say_in_group(-50, 2, "/new@onyx_test_bot");
    fake.say_in_group(-50, 2, "@onyx_test_bot /stop");
    process.settled(&fake).await;
    let asked = agent.asked.lock().unwrap().clone();
    let mut texts: Vec<_> = asked.iter().map(|r| (r.text.clone(), r.privacy)).collect();
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        texts,
        [
            ("> Onyx: because\n\nCarl: why?".to_owned(), Privacy::Group),
            ("Person 2: what time is it?".to_owned(), Privacy::Group),
        ]
    );
    assert_ne!(asked[0].run, asked[1].run);
    let sent = fake.messages(-50);
    assert!(sent.iter().any(|message| message.thread == Some(12)), "{sent:?}");
    assert!(fake.texts(-60).is_empty());
    assert!(fake.texts(-50).iter().any(|text| text.contains("Only people who are paired")));
    assert!(agent.stopped.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_gone_falls_back_to_the_main_chat() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [-50]}), json!([])),
    )
    .await;
    fake.message(json!({"from": {"id": 3, "first_name": "Carl"}, "chat": {"id": -50, "type": "supergroup", "title": "G"},
        "text": "@onyx_test_bot hi", "entities": [{"type": "mention", "offset": 0, "length": 14}],
        "message_thread_id": 404, "is_topic_message": true}));
    process.settled(&fake).await;
    let sent = fake.messages(-50);
    assert_eq!(
        (sent.len(), sent[0].thread, sent[0].text.as_str()),
        (1, None, "You said: Carl: hi")
    );
}
