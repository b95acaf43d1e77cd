//! Real faults of the machine and of clients and servers, through the real binary.

mod crowds;
mod disk;
mod frozen;
mod gone;
mod refused;
mod slow_clients;
mod slow_models;
mod syncs;

use onyx_test_support::{Answer, Finish, OnyxProcess, Script, ScriptedCall, Step};
use serde_json::{Value, json};

use crate::witness::{self, Told};

/// A step that says something and writes a file.
fn writes(path: &str) -> Answer {
    let arguments = json!({"path": path, "content": "written\n"});
    let call = ScriptedCall::new("write", "write_file", &arguments);
    Script::new([Step::Text("I write.".into()), Step::ToolCalls(vec![call])])
        .ended(Finish::ToolCalls)
        .into()
}

fn in_session(session: &str, message: &str) -> Value {
    json!({"message": message, "session_id": session})
}

/// A working session for the rest of the test.
async fn new_session(onyx: &OnyxProcess) -> String {
    let told = witness::talk(onyx.client(), &json!({"message": "first"})).await;
    assert_eq!(told.status.as_deref(), Some("done"), "{told:?}");
    told.session.unwrap()
}

/// Checks that the session holds what was reported and that it accepts another message.
async fn assert_goes_on(onyx: &OnyxProcess, session: &str, told: &Told) {
    let next = witness::talk(onyx.client(), &in_session(session, "go on")).await;
    assert_eq!(next.status.as_deref(), Some("done"), "{next:?} after {told:?}");
    let turns = witness::turns(onyx.client(), session).await;
    assert_eq!(witness::faults_of(&turns), Vec::<String>::new(), "after {told:?}");
    assert_eq!(told.missing_in(&turns), Vec::<String>::new(), "after {told:?}");
    assert_eq!(next.missing_in(&turns), Vec::<String>::new(), "after {told:?}");
}
