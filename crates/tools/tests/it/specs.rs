use onyx_tools::Masker;
use onyx_types::{CallLabel, CallTargetKind, ToolOffer};
use serde_json::json;

use crate::support::{World, call};

#[tokio::test]
async fn what_a_model_is_told_of_all_tools_stays_small() {
    let world = World::new().await;
    let offers: Vec<ToolOffer> =
        world.toolbox.tools().offers(&world.policy).iter().map(|spec| spec.offer()).collect();
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

/// Surfaces show these words for every call, so no tool may leave one out.
#[tokio::test]
async fn every_tool_has_words_for_every_state_of_a_call() {
    let world = World::new().await;
    for spec in world.toolbox.tools().specs() {
        let CallLabel { verb, .. } = world.toolbox.label(&call(&spec.name, json!({})));
        let words = [verb.plain, verb.wants, verb.doing, verb.did, verb.refused, verb.failed];
        assert!(words.iter().all(|word| !word.trim().is_empty()), "{}: {words:?}", spec.name);
        let first = |word: &String| word.chars().next().is_some_and(char::is_uppercase);
        assert!(words.iter().all(first), "{}: {words:?}", spec.name);
        assert!(words[2].to_lowercase().contains("ing"), "{}: {words:?}", spec.name);
    }
}

#[tokio::test]
async fn a_label_names_what_a_call_is_about_with_secrets_masked() {
    let world =
        World::with(onyx_tools::builtin_tools(), Masker::new(["sk-canary-9999".to_owned()])).await;
    let label = |tool, input| world.toolbox.label(&call(tool, input));
    let read = label("read_file", json!({"path": "notes.md", "from": 40}));
    let target = read.target.unwrap();
    assert_eq!(
        (target.kind, target.name.as_str(), target.line),
        (CallTargetKind::File, "notes.md", Some(40))
    );
    let edit = label(
        "edit_file",
        json!({"path": "a.md", "old": "1\n2\n", "new": "1\nsk-canary-9999\n4\n"}),
    );
    let change = edit.change.unwrap();
    assert_eq!((change.added, change.removed), (2, 1));
    assert!(change.unified.contains("+[secret]") && !change.unified.contains("canary"));
    let stranger = label("rm -rf", json!({}));
    assert_eq!(
        (stranger.verb.wants.as_str(), stranger.subject.as_str()),
        ("Wants to call", "rm -rf")
    );
}
