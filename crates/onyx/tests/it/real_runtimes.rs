//! The real Claude CLI in the whole server, with a scripted model as its upstream: killed processes
//! leave nothing behind and stop nothing else. `make test-runtimes` downloads the CLI and runs
//! these tests.

use std::time::{Duration, Instant};

use onyx_test_support::{Answer, OnyxProcess, Script, ScriptedModel, Step, Wire, wait_until};
use serde_json::json;

use crate::{builder, said, types};

#[allow(clippy::disallowed_methods, reason = "the script says where the program is")]
fn real_claude() -> String {
    std::env::var("ONYX_REAL_CLAUDE").expect("ONYX_REAL_CLAUDE is set by scripts/test-runtimes")
}

async fn with_real_claude(upstream: &ScriptedModel, user: &std::path::Path) -> OnyxProcess {
    builder(upstream)
        .env("HOME", user.to_str().unwrap())
        .merge(json!({
            "providers": {"claude-subscription": {
                "command": real_claude(),
                "apiKey": "sk-ant-oat01-of-nobody",
                "baseUrl": upstream.base_url_of(Wire::Anthropic),
            }},
            "agents": {"list": [{"id": "main", "default": true, "tier": "act",
                "model": "claude-subscription/claude-sonnet-4-5"}]},
        }))
        .start()
        .await
}

/// All descendants of a process.
fn descendants(of: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse::<u32>().ok()
    };
    let pairs: Vec<(u32, u32)> = ids.filter_map(|id| Some((id, parent(&id)?))).collect();
    let mut found = vec![of];
    let mut looked_at = 0;
    while let Some(one) = found.get(looked_at).copied() {
        found.extend(pairs.iter().filter(|(_, parent)| *parent == one).map(|(id, _)| *id));
        looked_at += 1;
    }
    found.split_off(1)
}

fn runs_claude(id: u32) -> bool {
    let command = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains(&real_claude())
}

fn is_gone(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    status.is_empty() || status.contains("State:\tZ")
}

/// Waits until the CLI has sent a request upstream, which gets no answer for a minute.
async fn is_at_work(upstream: &ScriptedModel, onyx: &OnyxProcess) -> Vec<u32> {
    wait_until("the CLI to ask", Duration::from_secs(60), || {
        upstream.requests().iter().any(|request| request.body.to_string().contains("hello there"))
    })
    .await;
    let began = descendants(onyx.process_id().unwrap());
    assert!(began.iter().any(|id| runs_claude(*id)), "{began:?}");
    began
}

#[tokio::test]
#[ignore = "needs the real Claude CLI: make test-runtimes"]
async fn a_killed_server_leaves_no_process_of_the_real_claude_cli() {
    let (upstream, user) = (ScriptedModel::start().await, tempfile::tempdir().unwrap());
    upstream.set_default(Answer::text("Half an answer that goes on").delay_ms(60_000));
    let mut onyx = with_real_claude(&upstream, user.path()).await;
    let _lines = onyx.client().chat_lines(&json!({"message": "hello there"})).await;
    let began = is_at_work(&upstream, &onyx).await;
    onyx.kill().await;
    let all_gone = || began.iter().all(|id| is_gone(*id));
    wait_until("the children to be gone", Duration::from_secs(2), all_gone).await;
}

#[tokio::test]
#[ignore = "needs the real Claude CLI: make test-runtimes"]
async fn a_killed_claude_cli_ends_the_turn_within_two_seconds_and_the_next_one_works() {
    let (upstream, user) = (ScriptedModel::start().await, tempfile::tempdir().unwrap());
    // The answer has begun, so the request is not retried automatically.
    upstream.set_default(Script::new([Step::Text("Half".into()), Step::Hang]));
    let onyx = with_real_claude(&upstream, user.path()).await;
    let mut lines = onyx.client().chat_lines(&json!({"message": "hello there"})).await;
    lines.until("text").await;
    let began = is_at_work(&upstream, &onyx).await;
    upstream.set_default(Answer::text("Here again."));
    for id in began.into_iter().filter(|id| runs_claude(*id)) {
        let process = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        // The process may have ended together with the previous one.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
    let start = Instant::now();
    let events = lines.rest().await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(types(&events).last(), Some(&"done"), "{events:?}");
    let error = events.iter().find(|event| event["type"] == "error");
    let error = error.unwrap_or_else(|| panic!("{events:#?}"));
    assert_eq!(error["code"], "provider_unavailable", "{events:?}");
    let next = onyx.chat_stream(&json!({"message": "and again"})).await;
    assert_eq!(said(&next), "Here again.", "{next:?}");
}
