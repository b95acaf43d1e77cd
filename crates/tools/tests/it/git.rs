use std::path::Path;
use std::process::Command;

use onyx_tools::{CommandRunner, GitRemotes, Masker, ToolsSettings, git_tools};
use onyx_types::Origin;
use serde_json::{Value, json};

use crate::runtime::{allowed, sandbox};
use crate::support::World;

async fn world() -> World {
    let world = World::with(Vec::new(), Masker::default()).await;
    let runner = CommandRunner::new(sandbox(), world.folder.path().to_owned());
    world.with_tools(allowed(git_tools(&runner, &remotes())), Masker::default())
}

/// Remotes without private hosts and without credentials.
pub(crate) fn remotes() -> GitRemotes {
    GitRemotes::new(&ToolsSettings::default(), std::sync::Arc::new(|_: &str| Ok(None))).unwrap()
}

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
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
    let offers = world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
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
        assert!(told.contains("is not a plain name"), "{told}");
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
async fn what_is_not_plainly_a_repository_of_the_vault_is_none() {
    let world = repository().await;
    let vault = world.vault();
    let outside = tempfile::tempdir().unwrap();
    git(outside.path(), &["init", "--quiet"]);
    git(&vault, &["clone", "--quiet", "--bare", ".", "bare.git"]);
    git(&vault, &["worktree", "add", "--quiet", "tree"]);
    for folder in ["linked", "file", "shared", "strange", "plain", "inner"] {
        std::fs::create_dir_all(vault.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(outside.path().join(".git"), vault.join("linked/.git")).unwrap();
    std::fs::write(vault.join("file/.git"), "gitdir: ../bare.git\n").unwrap();
    git(&vault.join("shared"), &["init", "--quiet"]);
    let alternates = vault.join("shared/.git/objects/info/alternates");
    std::fs::write(alternates, outside.path().join(".git/objects").to_str().unwrap()).unwrap();
    git(&vault.join("strange"), &["init", "--quiet"]);
    git(&vault.join("strange"), &["config", "extensions.partialClone", "origin"]);
    std::fs::create_dir_all(vault.join("inner/.git")).unwrap();
    let objects = vault.join(".git/objects");
    std::os::unix::fs::symlink(objects, vault.join("inner/.git/objects")).unwrap();
    for folder in ["bare.git", "tree", "linked", "file", "shared", "strange", "plain", "inner"] {
        for tool in ["git_status", "git_diff", "git_log"] {
            let told = world.failed(tool, json!({"folder": folder})).await;
            assert!(told.contains("is no repository"), "{folder}: {told}");
        }
        let told = world.failed("git_commit", json!({"folder": folder, "message": "x"})).await;
        assert!(told.contains("is no repository"), "{folder}: {told}");
    }
}

#[tokio::test]
async fn a_repository_inside_another_runs_nothing_either() {
    let world = repository().await;
    let (vault, sub) = (world.vault(), world.vault().join("sub"));
    std::fs::create_dir_all(&sub).unwrap();
    git(&sub, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(sub.join("b.md"), "b\n").unwrap();
    git(&sub, &["add", "b.md"]);
    git(&sub, &["commit", "--quiet", "--message", "sub"]);
    git(&vault, &["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    git(&vault, &["commit", "--quiet", "--message", "with sub"]);
    git(&sub, &["config", "core.fsmonitor", "echo PLANTED-RAN >&2; touch ran; false"]);
    std::fs::write(sub.join("b.md"), "c\n").unwrap();
    world.write("a.md", "two\n");
    for (tool, input) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_commit", json!({"message": "x"})),
    ] {
        let outcome = world.call(tool, input).await;
        assert!(!outcome.is_error, "{tool}: {}", outcome.output);
        assert!(!outcome.output.contains("PLANTED-RAN"), "{tool}: {}", outcome.output);
    }
    assert!(!vault.join("ran").exists() && !sub.join("ran").exists());
}

#[tokio::test]
async fn only_addresses_of_https_and_ssh_are_reached() {
    let world = repository().await;
    let vault = world.vault();
    git(&vault, &["clone", "--quiet", "--bare", ".", "remote.git"]);
    git(&vault, &["remote", "add", "origin", "./remote.git"]);
    for tool in ["git_pull", "git_push"] {
        let told = world.failed(tool, json!({})).await;
        assert!(told.contains("is not an https or ssh address"), "{told}");
    }
}
