use onyx_test_support::{Answer, ScriptedCall, ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use super::{run_now, send};
use crate::{SOON, builder, said};

pub(crate) async fn known(onyx: &onyx_test_support::OnyxProcess, job: &str) {
    let accepted = async || {
        let reply = onyx.get(&format!("/api/jobs/{job}")).await;
        (reply.status == 200 && reply.json()["state"] == "active").then_some(())
    };
    wait_for("the config's job", SOON, accepted).await;
}

#[tokio::test]
async fn a_heartbeat_with_nothing_to_do_calls_no_model_and_one_with_little_costs_little() {
    let model = ScriptedModel::with_answers(["HEARTBEAT_OK", "The milk runs out tomorrow."]).await;
    let config = json!({"jobs": {"heartbeat": {"every": "1h", "maxCostPerDay": 0.5}}});
    let onyx = builder(&model)
        .file("agents/main/HEARTBEAT.md", "# Heartbeat\n\n- \n")
        .file("agents/main/SOUL.md", "You are wordy. ".repeat(500))
        .file("people/owner/USER.md", "Likes tea. ".repeat(500))
        .merge(config)
        .start()
        .await;
    known(&onyx, "system:heartbeat").await;
    let run = run_now(&onyx, "system:heartbeat").await;
    assert_eq!((&run["outcome"], model.request_count()), (&json!("nothing"), 0), "{run}");

    let file = "Look whether milk.md says that there is none.\n";
    std::fs::write(onyx.home().join("agents/main/HEARTBEAT.md"), file).unwrap();
    let run = run_now(&onyx, "system:heartbeat").await;
    assert_eq!((&run["outcome"], model.request_count()), (&json!("nothing"), 1), "{run}");
    let size = model.last_request().body.to_string().len();
    assert!(size <= 4 * 1024 + file.len(), "a beat sends {size} bytes");
    let sessions = onyx.get("/v1/sessions?origin=job").await.expect(200).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 0, "{sessions}");

    let run = run_now(&onyx, "system:heartbeat").await;
    assert_eq!(
        (&run["outcome"], &run["text"]),
        (&json!("done"), &json!("The milk runs out tomorrow."))
    );
    let sessions = onyx.get("/v1/sessions?origin=job").await.expect(200).json();
    assert_eq!(sessions["sessions"][0]["unread"], true);
}

#[tokio::test]
async fn the_heartbeat_of_an_agent_with_a_workspace_looks_at_the_file_there() {
    let model = ScriptedModel::with_answers(["The kettle is on."]).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("HEARTBEAT.md"), "- Is the kettle on?\n").unwrap();
    let agents = json!({"agents": {"list": [{"id": "main", "default": true, "model": "mine/m",
        "tier": "act", "workspace": folder.path().to_str().unwrap()}]},
        "jobs": {"heartbeat": {"every": "1h"}}});
    let onyx = builder(&model)
        .file("agents/main/HEARTBEAT.md", "- Is the door shut?\n")
        .merge(agents)
        .start()
        .await;
    known(&onyx, "system:heartbeat").await;
    let run = run_now(&onyx, "system:heartbeat").await;
    assert_eq!(run["text"], "The kettle is on.", "{run}");
    let asked = model.last_request().body.to_string();
    assert!(asked.contains("Is the kettle on?") && !asked.contains("door"), "{asked}");
}

#[tokio::test]
async fn old_sessions_are_removed_by_count_only_where_the_config_says_so() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(
            json!({"jobs": {"sessionCleanup": {"keepNewest": 2}, "memorySync": {"every": "1h"}}}),
        )
        .start()
        .await;
    for number in 0..4 {
        let told = onyx.chat_stream(&json!({"message": format!("message {number}")})).await;
        assert_eq!(said(&told), "ok");
    }
    known(&onyx, "system:session-cleanup").await;
    let run = run_now(&onyx, "system:session-cleanup").await;
    assert_eq!(run["text"], "2 sessions were removed.", "{run}");
    let left = onyx.get("/v1/sessions").await.expect(200).json();
    let previews: Vec<&Value> =
        left["sessions"].as_array().unwrap().iter().map(|row| &row["title"]).collect();
    assert_eq!(previews, ["message 3", "message 2"]);
    let run = run_now(&onyx, "system:memory-sync").await;
    assert_eq!(run["outcome"], "nothing", "{run}");
    // The config's jobs can be changed only in the config.
    let _ =
        send(&onyx, Method::DELETE, "/api/jobs/system:memory-sync", &json!({})).await.expect(400);
}

#[tokio::test]
async fn what_the_config_cannot_mean_is_an_error_of_the_config() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let text = onyx.get("/api/admin/config").await.expect(200).json();
    let text = text["text"].as_str().unwrap();
    let broken = text.replacen('{', "{ \"jobs\": { \"heartbeat\": { \"every\": \"often\" } },", 1);
    let reply = send(&onyx, Method::PUT, "/api/admin/config", &json!({"text": broken})).await;
    let problem = reply.expect(400).json();
    assert!(problem["detail"].as_str().unwrap().contains("jobs.heartbeat.every"), "{problem}");
}

#[tokio::test]
async fn memory_is_kept_by_the_clock_as_drafts_alone() {
    let model = ScriptedModel::start().await;
    let settings = json!({"jobs": {"memoryKeeping": {"every": "1d", "agent": "main"}}});
    let onyx = builder(&model).merge(settings).start().await;
    known(&onyx, "system:memory-keeping").await;
    let run = run_now(&onyx, "system:memory-keeping").await;
    assert_eq!(run["text"], "There are no daily logs to look at.", "{run}");

    let memory = onyx.home().join("people/owner/memory/main");
    std::fs::create_dir_all(memory.join("daily")).unwrap();
    std::fs::write(memory.join("daily/2026-03-01.md"), "- 10:00 Ben moved to Rome\n").unwrap();
    let fact = json!({"heading": "Facts", "text": "- Ben lives in Rome"});
    model.push(Answer::tool_calls([ScriptedCall::new("a", "memory_write", &fact)]));
    model.push(Answer::text("One fact is proposed."));
    let run = run_now(&onyx, "system:memory-keeping").await;
    assert_eq!(run["outcome"], "done", "{run}");
    let waiting = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(waiting["drafts"].as_array().unwrap().len(), 1, "{waiting}");
    assert!(!memory.join("MEMORY.md").exists(), "nobody has agreed");
}
