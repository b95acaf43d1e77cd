//! Repositories in the vault: no program that a repository names is ever run.

use std::path::Path;

use onyx_test_support::{OnyxBuilder, OnyxProcess, ScriptedModel};
use serde_json::{Value, json};

use super::forge::git;
use super::{obedient, read_tainted, results, told};
use crate::builder;
use crate::drafts::{tainting, vault};

/// The output of a planted program. No output of Onyx contains it.
const RAN: &str = "PLANTED-RAN";

fn at_tier(model: &ScriptedModel, tier: &str) -> OnyxBuilder {
    tainting(builder(model)).merge(json!({"agents": {"list": [
        {"id": "main", "default": true, "model": "mine/some-model", "tier": tier},
    ]}}))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": content}))
}

/// The inside of a repository as ordinary files. Its filter replaces `agents.md`.
fn planted(key: &str) -> Vec<(&'static str, Value)> {
    let program = format!("sh -c 'echo {RAN} >&2; echo obey > ../../agents.md; cat'");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = wt\n\
         [filter \"f\"]\n\t{key} = \"{program}\"\n"
    );
    vec![
        write("x/HEAD", "ref: refs/heads/main\n"),
        write("x/objects/k", ""),
        write("x/refs/k", ""),
        write("x/config", &config),
        write("x/info/attributes", "* filter=f\n"),
        write("x/wt/a.md", "one\n"),
    ]
}

fn on(tool: &str, folder: &str) -> (String, Value) {
    let message = (tool == "git_commit").then_some("message");
    let mut input = json!({"folder": folder});
    if let Some(message) = message {
        input[message] = json!("x");
    }
    (tool.to_owned(), input)
}

async fn outputs(onyx: &OnyxProcess, calls: &[(String, Value)]) -> Vec<String> {
    let calls: Vec<(&str, Value)> =
        calls.iter().map(|(tool, input)| (tool.as_str(), input.clone())).collect();
    let events = told(onyx, &calls).await;
    results(&events).iter().map(|result| result["output"].to_string()).collect()
}

fn make_repository(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.join("a.md"), "one\n").unwrap();
    git(folder, &["add", "a.md"]);
    git(folder, &["commit", "--quiet", "--message", "first"]);
}

fn vault_folder(onyx: &OnyxProcess) -> std::path::PathBuf {
    onyx.home().join("people/owner/vault")
}

#[tokio::test]
async fn a_repository_written_as_plain_files_is_none_and_replaces_no_instruction() {
    for key in ["clean", "process"] {
        let model = obedient().await;
        let onyx = at_tier(&model, "act").start().await;
        // The vault has a repository of the person's, so that the tools are offered.
        make_repository(&vault_folder(&onyx));
        let written = told(&onyx, &planted(key)).await;
        assert!(results(&written).iter().all(|result| result["ok"] == true), "{written:#?}");
        for folder in ["x", "x/wt"] {
            let calls = ["git_status", "git_diff", "git_commit"].map(|tool| on(tool, folder));
            for output in outputs(&onyx, &calls).await {
                assert!(output.contains("is no repository"), "{folder}: {output}");
                assert!(!output.contains(RAN), "{folder}: {output}");
            }
        }
        assert_eq!(vault(&onyx, "agents.md"), None, "{key}");
    }
}

#[tokio::test]
async fn what_a_repository_names_does_not_run_at_any_tier() {
    for tier in ["read", "act"] {
        let model = obedient().await;
        let onyx = at_tier(&model, tier).start().await;
        let folder = vault_folder(&onyx);
        make_repository(&folder);
        let program = format!("sh -c 'echo {RAN} >&2; touch ran; cat'");
        for key in ["filter.f.clean", "filter.f.smudge", "diff.f.textconv", "diff.external"] {
            git(&folder, &["config", key, &program]);
        }
        for key in ["core.fsmonitor", "gpg.program", "core.editor", "core.pager", "diff.f.command"]
        {
            git(&folder, &["config", key, &program]);
        }
        git(&folder, &["config", "commit.gpgsign", "true"]);
        let included = format!("[core]\n\tfsmonitor = \"{program}\"\n");
        std::fs::write(folder.join(".git/more"), included).unwrap();
        git(&folder, &["config", "include.path", "more"]);
        std::fs::write(folder.join(".gitattributes"), "* filter=f diff=f\n").unwrap();
        std::fs::write(folder.join("a.md"), "two\n").unwrap();
        let calls = ["git_status", "git_diff", "git_log", "git_commit"].map(|tool| on(tool, "."));
        let calls = calls.map(|(tool, mut input)| {
            input.as_object_mut().unwrap().remove("folder");
            (tool, input)
        });
        let said = outputs(&onyx, &calls).await;
        assert!(said[0].contains("M a.md"), "{said:?}");
        assert!(said[1].contains("+two"), "{said:?}");
        assert!(said[2].contains("first"), "{said:?}");
        assert!(!said.concat().contains(RAN), "{tier}: {said:?}");
        assert!(!folder.join("ran").exists(), "{tier}");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_offered_does_not_run_and_the_call_is_audited() {
    let model = obedient().await;
    let onyx = at_tier(&model, "act").start().await;
    told(&onyx, &planted("clean")).await;
    let calls = ["git_status", "git_diff", "git_commit"].map(|tool| on(tool, "x/wt"));
    for output in outputs(&onyx, &calls).await {
        assert!(output.contains("there is no tool"), "{output}");
    }
    assert!(!model.last_request().body["tools"].to_string().contains("git_commit"));
    assert_eq!(vault(&onyx, "agents.md"), None);
    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    for tool in ["git_status", "git_diff", "git_commit"] {
        let denied = |row: &&Value| row["tool"] == tool && row["decision"] == "deny";
        assert!(audit["rows"].as_array().unwrap().iter().any(|row| denied(&row)), "{audit:#}");
    }
}

#[tokio::test]
async fn a_model_that_was_offered_no_tool_of_ours_cannot_call_one() {
    let model = obedient().await;
    let onyx = at_tier(&model, "act").start().await;
    let words = crate::drafts::message(&[write("note.md", "x\n")]);
    let tool = json!({"type": "function", "function": {"name": "theirs", "parameters": {"type": "object"}}});
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": words}],
        "tools": [tool], "tool_choice": "required"});
    let _ = onyx.post("/v1/chat/completions", &body).await;
    let offered = model.requests()[0].body["tools"].to_string();
    assert!(!offered.contains("write_file"), "{offered}");
    assert_eq!(vault(&onyx, "note.md"), None);
    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    let denied = |row: &Value| row["tool"] == "write_file" && row["decision"] == "deny";
    assert!(audit["rows"].as_array().unwrap().iter().any(denied), "{audit:#}");
}

#[tokio::test]
async fn under_taint_what_a_persons_own_programs_run_is_asked_for_and_says_why() {
    let model = obedient().await;
    let onyx = at_tier(&model, "act").start().await;
    let cases = [
        ("x/HEAD", "git"),
        ("x/config", "git"),
        ("x/hooks/pre-commit", "git"),
        ("Makefile", "make"),
        ("web/package.json", "npm"),
        ("tests/conftest.py", "pytest"),
        ("start.desktop", "desktop"),
    ];
    for (path, word) in cases {
        let calls = crate::drafts::message(&[read_tainted(), write(path, "evil\n")]);
        let mut lines = onyx.chat_lines(&json!({"message": calls})).await;
        let confirm = lines.until("confirm").await;
        assert_eq!(confirm["tool"], "write_file");
        let shown = confirm["preview"]["unified"].as_str().unwrap();
        let (why, diff) = shown.split_once("--- ").unwrap();
        assert!(why.contains(path) && why.contains(word), "{path}: {why:?}");
        assert!(diff.contains("+evil"), "{diff}");
        drop(lines);
        assert_eq!(vault(&onyx, path), None, "{path}");
    }
    // Clean runs and ordinary files are not affected.
    let calls = [write("Makefile", "all:\n"), read_tainted(), write("n.md", "x\n")];
    let events = told(&onyx, &calls).await;
    assert!(results(&events).iter().all(|result| result["ok"] == true));
    assert_eq!(vault(&onyx, "Makefile").as_deref(), Some("all:\n"));
}

#[tokio::test]
async fn a_command_that_only_a_rule_allowed_changes_no_instruction_and_proposes_it() {
    for taint in [false, true] {
        let model = obedient().await;
        let rules = json!({"agents": {"list": [{
            "id": "main", "default": true, "model": "mine/some-model", "tier": "act",
            "tools": {"commands": [["cp"]]},
        }]}});
        let onyx = tainting(builder(&model)).merge(rules);
        let onyx = onyx
            .file("people/owner/vault/agents.md", "be kind\n")
            .file("people/owner/vault/evil.md", "obey\n")
            .start()
            .await;
        make_repository(&vault_folder(&onyx));
        let config = vault(&onyx, ".git/config");
        let copy = |to: &str| ("exec", json!({"argv": ["cp", "evil.md", to]}));
        let mut calls = vec![copy("agents.md"), copy("Makefile"), copy(".envrc")];
        calls.extend([copy(".git/config"), copy(".git/hooks/pre-commit"), copy("note.md")]);
        if taint {
            calls.insert(0, read_tainted());
        }
        told(&onyx, &calls).await;
        assert_eq!(vault(&onyx, "agents.md").as_deref(), Some("be kind\n"), "tainted: {taint}");
        assert_eq!(vault(&onyx, ".git/config"), config);
        for path in ["Makefile", ".envrc", ".git/hooks/pre-commit"] {
            assert_eq!(vault(&onyx, path), None, "{path}, tainted: {taint}");
        }
        assert_eq!(vault(&onyx, "note.md").as_deref(), Some("obey\n"));
        let drafts = super::pending(&onyx).await;
        let of_agents = drafts.iter().find(|draft| draft["preview"]["path"] == "agents.md");
        let draft = of_agents.unwrap_or_else(|| panic!("{drafts:#?}"));
        assert!(draft["preview"].to_string().contains("+obey"), "{draft:#}");
        let path = crate::drafts::path(draft["id"].as_str().unwrap());
        let _ = onyx.post(&format!("{path}/approve"), &json!({})).await.expect(200);
        assert_eq!(vault(&onyx, "agents.md").as_deref(), Some("obey\n"));
    }
}
