//! Other makers' own MCP servers and clients. They must work unchanged.

use std::path::{Path, PathBuf};

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{accept_all, add, called, obedient, output, tool};
use crate::builder;
use crate::clients::installed;
use crate::drafts::suggesting;

/// Runs a program of `clients/tests/<set>` in the environment of that set.
async fn check(onyx: &OnyxProcess, set: &str, program: &str, scope: &str) {
    let installed = installed(set).await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(program);
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/tests").join(set);
    std::fs::copy(programs.join(program), &copy).unwrap();
    let modules = installed.join("js/node_modules");
    std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).unwrap();
    let interpreter = if program.ends_with(".py") {
        installed.join("python/bin/python")
    } else {
        PathBuf::from("node")
    };
    let ran = Command::new(interpreter)
        .arg(&copy)
        .env("ONYX_URL", onyx.client().base_url())
        .env("ONYX_TOKEN", DEFAULT_TOKEN)
        .env("ONYX_SCOPE", scope)
        .env("NO_PROXY", "127.0.0.1,localhost")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program}:\n{out}\n{err}\n{}", onyx.log());
    assert!(out.contains("ok:"), "{program} has checked nothing");
}

#[tokio::test]
async fn the_official_typescript_sdk_connects_by_address_and_asks_its_person() {
    let model = obedient().await;
    let onyx = suggesting(&model).file("people/owner/vault/a.md", "my note\n").start().await;
    let _ = onyx.get("/v1/memory/files?types=page").await.expect(200);
    check(&onyx, "mcp", "sdk.mjs", "chat read write").await;
    let written = std::fs::read_to_string(onyx.home().join("people/owner/vault/new.md"));
    assert_eq!(written.unwrap(), "hi", "the person approved it at their client");
}

#[tokio::test]
async fn the_official_python_sdk_connects_by_address() {
    let model = obedient().await;
    let onyx = builder(&model).file("people/owner/vault/a.md", "my note\n").start().await;
    let _ = onyx.get("/v1/memory/files?types=page").await.expect(200);
    check(&onyx, "mcp", "sdk.py", "").await;
}

#[tokio::test]
async fn an_agent_framework_works_with_our_tools_under_our_gate() {
    let model = obedient().await;
    let onyx = builder(&model).file("people/owner/vault/a.md", "my note\n").start().await;
    check(&onyx, "mcp_framework", "framework.py", "").await;
    assert!(onyx.home().join("people/owner/vault/a.md").exists(), "nobody approved it");
}

/// An npm program, with the folders that it may read and write.
fn node(installed: &Path, package: &str, arguments: &[&str], write: &[&Path]) -> Value {
    let program = installed.join("js/node_modules").join(package).join("dist/index.js");
    let mut args = vec![program.to_str().unwrap()];
    args.extend(arguments);
    json!({"command": "node", "args": args, "timeout": 60,
        "folders": {"read": [installed], "write": write}})
}

#[tokio::test]
async fn official_servers_of_npm_are_used_in_the_sandbox() {
    let installed = installed("mcp_servers").await;
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let shared = tempfile::tempdir().unwrap();
    let folder = shared.path().canonicalize().unwrap();
    std::fs::write(folder.join("a.txt"), "their file").unwrap();
    let place = folder.to_str().unwrap();
    let package = "@modelcontextprotocol/server-filesystem";
    let mut settings = node(&installed, package, &[place], &[&folder]);
    settings["effects"] = json!({"read_text_file": "read"});
    add(&onyx, "files", settings).await;
    let seen = accept_all(&onyx, "files").await;
    assert_eq!(tool(&seen, "read_text_file")["state"], "ready", "{seen:#}");
    let path = folder.join("a.txt");
    let read =
        |path: &Path| json!({"name": "mcp:files/read_text_file", "arguments": {"path": path}});
    let (done, _) = called(&onyx, "call_tool", read(&path)).await;
    assert_eq!(output(&done), "their file");
    let (refused, _) = called(&onyx, "call_tool", read(Path::new("/etc/hostname"))).await;
    assert_eq!(refused["ok"], false, "{refused}");
    let mut settings = node(&installed, "@modelcontextprotocol/server-everything", &["stdio"], &[]);
    settings["effects"] = json!({"echo": "read"});
    add(&onyx, "everything", settings).await;
    accept_all(&onyx, "everything").await;
    let echo = json!({"name": "mcp:everything/echo", "arguments": {"message": "hi"}});
    let (said, _) = called(&onyx, "call_tool", echo).await;
    assert!(output(&said).contains("hi"), "{said}");
}

#[tokio::test]
async fn official_servers_of_pypi_are_used_in_the_sandbox() {
    let installed = installed("mcp_servers").await;
    let python = installed.join("python/bin/python");
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let shared = tempfile::tempdir().unwrap();
    let repository = shared.path().canonicalize().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(&repository).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    std::fs::write(repository.join("new.txt"), "x").unwrap();
    let place = repository.to_str().unwrap();
    // The program from which the environment was made is in another folder.
    let program = python.canonicalize().unwrap();
    let prefix = program.parent().and_then(Path::parent).unwrap();
    let read = [installed.as_path(), Path::new("/usr"), prefix, &repository];
    let server = |name: &str, arguments: &[&str]| {
        let mut args = vec!["-m", name];
        args.extend(arguments);
        json!({"command": python, "args": args, "timeout": 60, "folders": {"read": read}})
    };
    let mut settings = server("mcp_server_git", &["--repository", place]);
    settings["effects"] = json!({"git_status": "read"});
    add(&onyx, "git", settings).await;
    accept_all(&onyx, "git").await;
    let call = json!({"name": "mcp:git/git_status", "arguments": {"repo_path": place}});
    let (status, _) = called(&onyx, "call_tool", call).await;
    assert!(output(&status).contains("new.txt"), "{status}");
    // The server was granted no network, and it reports that it reaches nothing.
    let mut settings = server("mcp_server_fetch", &["--ignore-robots-txt"]);
    settings["effects"] = json!({"fetch": "read"});
    add(&onyx, "fetch", settings).await;
    accept_all(&onyx, "fetch").await;
    let url = onyx.client().url("/health");
    let call = json!({"name": "mcp:fetch/fetch", "arguments": {"url": url}});
    let (fetched, _) = called(&onyx, "call_tool", call).await;
    assert_eq!(fetched["ok"], false, "{fetched}");
}
