//! `onyx memory …`, with a server and without one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use onyx_test_support::ScriptedModel;
use serde_json::{Value, json};

use crate::{Ran, command, config, onyx, run};

async fn done(home: &Path, arguments: &[&str]) -> String {
    let ran = run(home, arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out
}

async fn json_of(home: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&done(home, arguments).await).unwrap()
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// An editor that makes this of whatever it is given.
async fn edit(home: &Path, file: &str, script: &str) -> Ran {
    let editor = home.join("editor.sh");
    write(&editor, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut edit = command(home, &["memory", "edit", file]);
    edit.env_remove("VISUAL").env("EDITOR", &editor).output().await.unwrap().into()
}

/// The same on a home that a server holds and on one that nobody holds.
async fn remember(home: &Path) {
    const FILE: &str = "memory/main/MEMORY.md";
    let made = edit(home, FILE, "echo 'The boat is called Möwe.' > \"$1\"").await;
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.contains("onyx memory history memory/main/MEMORY.md"), "{made:?}");
    assert_eq!(done(home, &["memory", "show", FILE]).await, "The boat is called Möwe.\n");
    let unchanged = edit(home, FILE, "true").await;
    assert!(unchanged.code == Some(0) && unchanged.err.contains("nothing was changed"));
    let broken = edit(home, FILE, "echo nonsense > \"$1\"; exit 3").await;
    assert!(broken.code != Some(0) && broken.err.contains("nothing was written"), "{broken:?}");
    let again = edit(home, FILE, "echo 'The boat is called Albatros.' > \"$1\"").await;
    assert_eq!(again.code, Some(0), "{again:?}");

    let found = run(home, &["memory", "search", "boat", "called"]).await;
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.starts_with("memory/main/MEMORY.md:1-1  "), "{found:?}");
    assert!(found.out.contains("\n    The boat is called Albatros."), "{found:?}");
    assert!(found.err.contains("searched by words only: no embedder is configured"), "{found:?}");
    let nothing = run(home, &["memory", "search", "zeppelin"]).await;
    assert!(nothing.code == Some(0) && nothing.out.is_empty(), "{nothing:?}");
    assert!(nothing.err.contains("nothing found"), "{nothing:?}");
    let limited = ["memory", "search", "boat", "--agent", "main", "--limit", "1", "--json"];
    let limited = json_of(home, &limited).await;
    assert_eq!(limited["results"].as_array().unwrap().len(), 1);
    assert_eq!(limited["results"][0]["path"], FILE);

    let history = done(home, &["memory", "history", FILE]).await;
    let lines: Vec<&str> = history.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("   2  "), "{history}");
    assert!(lines[0].contains("person:owner") && lines[0].contains("changed it"), "{history}");
    assert!(lines[1].contains("made it"), "{history}");
    let before = ["memory", "show", FILE, "--version", "2"];
    assert_eq!(done(home, &before).await, "The boat is called Möwe.\n");
    let restored = done(home, &["memory", "restore", FILE, "2"]).await;
    assert_eq!(restored, "memory/main/MEMORY.md is as it was before change 2\n");
    assert_eq!(done(home, &["memory", "show", FILE]).await, "The boat is called Möwe.\n");

    let status = json_of(home, &["memory", "status", "--json"]).await;
    assert_eq!((&status["sources"], &status["chunks"]), (&json!(1), &json!(1)), "{status}");
    let words = done(home, &["memory", "status"]).await;
    assert!(words.starts_with("1 sources in 1 chunks"), "{words}");
    assert!(words.contains("embedder off"), "{words}");

    for arguments in [
        ["memory", "show", "memory/main/none.md", "--version", "1"].as_slice(),
        &["memory", "show", "memory/main/none.md"],
        &["memory", "restore", FILE, "99"],
    ] {
        let missing = run(home, arguments).await;
        assert_eq!((missing.code, missing.out.as_str()), (Some(4), ""), "{missing:?}");
    }
    let outside = run(home, &["memory", "show", "sessions/x"]).await;
    assert!(outside.code != Some(0) && !outside.err.is_empty(), "{outside:?}");
}

/// An OpenClaw workspace.
async fn bring(home: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let claw = folder.path();
    let arguments = ["memory", "import", claw.to_str().unwrap(), "--json"];
    let empty = run(home, &arguments).await;
    assert!(empty.code != Some(0) && empty.err.contains("holds no MEMORY.md"), "{empty:?}");
    write(&claw.join("MEMORY.md"), "# Facts\n\nPlays the oboe.\n");
    write(&claw.join("memory/2026-01-05.md"), "- bought reeds\n");
    write(&claw.join("memory/музыка.md"), "Любит фагот.\n");
    write(&claw.join("memory/.hidden.md"), "no\n");
    write(&claw.join("memory/notes.txt"), "no\n");
    let here = home.join("people/owner/memory/main");
    write(&here.join("daily/2026-01-05.md"), "- was here before\n");
    let outcomes = async || -> Vec<(String, String)> {
        let out = done(home, &arguments).await;
        let row = |line: &str| {
            let row: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (text("path"), text("outcome"))
        };
        out.lines().map(row).collect()
    };
    let expected = |outcomes: [&str; 3]| {
        let paths =
            ["memory/main/MEMORY.md", "memory/main/daily/2026-01-05.md", "memory/main/музыка.md"];
        let pairs = paths.iter().zip(outcomes);
        pairs.map(|(path, outcome)| ((*path).to_owned(), outcome.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(outcomes().await, expected(["new", "added", "new"]));
    let whole = ["already_there"; 3];
    assert_eq!(outcomes().await, expected(whole), "bringing it twice changes nothing");
    let day = fs::read_to_string(here.join("daily/2026-01-05.md")).unwrap();
    assert_eq!(day, "- was here before\n\n- bought reeds\n");
    let found = json_of(home, &["memory", "search", "фагот", "--json"]).await;
    assert_eq!(found["results"][0]["path"], "memory/main/музыка.md");
    let history = done(home, &["memory", "history", "memory/main/daily/2026-01-05.md"]).await;
    assert_eq!(history.lines().count(), 1, "what was there can be had again: {history}");

    // A file that cannot be read stops it before anything is written.
    write(&claw.join("MEMORY.md"), "new words\n");
    write(&claw.join("memory/broken.md"), b"caf\xe9");
    let broken = run(home, &arguments).await;
    assert!(broken.code != Some(0) && broken.err.contains("broken.md"), "{broken:?}");
    let kept = fs::read_to_string(here.join("MEMORY.md")).unwrap();
    assert_eq!(kept, "# Facts\n\nPlays the oboe.\n");
}

async fn unheld(model: &ScriptedModel) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    write(&home.join("onyx.json"), config(model).to_string());
    folder
}

#[tokio::test]
async fn memory_is_kept_through_a_server() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    remember(&onyx.home()).await;
}

#[tokio::test]
async fn memory_is_kept_without_a_server() {
    let model = ScriptedModel::start().await;
    let folder = unheld(&model).await;
    remember(&folder.path().join("home")).await;
}

#[tokio::test]
async fn the_memory_of_openclaw_is_brought_through_a_server() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    bring(&onyx.home()).await;
}

#[tokio::test]
async fn the_memory_of_openclaw_is_brought_without_a_server() {
    let model = ScriptedModel::start().await;
    let folder = unheld(&model).await;
    bring(&folder.path().join("home")).await;
}
