//! `onyx memory …` with and without a server.

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

/// Runs `onyx memory edit` with an editor that executes this script.
async fn edit(home: &Path, file: &str, script: &str) -> Ran {
    let editor = home.join("editor.sh");
    write(&editor, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut edit = command(home, &["memory", "edit", file]);
    edit.env_remove("VISUAL").env("EDITOR", &editor).output().await.unwrap().into()
}

/// Tests the commands. It is called for a home with a server and for one without.
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
    assert!(
        lines[0].contains("person:owner") && lines[0].contains("changed the file"),
        "{history}"
    );
    assert!(lines[1].contains("created the file"), "{history}");
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

/// Tests the import of an OpenClaw workspace.
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

    // An unreadable file stops the import before anything is written.
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

#[tokio::test]
async fn a_file_that_is_no_text_is_shown_as_it_is_and_never_edited() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let home = onyx.home();
    let binary: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    for (name, bytes) in [("latin1.md", b"caf\xe9\n".as_slice()), ("picture.png", &binary)] {
        let path = home.join("people/owner/vault").join(name);
        write(&path, bytes);
        let named = format!("vault/{name}");
        let edited = edit(&home, &named, "echo more >> \"$1\"").await;
        assert_ne!(edited.code, Some(0), "{edited:?}");
        assert!(edited.err.contains("is not UTF-8 text"), "{edited:?}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
        let shown = command(&home, &["memory", "show", &named]).output().await.unwrap();
        assert_eq!((shown.status.code(), shown.stdout.as_slice()), (Some(0), bytes), "{name}");
        let read = onyx.get(&format!("/v1/memory/files/{named}")).await.expect(200);
        assert_eq!(read.headers["content-type"], "application/octet-stream");
    }
}

#[tokio::test]
async fn what_a_person_wrote_is_kept_when_it_cannot_be_written() {
    const FILE: &str = "memory/main/MEMORY.md";
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let home = onyx.home();
    let path = home.join("people/owner").join(FILE);
    write(&path, "before\n");
    let kept = |ran: &Ran| -> Vec<u8> {
        assert_ne!(ran.code, Some(0), "{ran:?}");
        let (_, path) = ran.err.split_once("kept in ").unwrap_or_else(|| panic!("{ran:?}"));
        let bytes = fs::read(path.lines().next().unwrap()).unwrap();
        fs::remove_file(path.lines().next().unwrap()).unwrap();
        bytes
    };
    let meanwhile = format!("echo mine > \"$1\"; echo theirs > '{}'", path.display());
    let refused = edit(&home, FILE, &meanwhile).await;
    assert!(refused.err.contains("version_conflict"), "{refused:?}");
    assert_eq!(kept(&refused), b"mine\n");
    assert_eq!(fs::read(&path).unwrap(), b"theirs\n");

    let large = edit(&home, FILE, "head -c 9000000 /dev/zero | tr '\\0' a > \"$1\"").await;
    assert!(large.err.contains("too_large"), "{large:?}");
    assert_eq!(kept(&large).len(), 9_000_000);
    let odd = edit(&home, FILE, "printf 'caf\\351' > \"$1\"").await;
    assert_eq!(kept(&odd), b"caf\xe9");
    let left = edit(&home, FILE, "exit 3").await;
    assert!(left.code != Some(0) && !left.err.contains("kept in"), "{left:?}");
    assert_eq!(fs::read(&path).unwrap(), b"theirs\n");
}

#[tokio::test]
async fn the_memory_of_openclaw_comes_whole_and_to_whom_it_is_meant() {
    let model = ScriptedModel::start().await;
    let agents = json!({"agents": {"list": [
        {"id": "main", "default": false, "model": "mine/m"},
        {"id": "anna", "default": true, "model": "mine/m"},
    ]}});
    let onyx = crate::builder(&model).merge(agents).start().await;
    let (home, folder) = (onyx.home(), tempfile::tempdir().unwrap());
    let claw = folder.path();
    let import = |more: &[&'static str]| {
        let arguments = ["memory", "import", claw.to_str().unwrap()];
        let arguments: Vec<String> =
            arguments.iter().chain(more).map(ToString::to_string).collect();
        let home = home.clone();
        async move { run(&home, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).await }
    };
    write(&claw.join("memory.md"), "Plays the oboe.\n");
    write(&claw.join("memory/projects/boat/plan.md"), "Caulk it.\n");
    write(&claw.join("memory/projects/2026-01-05.md"), "A day of a project.\n");
    write(&claw.join("memory/notes.txt"), "no\n");
    let nobody = import(&["-a", "nobody"]).await;
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(4), ""), "{nobody:?}");
    assert!(nobody.err.contains("there is no agent nobody"), "{nobody:?}");
    let memory = home.join("people/owner/memory");
    assert!(!memory.join("nobody").exists());

    let brought = import(&[]).await;
    assert_eq!(brought.code, Some(0), "{brought:?}");
    assert!(brought.err.contains("left out: ") && brought.err.contains("notes.txt"), "{brought:?}");
    for (path, text) in [
        ("MEMORY.md", "Plays the oboe.\n"),
        ("projects/boat/plan.md", "Caulk it.\n"),
        ("projects/2026-01-05.md", "A day of a project.\n"),
    ] {
        let there = memory.join("anna").join(path);
        assert_eq!(fs::read_to_string(&there).unwrap(), text, "{}", there.display());
    }
    assert!(!memory.join("main").exists());
    let other = import(&["-a", "main"]).await;
    assert!(other.code == Some(0) && memory.join("main/MEMORY.md").is_file(), "{other:?}");
}
