use onyx_test_support::{Answer, ScriptedCall};
use onyx_types::{ErrorCode, RecordedTool, RunId};
use serde_json::json;

use crate::world::{World, all, ana};

const NOTE: &str = "people/ana/vault/note.md";
const NEW: &str = "people/ana/vault/new.md";

/// A run that edits one note twice and creates another.
async fn edited() -> (World, RunId) {
    let call = |id: &str, path: &str, content: &str| {
        let arguments = json!({"path": path, "content": content});
        Answer::tool_calls([ScriptedCall::new(id, "write_file", &arguments)])
    };
    let world = World::new([
        call("a", "note.md", "changed"),
        call("b", "note.md", "changed again"),
        call("c", "new.md", "made"),
        Answer::text("done"),
    ])
    .await;
    world.write(NOTE, "mine");
    let handle = world.start(None, "edit").await.unwrap();
    let run = handle.run_id;
    all(handle).await;
    assert_eq!(world.read(NOTE).as_deref(), Some("changed again"));
    (world, run)
}

#[tokio::test]
async fn what_a_run_wrote_is_taken_back_as_one() {
    let (world, run) = edited().await;
    let mut restored = world.agent.undo.run(&ana(), run).await.unwrap();
    restored.sort();
    assert_eq!(restored, ["vault/new.md", "vault/note.md"]);
    assert_eq!(world.read(NOTE).as_deref(), Some("mine"));
    assert_eq!(world.read(NEW), None);
    assert_eq!(world.agent.undo.run(&ana(), run).await.unwrap(), Vec::<String>::new());
    let audit = world.store.ledger.audit(&ana(), None, 5).await.unwrap();
    assert!(audit.iter().any(|row| row.entry.tool == Some(RecordedTool::constant("undo"))));
}

#[tokio::test]
async fn a_file_changed_since_stops_the_undo_before_anything_is_touched() {
    let (world, run) = edited().await;
    world.write(NOTE, "my own words");
    let fault = world.agent.undo.run(&ana(), run).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::VersionConflict);
    assert!(fault.message.contains("vault/note.md"));
    assert_eq!(world.read(NOTE).as_deref(), Some("my own words"));
    assert_eq!(world.read(NEW).as_deref(), Some("made"));
    let stranger = "bob".parse().unwrap();
    assert_eq!(world.agent.undo.run(&stranger, run).await.unwrap_err().code, ErrorCode::NotFound);
}
