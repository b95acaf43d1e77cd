use std::path::Path;
use std::process::Command;

use onyx_tools::{GitRemotes, Masker, Runtime, ToolsSettings, git_tools};
use onyx_types::Origin;
use serde_json::{Value, json};

use crate::runtime::{allowed, sandbox};
use crate::support::World;

async fn world() -> World {
    let world = World::with(Vec::new(), Masker::default()).await;
    let runtime = Runtime::new(sandbox(), world.folder.path().to_owned());
    world.with_tools(allowed(git_tools(&runtime, &remotes())), Masker::default())
}

/// No host beside the internet, and no credential.
pub(crate) fn remotes() -> GitRemotes {
    GitRemotes::new(&ToolsSettings::default(), std::sync::Arc::new(|_: &str| Ok(None))).unwrap()
}

fn git(folder: &Path, words: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let output =
        Command::new("git").args(identity).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn repository() -> World {
    let world = world().await;
    git(&world.vault(), &["init", "--quiet", "--initial-branch=main"]);
    world.write("a.md", "one\n");
    git(&world.vault(), &["add", "a.md"]);
    git(&world.vault(), &["commit", "--quiet", "--message", "first"]);
    world
}

fn offered(world: &World) -> Vec<String> {
    let offers = world.toolbox.ready_offers(&world.policy, &world.cx.key.person);
    let names = offers.offers().iter().map(|offer| offer.name.clone());
    names.filter(|name| name.starts_with("git")).collect()
}

#[tokio::test]
async fn git_is_offered_where_there_is_a_repository() {
    let world = world().await;
    assert_eq!(offered(&world), Vec::<String>::new());
    let folder = world.vault().join("project");
    std::fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "--quiet"]);
    let all = ["git_status", "git_diff", "git_log", "git_commit", "git_pull", "git_push"];
    assert_eq!(offered(&world), all);
}

#[tokio::test]
async fn changes_are_seen_committed_and_found_in_the_history() {
    let world = repository().await;
    world.write("a.md", "two\n");
    world.write("b.md", "new\n");
    let call = async |tool: &str, input: Value| world.call(tool, input).await;
    let status = call("git_status", json!({})).await;
    assert!(status.output.contains(" M a.md") && status.output.contains("?? b.md"));
    assert_eq!(status.origin, Origin::External);
    let diff = call("git_diff", json!({"path": "a.md"})).await.output;
    assert!(diff.contains("-one\n+two"), "{diff}");
    let message = "second; $(touch x)";
    let committed = call("git_commit", json!({"message": message, "paths": ["a.md"]})).await;
    assert!(!committed.is_error, "{}", committed.output);
    let log = call("git_log", json!({"count": 1})).await.output;
    assert!(log.contains("Onyx (main): second; $(touch x)"), "{log}");
    assert_eq!(git(&world.vault(), &["status", "--short"]), "?? b.md\n");
}

#[tokio::test]
async fn hooks_and_programs_of_a_repository_do_nothing_to_the_vault() {
    let world = repository().await;
    let vault = world.vault();
    let hook = vault.join(".git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&hook).status().unwrap().success());
    for setting in ["core.fsmonitor", "diff.external", "core.pager", "diff.evil.textconv"] {
        git(&vault, &["config", setting, "touch ran; true"]);
    }
    world.write(".gitattributes", "*.md diff=evil\n");
    world.write("a.md", "two\n");
    for tool in ["git_status", "git_diff", "git_log"] {
        let outcome = world.call(tool, json!({})).await;
        assert!(!outcome.is_error, "{tool}: {}", outcome.output);
    }
    let committed = world.call("git_commit", json!({"message": "x"})).await;
    assert!(!committed.is_error, "{}", committed.output);
    for file in ["hooked", "ran"] {
        assert!(!vault.join(file).exists(), "{file}");
    }
}

#[tokio::test]
async fn names_that_are_options_or_addresses_are_refused() {
    let world = repository().await;
    for (tool, input) in [
        ("git_push", json!({"remote": "--receive-pack=touch x"})),
        ("git_push", json!({"remote": "https://evil.test/x"})),
        ("git_pull", json!({"branch": "main:main"})),
        ("git_pull", json!({"remote": "ext::sh -c touch% x"})),
    ] {
        let told = world.failed(tool, input).await;
        assert!(told.contains("is no plain name"), "{told}");
    }
    for (tool, input) in [
        ("git_diff", json!({"path": "../../onyx.json"})),
        ("git_commit", json!({"message": "x", "paths": ["/etc/passwd"]})),
        ("git_status", json!({"folder": "../bob"})),
    ] {
        let told = world.failed(tool, input).await;
        assert!(told.starts_with("not allowed: "), "{told}");
    }
}

#[tokio::test]
async fn a_repository_is_pulled_from_and_pushed_to_another_in_the_vault() {
    let world = repository().await;
    let vault = world.vault();
    git(&vault, &["clone", "--quiet", "--bare", ".", "remote.git"]);
    git(&vault, &["clone", "--quiet", "remote.git", "copy"]);
    git(&vault, &["-C", "copy", "remote", "set-url", "origin", "../remote.git"]);
    std::fs::write(vault.join("copy/c.md"), "c\n").unwrap();
    let commit = json!({"folder": "copy", "message": "from the copy"});
    world.done("git_commit", commit).await;
    world.done("git_push", json!({"folder": "copy", "branch": "main"})).await;
    assert!(git(&vault.join("remote.git"), &["log", "--format=%s"]).contains("from the copy"));
    world.done("git_pull", json!({"folder": "copy", "branch": "main"})).await;

    // What others wrote comes in as theirs.
    git(&vault, &["pull", "--quiet", "remote.git", "main"]);
    std::fs::write(vault.join("theirs.md"), "obey\n").unwrap();
    git(&vault, &["add", "theirs.md"]);
    git(&vault, &["commit", "--quiet", "--message", "theirs"]);
    git(&vault, &["push", "--quiet", "remote.git", "main"]);
    world.done("git_pull", json!({"folder": "copy", "branch": "main"})).await;
    let history = world.cx.files.history(&world.cx.key.person).unwrap();
    let pulled = onyx_types::Hash::of(b"obey\n");
    let origin = history.provenance(&"vault/copy/theirs.md".parse().unwrap(), pulled).await;
    assert_eq!(origin.unwrap(), Origin::External);
}
