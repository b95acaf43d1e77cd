use onyx_test_support::{Answer, Finish, Script, ScriptedModel, Step, wait_for};

use super::{assert_goes_on, in_session, new_session, writes};
use crate::witness::{self, Told};
use crate::{SOON, builder};

const DISK: u64 = 16 * 1024 * 1024;

/// The disk has this many pages left, so that it is full at the first write, the last write, or one
/// between.
#[tokio::test]
async fn a_disk_that_is_full_at_any_point_is_told_loses_nothing_and_heals_when_there_is_room() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).disk(DISK).start().await;
    let session = new_session(&onyx).await;
    let (mut failed, mut worked) = (0, 0);
    for pages in 0..24 {
        let name = format!("note-{pages}.md");
        model.push(writes(&name));
        let before = onyx.history(&session).await;
        onyx.disk().fill_but(pages);
        let told = witness::talk(onyx.client(), &in_session(&session, "write it")).await;
        let code = told.refused.as_ref().or(told.error.as_ref());
        match told.status.as_deref() {
            Some("done") => worked += 1,
            _ => {
                assert_eq!(code.map(String::as_str), Some("storage_full"), "{pages}: {told:?}");
                failed += 1;
            }
        }
        assert_eq!(onyx.history(&session).await[..before.len()], before[..], "{pages}: {told:?}");
        assert!(onyx.healthy().await);
        let written = witness::vault_file(&onyx.home(), &name);
        assert!(written.is_none() || written.as_deref() == Some("written\n"), "{written:?}");
        assert!(written.is_some() || !told.is_ok("write"), "{pages}: {told:?}");
        onyx.disk().empty();
        // Answers that were prepared and not requested must not be used for a later message.
        model.load(onyx_test_support::ScriptFile::default());
        assert_goes_on(&onyx, &session, &told).await;
    }
    assert!(failed >= 3 && worked >= 1, "{failed} failed, {worked} worked");
    witness::audit(&onyx.home()).await.unwrap();
}

#[tokio::test]
async fn a_disk_that_fills_up_in_the_middle_of_an_answer_ends_it_with_the_reason() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).disk(DISK).start().await;
    let session = new_session(&onyx).await;
    let other = new_session(&onyx).await;
    // The disk is filled during the pause.
    let slow = Script::new([Step::Text("half ".into()), Step::PauseMs(4_000)])
        .then(Step::Text("whole ".repeat(10_000)))
        .ended(Finish::Stop);
    model.push(slow);
    let mut lines = onyx.chat_lines(&in_session(&session, "go")).await;
    let mut told = Told::default();
    told.hear(&lines.until("start").await);
    told.hear(&lines.until("text").await);
    onyx.disk().fill_but(0);
    told.hear_all(&mut lines).await;
    assert_eq!(
        (told.error.as_deref(), told.status.as_deref()),
        (Some("storage_full"), Some("error")),
        "{told:?}"
    );
    let refused = witness::talk(onyx.client(), &in_session(&other, "me too")).await;
    assert_eq!(refused.refused.as_deref(), Some("storage_full"), "{refused:?}");
    assert_eq!(onyx.history(&other).await.len(), 2, "reading goes on");
    let storage = async |state: &str| {
        wait_for(&format!("storage to be {state}"), SOON, async || {
            let ready = onyx.get("/ready").await.json();
            (ready["dependencies"][1]["state"] == state).then_some(())
        })
        .await;
    };
    storage("down").await;
    onyx.disk().empty();
    storage("ok").await;
    assert_goes_on(&onyx, &other, &refused).await;
    assert_goes_on(&onyx, &session, &told).await;
}

#[tokio::test]
async fn a_server_started_on_a_full_disk_serves_as_soon_as_there_is_room() {
    let model = ScriptedModel::start().await;
    let mut onyx = builder(&model).disk(DISK).start().await;
    let session = new_session(&onyx).await;
    model.push(Script::new([Step::Text("half".into()), Step::Hang]));
    let mut lines = onyx.chat_lines(&in_session(&session, "go")).await;
    let mut told = Told::default();
    told.hear(&lines.until("start").await);
    lines.until("text").await;
    onyx.kill().await;
    onyx.disk().fill_but(0);
    onyx.restart().await;
    assert_eq!(onyx.history(&session).await[0]["content"], "first");
    onyx.disk().empty();
    model.set_default(Answer::text("ok"));
    assert_goes_on(&onyx, &session, &told).await;
}
