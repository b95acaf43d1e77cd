use std::time::Duration;

use onyx_test_support::{Finish, Script, ScriptedModel, Step, wait_for};

use super::{assert_goes_on, in_session, new_session};
use crate::witness::{self, Told};
use crate::{SOON, onyx, run};

/// A little longer than a session's lease lasts without renewal.
const PAST_THE_LEASE: Duration = Duration::from_secs(31);

#[tokio::test]
async fn the_home_of_a_frozen_server_goes_to_nobody_else() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let session = new_session(&onyx).await;
    onyx.freeze();
    let second = run(&onyx.home(), &["serve", "--port", "0"]).await;
    assert_eq!((second.code, second.err.contains("in use")), (Some(3), true), "{second:?}");
    let chat = run(&onyx.home(), &["chat", "-s", &session, "hello"]).await;
    assert_eq!((chat.code, chat.err.contains("does not answer")), (Some(3), true), "{chat:?}");
    onyx.thaw();
    assert_goes_on(&onyx, &session, &Told::default()).await;
}

#[tokio::test]
async fn a_run_frozen_past_its_lease_writes_nothing_more_into_a_session_that_went_on() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let session = new_session(&onyx).await;
    let pause = PAST_THE_LEASE.as_millis().try_into().unwrap();
    model.push(
        Script::new([Step::Text("before ".into()), Step::PauseMs(pause)])
            .then(Step::Text("after".into()))
            .ended(Finish::Stop),
    );
    let mut lines = onyx.chat_lines(&in_session(&session, "go")).await;
    let mut told = Told::default();
    told.hear(&lines.until("start").await);
    told.hear(&lines.until("text").await);
    onyx.freeze();
    tokio::time::sleep(PAST_THE_LEASE).await;
    onyx.thaw();
    told.hear_all(&mut lines).await;
    // Either the gateway lost its lease and writes nothing, or no other took the lease and it
    // continues; never both.
    let turns = wait_for("the session to go on", SOON, async || {
        let next = witness::talk(onyx.client(), &in_session(&session, "go on")).await;
        (next.status.as_deref() == Some("done")).then_some(())?;
        Some(witness::turns(onyx.client(), &session).await)
    })
    .await;
    assert_eq!(witness::faults_of(&turns), Vec::<String>::new(), "{told:?}");
    assert_eq!(told.missing_in(&turns), Vec::<String>::new(), "{told:?}");
    assert!(matches!(told.status.as_deref(), Some("done" | "error")), "{told:?}");
}
