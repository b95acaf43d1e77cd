//! Commands: standing rules, approval, live output, the end.

use onyx_test_support::{OnyxBuilder, ScriptedModel, wait_until};
use serde_json::{Value, json};

use super::{has_status, obedient, pending, read_tainted, results, told};
use crate::drafts::{message, path, tainting};
use crate::{SOON, builder, command, config};

fn exec(argv: &[&str]) -> (&'static str, Value) {
    ("exec", json!({"argv": argv}))
}

/// An agent that may count words without asking.
fn counting(model: &ScriptedModel) -> OnyxBuilder {
    let agents = json!({"agents": {"list": [{
        "id": "main", "default": true, "model": "mine/some-model", "tier": "act",
        "tools": {"commands": [["wc", "-w"]]},
    }]}});
    tainting(builder(model)).file("people/owner/vault/a.md", "one two three\n").merge(agents)
}

#[tokio::test]
async fn a_standing_rule_allows_exactly_its_commands_also_under_taint_where_nothing_leaves() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    let events = told(&onyx, &[exec(&["wc", "-w", "a.md"])]).await;
    assert_eq!(results(&events)[0]["output"], "3 a.md", "{events:#?}");
    assert!(has_status(&events, "tainted"), "what a command says is from outside");
    let ask = |calls: &[(&str, Value)]| json!({"model": "onyx:main", "messages": [{"role": "user", "content": message(calls)}]});
    let calls = [
        read_tainted(),
        exec(&["wc", "-w", "a.md"]),
        exec(&["wc", "a.md", "-w"]),
        exec(&["/usr/bin/wc", "-w", "a.md"]),
        exec(&["sh", "-c", "wc -w a.md"]),
        exec(&["env", "wc", "-w", "a.md"]),
    ];
    let _ = onyx.post("/v1/chat/completions", &ask(&calls)).await.expect(200);
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("3 a.md"), "{heard}");
    let drafts = pending(&onyx).await;
    let mut asked: Vec<&str> =
        drafts.iter().map(|draft| draft["summary"].as_str().unwrap()).collect();
    asked.sort_unstable();
    assert_eq!(
        asked,
        [
            "Run /usr/bin/wc -w a.md",
            "Run env wc -w a.md",
            "Run sh -c 'wc -w a.md'",
            "Run wc a.md -w",
        ]
    );
}

#[tokio::test]
async fn a_rule_for_what_runs_anything_is_no_config() {
    let model = obedient().await;
    for program in ["bash", "python3", "env", "/usr/bin/xargs"] {
        let home = tempfile::tempdir().unwrap();
        let mut settings = config(&model);
        settings["agents"]["list"][0]["tools"] = json!({"commands": [[program, "-c"]]});
        std::fs::write(home.path().join("onyx.json"), settings.to_string()).unwrap();
        let ran = command(home.path(), &["serve"]).output().await.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success(), "{program}");
        assert!(said.contains("runs whatever it is given"), "{program}: {said}");
    }
}

#[tokio::test]
async fn an_approved_command_runs_shows_what_it_says_as_it_comes_and_ends_with_its_run() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    std::fs::create_dir_all(onyx.home().join("people/owner/vault")).unwrap();
    let script = "echo first; echo mark > began; read line; echo second";
    let body = json!({"message": message(&[exec(&["sh", "-c", "echo hello > made; cat made"])])});
    let mut lines = onyx.chat_lines(&body).await;
    let confirm = lines.until("confirm").await;
    assert!(confirm["preview"]["text"].as_str().unwrap().contains("echo hello"), "{confirm}");
    assert_eq!(crate::drafts::vault(&onyx, "made"), None);
    let draft = path(confirm["draft_id"].as_str().unwrap());
    let _ = onyx.post(&format!("{draft}/approve"), &json!({})).await.expect(200);
    let rest = lines.rest().await;
    assert_eq!(results(&rest)[0]["output"], "hello");
    assert!(has_status(&rest, "tainted"), "{rest:#?}");
    assert_eq!(crate::drafts::vault(&onyx, "made").as_deref(), Some("hello\n"));

    let slow = json!({"message": message(&[exec(&["sh", "-c", &format!("{script}; sleep 60")])])});
    let slow_script = slow["message"].as_str().unwrap().replace("read line", "sleep 60");
    let mut lines = onyx.chat_lines(&json!({"message": slow_script})).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    let draft = path(confirm["draft_id"].as_str().unwrap());
    let (client, approve) = (onyx.client().clone(), format!("{draft}/approve"));
    let approving = tokio::spawn(async move { client.post(&approve, &json!({})).await });
    let chunk = lines.until("tool_output").await;
    assert!(chunk["chunk"].as_str().unwrap().contains("first"), "{chunk}");
    wait_until("the command", SOON, || crate::drafts::vault(&onyx, "began").is_some()).await;
    let _ = onyx.post("/api/agent/stop", &json!({"run_id": start["run_id"]})).await.expect(200);
    assert_eq!(lines.rest().await.last().unwrap()["status"], "cancelled");
    let ended = tokio::time::timeout(SOON, approving).await.expect("it ends with its run").unwrap();
    let row = ended.json();
    assert_ne!(row["state"], "applied", "{row}");
    let processes = std::process::Command::new("pgrep").args(["-f", "mark > began"]).output();
    let left = String::from_utf8_lossy(&processes.unwrap().stdout).into_owned();
    assert_eq!(left, "", "a command outlived its run");
}

#[tokio::test]
async fn a_command_that_needs_nobody_shows_its_output_as_it_comes() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    let events = told(&onyx, &[exec(&["wc", "-w", "a.md"])]).await;
    let chunk = events.iter().find(|event| event["type"] == "tool_output").unwrap();
    assert_eq!(chunk["chunk"], "3 a.md\n");
}
