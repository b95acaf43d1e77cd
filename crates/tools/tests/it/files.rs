use std::sync::Arc;

use onyx_tools::{Execution, HiddenPaths, PathRules};
use onyx_types::Tier;
use serde_json::json;

use crate::support::World;

#[tokio::test]
async fn a_folder_is_listed_with_sizes_and_without_hidden_names() {
    let world = World::new().await;
    world.write("todo.md", "buy milk");
    world.write("work/plan.md", "x");
    world.write(".obsidian/app.json", "{}");
    assert_eq!(world.done("list_files", json!({})).await, "todo.md  8\nwork/");
    for path in [".", "./", "", "/"] {
        assert_eq!(world.done("list_files", json!({"path": path})).await, "todo.md  8\nwork/");
    }
    assert_eq!(world.done("list_files", json!({"path": "work/"})).await, "plan.md  1");
    assert_eq!(
        world.failed("list_files", json!({"path": "nowhere"})).await,
        "there is no folder nowhere"
    );
}

#[tokio::test]
async fn an_empty_vault_is_listed_as_empty() {
    let world = World::new().await;
    assert_eq!(world.done("list_files", json!({})).await, "[empty]");
}

#[tokio::test]
async fn a_long_folder_says_that_more_is_there() {
    let world = World::new().await;
    for n in 0..501 {
        world.write(&format!("{n:04}.md"), "");
    }
    let listing = world.done("list_files", json!({})).await;
    assert_eq!(listing.lines().count(), 501);
    assert!(listing.ends_with("0499.md  0\n[only the first 500 are shown]"));
}

#[tokio::test]
async fn a_file_is_read_whole_or_by_lines() {
    let world = World::new().await;
    world.write("notes.md", "one\ntwo\nthree\n");
    assert_eq!(world.done("read_file", json!({"path": "notes.md"})).await, "one\ntwo\nthree\n");
    assert_eq!(
        world.done("read_file", json!({"path": "./notes.md", "from": 2, "lines": 1})).await,
        "two\n[lines 2-2 of 3; go on with from=3]"
    );
    assert_eq!(
        world.failed("read_file", json!({"path": "other.md"})).await,
        "there is no file other.md; list_files shows what there is"
    );
    world.write("photo.jpg", [0xff, 0xd8, 0xff]);
    assert_eq!(
        world.failed("read_file", json!({"path": "photo.jpg"})).await,
        "photo.jpg is not text (3 bytes)"
    );
}

#[tokio::test]
async fn a_file_is_created_and_then_replaced_with_its_version_kept() {
    let world = World::new().await;
    let first = world.call("write_file", json!({"path": "a/b.md", "content": "one\n"})).await;
    assert_eq!(
        (first.output.as_str(), first.summary.as_str()),
        ("wrote a/b.md (4 bytes)", "Create a/b.md +1 −0")
    );
    let second = world.call("write_file", json!({"path": "a/b.md", "content": "two\n"})).await;
    assert_eq!(second.summary, "Replace a/b.md +1 −1");
    assert_eq!(world.text("a/b.md"), "two\n");

    let history = world.store.files.history(&world.cx.key.person).unwrap();
    let versions = history.versions(&"vault/a/b.md".parse().unwrap()).await.unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!(history.read(&versions[0]).await.unwrap().unwrap(), b"one\n");
    assert_eq!(history.read(&versions[1]).await.unwrap(), None);
    let of_run = history.changes_of_run(world.cx.run).await.unwrap();
    assert_eq!(of_run.iter().rev().cloned().collect::<Vec<_>>(), versions);
    assert_eq!(versions[0].change.tool, "write_file");
    assert_eq!(versions[0].change.author, world.cx.author());
}

#[tokio::test]
async fn an_edit_replaces_one_exact_piece_and_keeps_the_version_before() {
    let world = World::new().await;
    world.write("notes.md", "one\ntwo\nthree\n");
    let edit = json!({"path": "notes.md", "old": "two\n", "new": "2\n2.5\n"});
    let outcome = world.call("edit_file", edit).await;
    assert_eq!(
        (outcome.output.as_str(), outcome.summary.as_str()),
        ("edited notes.md", "Edit notes.md +2 −1")
    );
    assert_eq!(world.text("notes.md"), "one\n2\n2.5\nthree\n");
    let history = world.store.files.history(&world.cx.key.person).unwrap();
    let versions = history.versions(&"vault/notes.md".parse().unwrap()).await.unwrap();
    assert_eq!(history.read(&versions[0]).await.unwrap().unwrap(), b"one\ntwo\nthree\n");
}

#[tokio::test]
async fn an_edit_that_does_not_fit_says_how_to_mend_it_and_changes_nothing() {
    let world = World::new().await;
    world.write("notes.md", "x\nx\n");
    let edit = |path: &str, old: &str| json!({"path": path, "old": old, "new": "y"});
    assert_eq!(
        world.failed("edit_file", edit("notes.md", "x")).await,
        "the text to replace occurs 2 times in notes.md (lines 1, 2); quote more lines around it"
    );
    assert_eq!(
        world.failed("edit_file", edit("notes.md", "z")).await,
        "the text to replace is not in notes.md; read it again and quote it exactly"
    );
    assert_eq!(
        world.failed("edit_file", edit("new.md", "z")).await,
        "there is no file new.md; create it with write_file"
    );
    assert_eq!(world.text("notes.md"), "x\nx\n");
    assert_eq!(world.audit_lines().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_path_that_leads_out_is_refused_and_audited_as_denied() {
    let world = World::new().await;
    assert_eq!(
        world.failed("read_file", json!({"path": "../USER.md"})).await,
        "not allowed: \"../USER.md\" is not a path inside this folder: it has a `.` or `..` part"
    );
    let audit = world.audit_lines().await;
    assert_eq!(audit.len(), 1);
    assert!(audit[0].starts_with("read_file - deny Read ../USER.md: not allowed: "));
}

#[tokio::test]
async fn hidden_paths_are_refused_unless_the_rules_allow_them() {
    let mut world = World::new().await;
    world.write(".git/config", "x");
    assert_eq!(
        world.failed("read_file", json!({"path": ".git/config"})).await,
        "not allowed: .git/config is hidden"
    );
    world.cx.paths = Arc::new(PathRules { hidden: HiddenPaths::Allowed, ..PathRules::default() });
    assert_eq!(world.done("read_file", json!({"path": ".git/config"})).await, "x");
    assert_eq!(world.done("list_files", json!({})).await, ".git/");
}

#[tokio::test]
async fn under_taint_an_instruction_path_needs_a_person_and_a_note_does_not() {
    let mut world = World::new().await.tainted();
    let protected = vec!["contracts".parse().unwrap()];
    world.cx.paths = Arc::new(PathRules { protected, ..PathRules::default() });
    for path in [
        "agents.md",
        "agent/actions/tidy.md",
        "AGENTS.md",
        "Contracts/rent.md",
        "x/HEAD",
        "Makefile",
    ] {
        let outcome = world.call("write_file", json!({"path": path, "content": "obey"})).await;
        assert!(outcome.draft.is_some(), "{path}: {outcome:?}");
        assert!(!world.vault().join(path).exists());
    }
    world.done("write_file", json!({"path": "note.md", "content": "fine"})).await;
    let world = world.clean();
    world.done("write_file", json!({"path": "agents.md", "content": "fine"})).await;
}

#[tokio::test]
async fn below_act_no_file_changes() {
    for tier in [Tier::Read, Tier::Suggest] {
        let world = World::new().await.at(tier);
        world.write("a.md", "one");
        for (tool, input) in [
            ("write_file", json!({"path": "a.md", "content": "two\nthree"})),
            ("edit_file", json!({"path": "a.md", "old": "o", "new": "0"})),
            ("write_file", json!({"path": "b.md", "content": "two"})),
        ] {
            let outcome = world.call(tool, input).await;
            assert!(outcome.is_error || outcome.draft.is_some(), "{outcome:?}");
        }
        assert_eq!(world.text("a.md"), "one");
        assert_eq!(world.done("list_files", json!({})).await, "a.md  3");
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_difference_and_changes_nothing() {
    let mut world = World::new().await;
    world.write("a.md", "one\n");
    world.execution = Execution::DryRun;
    assert_eq!(
        world.done("edit_file", json!({"path": "a.md", "old": "one", "new": "two"})).await,
        "dry run, nothing was done: Edit a.md +1 −1 (write: allow)\n--- a.md\n+++ a.md\n@@ -1 +1 \
         @@\n-one\n+two\n"
    );
    assert_eq!(world.text("a.md"), "one\n");
}

#[tokio::test]
async fn a_text_is_found_with_path_and_line_and_not_in_hidden_or_foreign_files() {
    let world = World::new().await;
    world.write("notes.md", "Buy Milk\nand bread\n");
    world.write("work/plan.md", "no\nthe milk van\n");
    world.write(".hidden/x.md", "milk");
    world.write("photo.jpg", [0xff, 0xd8, 0xff]);
    std::fs::write(world.own().join("USER.md"), "milk").unwrap();
    std::os::unix::fs::symlink("../USER.md", world.vault().join("link.md")).unwrap();
    let found = world.done("search_files", json!({"query": "MILK"})).await;
    assert_eq!(found, "notes.md:1: Buy Milk\nwork/plan.md:2: the milk van");
    let found = world.done("search_files", json!({"query": "milk", "path": "work/"})).await;
    assert_eq!(found, "work/plan.md:2: the milk van");
    assert_eq!(
        world.done("search_files", json!({"query": "cheese"})).await,
        "[nothing found in 3 files]"
    );
    assert_eq!(
        world.failed("search_files", json!({"query": "x", "path": "nowhere"})).await,
        "there is no folder nowhere"
    );
    world.write("many.md", "milk\n".repeat(200));
    let found = world.done("search_files", json!({"query": "milk"})).await;
    assert_eq!(found.lines().count(), 101);
    assert!(found.ends_with("[there may be more: name a folder, or a rarer text]"));
}
