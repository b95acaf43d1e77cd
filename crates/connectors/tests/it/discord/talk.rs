use std::time::Duration;

use onyx_connectors::{DraftVerdict, Privacy};
use onyx_test_support::networks::FakeDiscord;
use onyx_test_support::{wait_for, wait_until};
use serde_json::json;

use super::{account, listening, resolved_discord, said, settled};
use crate::agent::{Reply, TestAgent, a_draft, owner};
use crate::process::{Process, SOON};
use crate::text::{everything, parts};

#[tokio::test(flavor = "multi_thread")]
async fn people_channels_and_threads_are_answered_where_they_speak() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [7, 70]})))
            .await;
    listening(&fake).await;
    fake.say(7, "in private");
    said(&process, &fake, 7, "You said: in private").await;
    fake.say_in_channel(70, 8, "nobody asked the bot");
    fake.say_in_channel(70, 8, "@bot what time is it?");
    said(&process, &fake, 70, "You said: Person 8: what time is it?").await;
    fake.message(json!({"channel_id": "71", "guild_id": "900", "content": "why?", "type": 19,
        "author": {"id": "9", "username": "carl"},
        "referenced_message": {"id": "1", "channel_id": "71", "content": "because",
            "author": {"id": "4242", "username": "onyx_test_bot"}}}));
    said(&process, &fake, 71, "You said: > onyx_test_bot: because\n\ncarl: why?").await;
    // The bot must ignore its own messages and those of other bots.
    fake.message(json!({"channel_id": "70", "guild_id": "900", "content": "<@4242> hi",
        "mentions": [{"id": "4242"}], "author": {"id": "10", "username": "robot", "bot": true}}));
    fake.say(7, "at last");
    said(&process, &fake, 7, "You said: at last").await;
    let asked = agent.asked.lock().unwrap().clone();
    let privacies: Vec<_> = asked.iter().map(|request| request.privacy).collect();
    assert_eq!(privacies, [Privacy::Private, Privacy::Group, Privacy::Group, Privacy::Private]);
    // A thread is a conversation of its own within its channel.
    assert_eq!((asked[2].session, asked[3].session.is_some()), (None, true));
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_a_code_and_nothing_else_until_the_owner_lets_it_in() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let process = Process::start(home.path(), &agent, resolved_discord(&fake, json!({}))).await;
    listening(&fake).await;
    fake.say(7, "hello");
    fake.say(7, "/approve 1");
    wait_until("the code", SOON, || !fake.texts(7).is_empty()).await;
    settled(&process).await;
    let code = process.connectors.peers(&account()).await.unwrap()[0].code.clone().unwrap().code;
    assert_eq!(fake.texts(7).len(), 1);
    assert!(fake.texts(7)[0].contains(&code), "{:?}", fake.texts(7));
    assert_eq!(agent.asked(), Vec::<String>::new());
    process.connectors.approve_code(&code, owner()).await.unwrap();
    fake.say(7, "now?");
    said(&process, &fake, 7, "You said: now?").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_decided_by_a_button_or_a_slash_command_of_the_paired_person_once() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeDiscord::start().await);
    let agent = TestAgent::new(|request| {
        let proposes =
            request.text.contains("change").then(|| (a_draft(), "Write a.md".to_owned()));
        Reply { pieces: vec!["Look at this.".to_owned()], between: Duration::ZERO, proposes }
    });
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [1, 70]})))
            .await;
    listening(&fake).await;
    fake.say_in_channel(70, 1, "@bot change it");
    // The answer grows beside it, and may be shown first.
    let (place, proposal) = wait_for("the proposal", SOON, async || {
        let mut all = fake.messages(70).into_iter().enumerate();
        all.find(|(_, message)| !message.buttons.is_empty())
    })
    .await;
    assert!(fake.texts(70)[place].contains("+new <line>"), "{:?}", fake.texts(70));
    assert_eq!(proposal.buttons[0], format!("approve:{}", a_draft()));
    // Another member of the server presses first.
    fake.press_in_channel(70, 2, &proposal.buttons[0]);
    wait_until("the refusal", SOON, || !fake.presses().is_empty()).await;
    assert!(agent.decisions.lock().unwrap().is_empty());
    assert!(fake.presses()[0].contains("Only people who are paired"), "{:?}", fake.presses());
    fake.press_in_channel(70, 1, &proposal.buttons[0]);
    wait_until("the decision", SOON, || fake.presses().len() == 2).await;
    fake.interaction(json!({"type": 2, "member": {"user": {"id": "1", "username": "a"}},
        "guild_id": "900", "channel_id": "70",
        "data": {"name": "reject", "options": [{"name": "number", "value": 1}]}}));
    wait_until("the second decision", SOON, || {
        fake.texts(70).iter().any(|text| text.contains("decided already"))
    })
    .await;
    settled(&process).await;
    let decisions = agent.decisions.lock().unwrap().clone();
    assert_eq!(decisions.len(), 1);
    assert_eq!((decisions[0].draft, decisions[0].verdict), (a_draft(), DraftVerdict::Approve));
    assert_eq!(fake.acknowledged().len(), 3);
    let commands = fake.commands().unwrap();
    assert!(commands.as_array().unwrap().iter().any(|command| command["name"] == "approve"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_grows_by_edits_and_the_end_is_never_lost() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeDiscord::start().await);
    let agent = TestAgent::new(|_| Reply {
        pieces: (0..12).map(|piece| format!("piece {piece}. ")).collect(),
        between: Duration::from_millis(120),
        proposes: None,
    });
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [7]}))).await;
    fake.set_gap(crate::process::GAP);
    listening(&fake).await;
    fake.say(7, "tell me");
    wait_until("it to grow", SOON, || fake.messages(7).first().is_some_and(|m| m.edits >= 2)).await;
    wait_until("the end", SOON, || fake.texts(7)[0].ends_with("piece 11.")).await;
    settled(&process).await;
    assert_eq!(fake.messages(7).len(), 1);
    fake.say(7, "once more");
    wait_until("it to begin", SOON, || fake.messages(7).len() == 2).await;
    fake.refuse_edits();
    wait_until("a new message", SOON, || fake.messages(7).len() == 3).await;
    settled(&process).await;
    assert!(fake.texts(7)[2].ends_with("piece 11."), "{:?}", fake.texts(7));
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_fetched_from_discord_and_from_nowhere_else() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeDiscord::start().await, TestAgent::echo());
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [7]}))).await;
    listening(&fake).await;
    let picture = fake.put_file("cat.png", vec![1, 2, 3]);
    let author = json!({"id": "7", "username": "anna"});
    fake.message(json!({"channel_id": "500007", "content": "look", "author": author,
        "attachments": [
            {"filename": "cat.png", "content_type": "image/png", "size": 3, "url": picture},
            {"filename": "x.txt", "content_type": "text/plain; charset=utf-8", "size": 3,
                "url": "http://127.0.0.1:9/x.txt"}]}));
    wait_until("the message", SOON, || !agent.asked().is_empty()).await;
    let asked = agent.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.pictures[0].bytes, [1, 2, 3]);
    assert!(asked.text.contains("does not belong to Discord"), "{}", asked.text);
    settled(&process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_kilobytes_arrive_whole_and_every_message_is_valid() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeDiscord::start().await);
    let agent = TestAgent::new(|_| Reply::words(everything()));
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [7]}))).await;
    listening(&fake).await;
    fake.say(7, "everything");
    wait_until("the first part", SOON, || !fake.texts(7).is_empty()).await;
    settled(&process).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
    let seen = fake.texts(7).join("\n");
    assert_eq!(parts(&seen), parts(&everything()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_vault_is_attached_once() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeDiscord::start().await);
    let agent = TestAgent::new(|_| Reply::words("Here is [the report](may.pdf)."));
    agent.files.lock().unwrap().insert("may.pdf".to_owned(), b"%PDF".to_vec());
    let process =
        Process::start(home.path(), &agent, resolved_discord(&fake, json!({"allow": [7]}))).await;
    listening(&fake).await;
    fake.say(7, "the report, please");
    wait_until("the file", SOON, || fake.messages(7).len() == 2).await;
    settled(&process).await;
    let all = fake.messages(7);
    assert_eq!((all.len(), &all[1].files), (2, &vec!["may.pdf".to_owned()]));
    assert_eq!(fake.violations(), Vec::<String>::new());
}
