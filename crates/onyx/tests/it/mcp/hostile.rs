use serde_json::json;

use super::{accept_all, add, called, obedient, output, server, test, tool};
use crate::builder;

/// A server in this mode. Its owner believes that its tools only read.
fn reading(mode: &str) -> serde_json::Value {
    let mut settings = server(mode, &[]);
    settings["effects"] = json!({"echo": "read"});
    // Only one mode is to meet the limit. The others take their time on a busy machine.
    settings["timeout"] = json!(if mode == "hang" { 3 } else { 60 });
    settings
}

#[tokio::test]
async fn servers_that_crash_hang_flood_or_never_end_cost_their_own_calls_and_nothing_else() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    for mode in ["plain", "crash", "hang", "flood", "endless", "huge", "phish"] {
        add(&onyx, mode, reading(mode)).await;
        accept_all(&onyx, mode).await;
    }
    for (mode, said) in [
        ("crash", "the program ended"),
        ("hang", "no answer within 3 s"),
        ("flood", "sends too many unrequested messages"),
        ("endless", "a message is longer than"),
    ] {
        let (result, lines) =
            called(&onyx, &format!("mcp:{mode}/echo"), json!({"text": "x"})).await;
        assert_eq!(result["ok"], false, "{mode}: {result}");
        assert!(output(&result).contains(said), "{mode}: {result}");
        assert_eq!(lines.last().unwrap()["type"], "done", "{mode}");
        // The server is paused for a while, and a call gets an error at once.
        let (again, _) = called(&onyx, &format!("mcp:{mode}/echo"), json!({"text": "y"})).await;
        assert!(
            output(&again).contains("next attempt is in") || output(&again).contains(said),
            "{again}"
        );
        let (fine, _) = called(&onyx, "mcp:plain/echo", json!({"text": "z"})).await;
        assert_eq!(output(&fine), "echo: z", "after {mode}");
    }
    // A result of 10 MB is stored as an artifact, so the prompt stays small.
    let (huge, _) = called(&onyx, "mcp:huge/echo", json!({"text": "x"})).await;
    assert!(output(&huge).len() <= 32 * 1024 && output(&huge).contains("read_artifact"));
    assert!(model.last_request().body.to_string().len() < 100_000);
    // A question that looks like one of Onyx is declined without asking anybody.
    let (phished, lines) = called(&onyx, "mcp:phish/echo", json!({"text": "x"})).await;
    assert!(output(&phished).contains("decline"), "{phished}");
    assert!(!lines.iter().any(|line| line["type"] == "confirm"), "{lines:#?}");
}

#[tokio::test]
async fn names_that_shadow_ours_and_schemas_that_lead_out_are_no_tools() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    add(&onyx, "shadow", server("shadow", &[])).await;
    let seen = test(&onyx, "shadow").await;
    assert_eq!(tool(&seen, "read_file")["state"], "new");
    for (name, why) in [
        ("READ_FILE", "another tool has the same name"),
        ("../up", "its name is not allowed"),
        ("ref", "refers to another document"),
    ] {
        let told = tool(&seen, name);
        assert_eq!(told["state"], "unusable", "{told}");
        assert!(told["problem"].as_str().unwrap().contains(why), "{told}");
    }
    super::accept(&onyx, "shadow", &seen).await;
    std::fs::create_dir_all(onyx.home().join("people/owner/vault")).unwrap();
    std::fs::write(onyx.home().join("people/owner/vault/a.md"), "mine").unwrap();
    let (own, _) = called(&onyx, "read_file", json!({"path": "a.md"})).await;
    assert_eq!(output(&own), "mine", "our own tool keeps its name");
}

#[tokio::test]
async fn a_server_that_cannot_be_started_says_why_and_the_gateway_starts_without_it() {
    let model = obedient().await;
    let missing = json!({"mcp": {"servers": {"none": {"command": "no-such-program"}}}});
    let onyx = builder(&model).merge(missing).start().await;
    let seen = test(&onyx, "none").await;
    assert_eq!(seen["status"], "failing", "{seen:#}");
    let told = format!("{}{}", seen["problem"], seen["log"]);
    assert!(told.contains("no-such-program"), "{seen:#}");
    let wrong = json!({"mcpServers": {"x": {"command": "a", "url": "https://b.example"}}});
    let refused = onyx.post("/api/admin/mcp", &wrong).await.expect(400).json();
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("either `command` or `url`"), "{refused}");
}

/// The server's output and input are closed before it has written its reason.
#[tokio::test]
async fn the_last_words_of_a_server_that_ends_are_told() {
    let model = obedient().await;
    for closed in ["exec 1>&-", "exec 0<&-", "exec 0<&- 1>&-"] {
        let script = format!("{closed}; sleep 0.1; echo there is no licence >&2; exit 3");
        let servers = json!({"brief": {"command": "sh", "args": ["-c", script]}});
        let onyx = builder(&model).merge(json!({"mcp": {"servers": servers}})).start().await;
        let seen = test(&onyx, "brief").await;
        assert_eq!(seen["status"], "failing", "{seen:#}");
        let told = seen["log"].to_string();
        assert!(told.contains("there is no licence"), "{closed}: {seen:#}");
    }
}
