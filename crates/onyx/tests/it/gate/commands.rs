//! Commands: standing rules, approval, live output, the end.

use onyx_test_support::{OnyxBuilder, OnyxProcess, ScriptedModel, wait_until};
use reqwest::Method;
use serde_json::{Value, json};

use super::{events_of, has_status, obedient, pending, read_tainted, results, told};
use crate::drafts::{message, path, tainting, vault};
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

async fn approve(onyx: &OnyxProcess, confirm: &Value) {
    let draft = path(confirm["draft_id"].as_str().unwrap());
    let _ = onyx.post(&format!("{draft}/approve"), &json!({})).await.expect(200);
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
async fn an_approved_command_runs_and_what_it_said_is_the_result() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    let body = json!({"message": message(&[exec(&["sh", "-c", "echo hello > made; cat made"])])});
    let mut lines = onyx.chat_lines(&body).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    assert!(confirm["preview"]["text"].as_str().unwrap().contains("echo hello"), "{confirm}");
    assert_eq!(vault(&onyx, "made"), None);
    approve(&onyx, &confirm).await;
    lines.rest().await;
    let events = events_of(&onyx, &start).await;
    assert_eq!(results(&events)[0]["output"], "hello", "{events:#?}");
    assert!(has_status(&events, "tainted"), "{events:#?}");
    assert_eq!(vault(&onyx, "made").as_deref(), Some("hello\n"));
}

#[tokio::test]
async fn an_approved_command_shows_what_it_says_as_it_comes_and_ends_with_its_run() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    let calls = [exec(&["sh", "-c", "echo first; echo mark > began; sleep 600"])];
    let mut lines = onyx.chat_lines(&json!({"message": message(&calls)})).await;
    let start = lines.until("start").await;
    let run = start["run_id"].as_str().unwrap();
    let confirm = lines.until("confirm").await;
    let draft = path(confirm["draft_id"].as_str().unwrap());
    let (client, yes) = (onyx.client().clone(), format!("{draft}/approve"));
    let approving = tokio::spawn(async move { client.post(&yes, &json!({})).await });
    let stream = onyx.request(Method::GET, &format!("/api/runs/{run}/events"));
    let mut stream = stream.send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("tool_output") {
        let more = tokio::time::timeout(3 * SOON, stream.chunk()).await.expect("live output");
        seen.push_str(&String::from_utf8_lossy(&more.unwrap().expect("the run goes on")));
    }
    assert!(seen.contains("first"), "{seen}");
    wait_until("the command", SOON, || vault(&onyx, "began").is_some()).await;
    let _ = onyx.post("/api/agent/stop", &json!({"run_id": run})).await.expect(200);
    assert_eq!(lines.rest().await.last().unwrap()["status"], "cancelled");
    let ended = tokio::time::timeout(3 * SOON, approving).await;
    let row = ended.expect("it ends with its run").unwrap().json();
    assert_ne!(row["state"], "applied", "{row}");
    wait_until("the processes to be gone", SOON, || {
        let left = std::process::Command::new("pgrep").args(["-f", "mark > began; sleep"]).output();
        left.unwrap().stdout.is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_command_that_needs_nobody_shows_its_output_as_it_comes() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    let events = told(&onyx, &[exec(&["wc", "-w", "a.md"])]).await;
    let chunk = events.iter().find(|event| event["type"] == "tool_output").unwrap();
    assert_eq!(chunk["chunk"], "3 a.md\n");
}
