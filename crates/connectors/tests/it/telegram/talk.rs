use std::sync::{Arc, Mutex};

use onyx_connectors::{Secret, TranscriberSettings};
use onyx_test_support::networks::{FakeHttp, FakeTelegram, HttpReply, HttpRequest};
use onyx_test_support::wait_until;
use serde_json::json;

use crate::agent::TestAgent;
use crate::process::{Process, SOON, resolved_telegram};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_once_and_the_next_goes_on_with_the_same_conversation() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let resolved = resolved_telegram(&fake, json!({"allow": [7]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved).await;
    fake.say(7, "hello");
    fake.say(7, "and again");
    process.settled(&fake).await;
    assert_eq!(fake.texts(7), ["You said: hello", "You said: and again"]);
    let asked = agent.asked.lock().unwrap().clone();
    assert_eq!(asked[0].session, None);
    assert!(asked[1].session.is_some());
    assert_eq!(asked[1].person.as_str(), "owner");
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_act_and_are_not_said_to_the_agent() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let resolved = resolved_telegram(&fake, json!({"allow": ["7"]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved).await;
    fake.say(7, "one");
    process.settled(&fake).await;
    fake.say(7, "/new");
    process.settled(&fake).await;
    fake.say(7, "two");
    process.settled(&fake).await;
    fake.say(7, "/agent research");
    process.settled(&fake).await;
    fake.say(7, "three");
    fake.say(7, "/status");
    fake.say(7, "/undo");
    process.settled(&fake).await;
    let asked = agent.asked.lock().unwrap().clone();
    let agents: Vec<_> =
        asked.iter().map(|r| (r.text.as_str(), r.agent.to_string(), r.session.is_some())).collect();
    assert_eq!(
        agents,
        [
            ("one", "main".to_owned(), false),
            ("two", "main".to_owned(), false),
            ("three", "research".to_owned(), false)
        ]
    );
    let texts = fake.texts(7);
    assert!(texts.contains(&"Restored a.md.".to_owned()), "{texts:?}");
    assert!(texts.contains(&"research is here.".to_owned()), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bindings_choose_who_answers_and_an_edit_counts_for_the_next_message() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let allow = json!({"allow": [7, 8]});
    let to_research = json!([{"agentId": "research", "match": {"channel": "telegram", "peer": 8}}]);
    let process =
        Process::start(home.path(), &agent, resolved_telegram(&fake, allow.clone(), to_research))
            .await;
    fake.say(7, "from seven");
    fake.say(8, "from eight");
    process.settled(&fake).await;
    let polls = fake.polls();
    process.connectors.follow(resolved_telegram(&fake, allow, json!([]))).await;
    fake.say(8, "/new");
    process.settled(&fake).await;
    fake.say(8, "from eight again");
    process.settled(&fake).await;
    let asked = agent.asked.lock().unwrap().clone();
    let who = |text: &str| asked.iter().find(|r| r.text == text).unwrap().agent.to_string();
    assert_eq!(
        [who("from seven"), who("from eight"), who("from eight again")],
        ["main", "research", "main"]
    );
    assert!(fake.polls() > polls);
}

#[tokio::test(flavor = "multi_thread")]
async fn quotes_files_and_voice_reach_the_agent_within_limits() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [7]}), json!([])),
    )
    .await;
    let chat = json!({"id": 7, "type": "private", "first_name": "Anna"});
    let from = json!({"id": 7, "first_name": "Anna"});
    fake.put_file("photo1", vec![1, 2, 3]);
    fake.put_file("notes", b"line one".to_vec());
    fake.put_file("voice1", vec![9]);
    fake.message(json!({"from": from, "chat": chat, "text": "what is this?",
        "reply_to_message": {"message_id": 1, "chat": chat, "from": {"id": 4242, "first_name": "Onyx"}, "text": "an old answer"}}));
    process.settled(&fake).await;
    fake.message(json!({"from": from, "chat": chat, "caption": "look",
        "photo": [{"file_id": "small"}, {"file_id": "photo1", "file_size": 3}],
        "document": {"file_id": "notes", "file_name": "n.txt", "mime_type": "text/plain", "file_size": 8}}));
    process.settled(&fake).await;
    fake.message(
        json!({"from": from, "chat": chat, "voice": {"file_id": "voice1", "file_size": 1}}),
    );
    process.settled(&fake).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let whisper = FakeHttp::start(Arc::new(move |request: HttpRequest| {
        kept.lock().unwrap().push(request);
        Box::pin(async { HttpReply::json(200, &json!({"text": " buy milk\n"})) })
    }))
    .await;
    let settings = TranscriberSettings {
        url: format!("{}/v1/audio/transcriptions", whisper.url()),
        api_key: Some(Secret::new("whisper-key")),
        ..TranscriberSettings::default()
    };
    let resolved = resolved_telegram(&fake, json!({"allow": [7]}), json!([]));
    let resolved = resolved.with_transcriber(&settings, &|text| Ok(Some(text.to_owned()))).unwrap();
    process.connectors.follow(resolved).await;
    fake.message(
        json!({"from": from, "chat": chat, "voice": {"file_id": "voice1", "file_size": 1}}),
    );
    fake.message(json!({"from": from, "chat": chat,
        "document": {"file_id": "big", "file_name": "big.txt", "mime_type": "text/plain", "file_size": 99_000_000}}));
    process.settled(&fake).await;
    let asked = agent.asked.lock().unwrap().clone();
    assert_eq!(asked[0].text, "> Onyx: an old answer\n\nwhat is this?");
    assert_eq!(asked[1].text, "look\n\nFile n.txt:\n```\nline one\n```");
    assert_eq!(asked[1].pictures[0].bytes, [1, 2, 3]);
    assert!(asked[2].text.contains("no transcriber is set up"), "{}", asked[2].text);
    assert_eq!(asked[3].text, "buy milk");
    let request = heard.lock().unwrap()[0].clone();
    assert_eq!(request.header("authorization"), Some("Bearer whisper-key"));
    assert!(request.body.windows(9).any(|window| window == b"whisper-1"));
    assert!(asked[4].text.contains("at most"), "{}", asked[4].text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_good_is_said_and_shown_nowhere() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let resolved = resolved_telegram(&fake, json!({"token": "77:secret_canary_token"}), json!([]));
    let account = resolved.accounts[0].clone();
    let process = Process::start(home.path(), &agent, resolved).await;
    let fault = process.connectors.test(&account).await.unwrap_err();
    assert!(fault.message.contains("token does not work"), "{fault:?}");
    wait_until("the account to fail", SOON, || {
        let list = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(process.connectors.list())
        });
        list.unwrap()[0].detail.is_some()
    })
    .await;
    let shown = format!("{:?} {:?} {:?}", process.status().await, fault, account.token);
    assert!(!shown.contains("canary"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_accounts_with_one_token_do_not_read_the_same_updates() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let mut resolved = resolved_telegram(&fake, json!({"allow": [7]}), json!([]));
    let mut twin = resolved.accounts[0].clone();
    twin.key.account = "twin".to_owned();
    resolved.accounts.push(twin);
    let process = Process::start(home.path(), &agent, resolved).await;
    fake.say(7, "hello");
    process.settled(&fake).await;
    assert_eq!(fake.texts(7), ["You said: hello"]);
    let twin = process
        .connectors
        .list()
        .await
        .unwrap()
        .into_iter()
        .find(|a| a.key.account == "twin")
        .unwrap();
    assert_eq!(twin.detail.as_deref(), Some("the account telegram/main has the same token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_vault_that_an_answer_links_to_go_along_in_private_and_within_limits() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeTelegram::start().await);
    let agent = TestAgent::new(|_| {
        crate::agent::Reply::words(
            "See [the report](reports/may.pdf), ![it](chart.png), [too large](big.bin), \
             [a site](https://a.b/c) and [nothing](missing.md).",
        )
    });
    for (path, bytes) in [("reports/may.pdf", 3), ("chart.png", 3), ("big.bin", 11 << 20)] {
        agent.files.lock().unwrap().insert(path.to_owned(), vec![1; bytes]);
    }
    let resolved = resolved_telegram(&fake, json!({"allow": [7, -50]}), json!([]));
    let process = Process::start(home.path(), &agent, resolved).await;
    fake.say(7, "the files, please");
    fake.say_in_group(-50, 7, "@onyx_test_bot the files, please");
    process.settled(&fake).await;
    let texts = fake.texts(7);
    assert!(texts[0].starts_with("See the report"), "{texts:?}");
    assert_eq!(texts[1..], ["[sendDocument may.pdf]", "[sendPhoto chart.png]"]);
    assert_eq!(fake.texts(-50).len(), 1, "what is private was shown to a group");
    let letters = process.connectors.dead_letters(&crate::process::account()).await.unwrap();
    assert_eq!(letters, []);
}

/// Settings in which a command transcribes voice messages.
fn heard_by(fake: &FakeTelegram, command: &[&str]) -> onyx_connectors::ResolvedConnectors {
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    let settings = TranscriberSettings { command, ..TranscriberSettings::default() };
    let resolved = resolved_telegram(fake, json!({"allow": [7]}), json!([]));
    resolved.with_transcriber(&settings, &|text| Ok(Some(text.to_owned()))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_config_listens_to_voice_messages_in_the_sandbox() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, TestAgent::echo());
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("private"), "CANARY").unwrap();
    fake.put_file("voice1", b"these words were spoken".to_vec());
    let voice = json!({"from": {"id": 7, "first_name": "Anna"},
        "chat": {"id": 7, "type": "private", "first_name": "Anna"},
        "voice": {"file_id": "voice1", "file_size": 23}});
    let process = Process::start(home.path(), &agent, heard_by(&fake, &["cat", "{file}"])).await;
    let private = outside.path().join("private");
    for command in [
        vec!["cat"],
        vec!["cat", private.to_str().unwrap()],
        vec!["sh", "-c", "echo no such model >&2; exit 3"],
        vec!["sh", "-c", "yes words"],
    ] {
        fake.message(voice.clone());
        process.settled(&fake).await;
        process.connectors.follow(heard_by(&fake, &command)).await;
    }
    fake.message(voice);
    process.settled(&fake).await;
    let asked = agent.asked();
    // The first two commands get the path where the config puts it, and at the end.
    assert!(asked[0].ends_with("these words were spoken"), "{asked:?}");
    assert!(asked[1].ends_with("these words were spoken"), "{asked:?}");
    assert!(asked[2].contains("could not be transcribed"), "{asked:?}");
    assert!(!asked[2].contains("CANARY"), "{asked:?}");
    assert!(asked[3].contains("no such model"), "{asked:?}");
    assert!(asked[4].contains("wrote more than 65536 bytes"), "{asked:?}");
    let left = std::fs::read_dir(home.path().join("cache/scratch")).unwrap().count();
    assert_eq!(left, 0, "recordings were left behind");
}
