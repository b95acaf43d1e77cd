use onyx_tools::Masker;
use onyx_types::ToolOffer;
use serde_json::json;

use crate::support::{World, call};

#[tokio::test]
async fn what_a_model_is_told_of_all_tools_stays_small() {
    let world = World::new().await;
    let offers: Vec<ToolOffer> =
        world.toolbox.offers(&world.policy).iter().map(|spec| spec.offer()).collect();
    let json = serde_json::to_string(&offers).unwrap();
    assert!(json.len() <= 3_584, "{} bytes: {json}", json.len());
}

#[tokio::test]
async fn a_call_is_summed_up_in_one_line_with_the_verb_first() {
    let world =
        World::with(onyx_tools::builtin_tools(), Masker::new(["sk-canary-9999".to_owned()])).await;
    let summary = |tool, input| world.toolbox.summary(&call(tool, input));
    assert_eq!(summary("list_files", json!({})), "List files");
    assert_eq!(summary("list_files", json!({"path": "work/"})), "List work");
    assert_eq!(summary("read_file", json!({"path": "notes.md"})), "Read notes.md");
    assert_eq!(
        summary("read_file", json!({"path": "notes.md", "from": 40})),
        "Read notes.md from line 40"
    );
    assert_eq!(summary("write_file", json!({"path": "a.md", "content": "x"})), "Write a.md");
    assert_eq!(
        summary("edit_file", json!({"path": "a.md", "old": "1\n2\n", "new": "1\n3\n4\n"})),
        "Edit a.md +2 −1"
    );
    assert_eq!(summary("memory_get", json!({})), "Recall MEMORY.md");
    assert_eq!(
        summary("memory_write", json!({"text": "the key is sk-canary-9999"})),
        "Note the key is [secret]"
    );
    assert_eq!(
        summary("memory_write", json!({"text": "x", "heading": "People"})),
        "Edit MEMORY.md under People"
    );
    assert_eq!(summary("rm -rf", json!({})), "Call rm -rf");
    assert_eq!(summary("read_file", json!({"path": 7})), "Read");
    assert_eq!(summary("read_file", json!({"path": "a\nb\u{202e}c"})), r"Read a\nb\u{202e}c");
}
