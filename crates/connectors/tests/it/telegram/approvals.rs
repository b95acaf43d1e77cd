use std::time::Duration;

use onyx_connectors::DraftVerdict;
use onyx_test_support::networks::FakeTelegram;
use serde_json::json;

use crate::agent::{Reply, TestAgent, a_draft};
use crate::process::{Process, resolved_telegram};

fn proposing() -> std::sync::Arc<TestAgent> {
    TestAgent::new(|request| {
        let proposes =
            request.text.contains("change").then(|| (a_draft(), "Write a.md".to_owned()));
        Reply { pieces: vec!["Look at this.".to_owned()], between: Duration::ZERO, proposes }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_shown_whole_and_a_press_of_the_paired_person_counts_once() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, proposing());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1, -50]}), json!([])),
    )
    .await;
    fake.say_in_group(-50, 1, "@onyx_test_bot change it");
    process.settled(&fake).await;
    let shown = fake.messages(-50);
    let proposal = shown.iter().find(|message| !message.buttons.is_empty()).unwrap();
    assert!(proposal.text.contains("Approval 1: Write a.md"), "{}", proposal.text);
    assert!(proposal.text.contains("+new <line>"), "{}", proposal.text);
    let approve = proposal.buttons[0].clone();
    assert_eq!(approve, format!("approve:{}", a_draft()));
    // Another member of the group presses first.
    fake.press(-50, 2, &approve);
    process.settled(&fake).await;
    assert!(agent.decisions.lock().unwrap().is_empty());
    fake.press(-50, 1, &approve);
    fake.press(-50, 1, &approve);
    process.settled(&fake).await;
    let decisions = agent.decisions.lock().unwrap().clone();
    assert_eq!(decisions.len(), 1);
    assert_eq!((decisions[0].draft, decisions[0].verdict), (a_draft(), DraftVerdict::Approve));
    let answers = fake.presses();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers[0].contains("Only people who are paired"), "{answers:?}");
    let decided = answers.iter().filter(|answer| answer.contains("decided already")).count();
    assert_eq!(decided, 1, "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_decided_by_its_number_also_by_words() {
    let (home, fake, agent) =
        (tempfile::tempdir().unwrap(), FakeTelegram::start().await, proposing());
    let process = Process::start(
        home.path(),
        &agent,
        resolved_telegram(&fake, json!({"allow": [1]}), json!([])),
    )
    .await;
    fake.say(1, "change it");
    process.settled(&fake).await;
    fake.say(1, "/approve 7");
    fake.say(1, "/reject 1 not today");
    process.settled(&fake).await;
    let decisions = agent.decisions.lock().unwrap().clone();
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].verdict, DraftVerdict::Reject);
    assert_eq!(decisions[0].reason.as_deref(), Some("not today"));
    assert!(fake.texts(1).contains(&"There is no approval 7 here.".to_owned()));
}
