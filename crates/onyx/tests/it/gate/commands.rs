//! Commands: standing rules, approval, live output, and how they end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use onyx_test_support::{OnyxBuilder, OnyxProcess, ScriptedModel, wait_until};
use serde_json::{Value, json};

use super::{
    events_of, has_status, obedient, pending, read_tainted, results, told, until_live_output,
};
use crate::drafts::{message, path, tainting, vault};
use crate::{BINARY, SOON, builder, command, config};

fn exec(argv: &[&str]) -> (&'static str, Value) {
    ("exec", json!({"argv": argv}))
}

/// An agent that may count words without approval.
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
        assert!(said.contains("runs any program it is given"), "{program}: {said}");
    }
}

/// An agent with this rule for commands.
fn ruled(model: &ScriptedModel, rule: &[&str]) -> OnyxBuilder {
    let agents = json!({"agents": {"list": [{
        "id": "main", "default": true, "model": "mine/some-model", "tier": "act",
        "tools": {"commands": [rule]},
    }]}});
    tainting(builder(model)).file("people/owner/vault/a.md", "one two three\n").merge(agents)
}

#[tokio::test]
async fn no_option_of_a_program_in_a_rule_runs_another_unasked() {
    let model = obedient().await;
    for (rule, argv) in [
        (&["split"][..], &["split", "--filter=sh -c 'echo evil > planted'", "a.md"][..]),
        (&["split"], &["split", "a.md", "--filter=sh -c 'echo evil > planted'"]),
        (&["sort"], &["sort", "--compress-program=./evil", "-S1", "a.md"]),
        (&["rg"], &["rg", "--pre", "./evil", "one"]),
    ] {
        let onyx = ruled(&model, rule).start().await;
        let ask = json!({"model": "onyx:main", "messages": [{"role": "user", "content": message(&[exec(argv)])}]});
        let _ = onyx.post("/v1/chat/completions", &ask).await.expect(200);
        assert_eq!(pending(&onyx).await.len(), 1, "{argv:?}");
        assert_eq!(vault(&onyx, "planted"), None, "{argv:?}");
        assert!(!onyx.log().contains("can run anything"), "{rule:?}");
    }
}

#[tokio::test]
async fn a_rule_for_a_program_that_can_run_anything_is_said_loudly_and_ends_with_taint() {
    let model = obedient().await;
    let onyx = ruled(&model, &["git", "-c"]).start().await;
    let said = "this program can run anything";
    assert!(onyx.log().contains(said), "{}", onyx.log());
    let doctor = command(&onyx.home(), &["doctor"]).output().await.unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(said) && doctor.contains("agent main"), "{doctor}");
    let own = exec(&["git", "-c", "alias.x=!echo ran > made", "x"]);
    let planted = exec(&["git", "-c", "alias.x=!echo evil > planted", "x"]);
    let events = told(&onyx, &[own]).await;
    assert_eq!(results(&events)[0]["ok"], true, "{events:#?}");
    assert_eq!(vault(&onyx, "made").as_deref(), Some("ran\n"));
    let calls = message(&[read_tainted(), planted]);
    let ask = json!({"model": "onyx:main", "messages": [{"role": "user", "content": calls}]});
    let _ = onyx.post("/v1/chat/completions", &ask).await.expect(200);
    assert_eq!(pending(&onyx).await.len(), 1);
    assert_eq!(vault(&onyx, "planted"), None);
}

#[tokio::test]
async fn a_script_that_is_swapped_while_its_run_waits_is_shown_again_and_does_not_run() {
    let model = obedient().await;
    let onyx =
        counting(&model).file("people/owner/vault/b.sh", "echo harmless > made\n").start().await;
    let body = json!({"message": message(&[exec(&["sh", "b.sh"])])});
    let mut lines = onyx.chat_lines(&body).await;
    let confirm = lines.until("confirm").await;
    let shown = confirm["preview"]["text"].as_str().unwrap();
    assert!(shown.contains("echo harmless > made"), "{shown}");
    // Another run of the same agent writes the script without approval.
    let script = json!({"path": "b.sh", "content": "echo evil > planted\n"});
    told(&onyx, &[("write_file", script)]).await;
    let draft = path(confirm["draft_id"].as_str().unwrap());
    let refused = onyx.post(&format!("{draft}/approve"), &json!({})).await.expect(409).json();
    assert_eq!(refused["code"], "draft_stale", "{refused}");
    let fresh = onyx.get(&draft).await.expect(200).json();
    let shown = fresh["preview"]["text"].as_str().unwrap();
    assert!(shown.contains("echo evil > planted"), "{fresh}");
    assert_eq!((vault(&onyx, "made"), vault(&onyx, "planted")), (None, None));
}

/// A server that finds no bubblewrap, so that only Landlock and seccomp confine its commands.
fn without_bubblewrap(folder: &Path) -> PathBuf {
    let program = folder.join("onyx-without-bubblewrap");
    let hide = "for place in /usr/bin/bwrap /usr/local/bin/bwrap /bin/bwrap; do \
                if [ -e $place ]; then mount --bind /dev/null $place; fi; done";
    // Where namespaces cannot be made, there is no bubblewrap either.
    let script = format!(
        "#!/bin/sh\nfor own in '' '--user --map-root-user'; do\n\
         if unshare $own --mount true 2>/dev/null; then\n\
         exec unshare $own --mount sh -c '{hide}; exec {BINARY} \"$@\"' onyx \"$@\"\nfi\ndone\n\
         exec {BINARY} \"$@\"\n"
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[tokio::test]
async fn an_approved_command_gets_neither_the_homes_socket_nor_its_key() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    reaches_no_socket(&onyx, "bubblewrap").await;
}

#[tokio::test]
async fn without_namespaces_an_approved_command_makes_no_unix_socket_either() {
    let (model, folder) = (obedient().await, tempfile::tempdir().unwrap());
    let onyx = counting(&model).binary(without_bubblewrap(folder.path())).start().await;
    reaches_no_socket(&onyx, "Landlock and seccomp").await;
}

async fn reaches_no_socket(onyx: &OnyxProcess, kind: &str) {
    let health = onyx.get("/api/health").await.expect(200).json();
    let all = health["dependencies"].as_array().unwrap();
    let sandbox = all.iter().find(|one| one["name"] == "sandbox").unwrap();
    assert_eq!(sandbox["detail"], kind, "{health:#}");
    let home = onyx.home().display().to_string();
    let key = std::fs::read_to_string(onyx.home().join("onyx.sock.key")).unwrap();
    let script = format!(
        "cat {home}/onyx.sock.key ../../../onyx.sock.key; python3 -I -c 'import socket; \
         socket.socket(socket.AF_UNIX)'; python3 -I -c 'import socket; \
         socket.socket(socket.AF_UNIX).connect(\"{home}/onyx.sock\")'; echo end"
    );
    let body = json!({"message": message(&[exec(&["sh", "-c", &script])])});
    let mut lines = onyx.chat_lines(&body).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    approve(onyx, &confirm).await;
    lines.rest().await;
    let events = events_of(onyx, &start).await;
    let output = results(&events)[0]["output"].as_str().unwrap();
    assert!(output.ends_with("end"), "{output}");
    // Making a socket is refused already, so it does not matter what it could connect to.
    assert_eq!(output.matches("PermissionError").count(), 2, "{output}");
    assert!(!output.contains(&key), "{output}");
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
    let seen = until_live_output(&onyx, run).await;
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

#[tokio::test]
async fn a_client_that_goes_away_does_not_end_what_a_person_has_approved() {
    let model = obedient().await;
    let onyx = counting(&model).start().await;
    let script = "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo done > made";
    let body = json!({"message": message(&[exec(&["sh", "-c", script])])});
    let mut lines = onyx.chat_lines(&body).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    let goes_away = async {
        wait_until("the command to begin", SOON, || vault(&onyx, "begun").is_some()).await;
        drop(lines);
        // All pieces are there once the run has ended.
        events_of(&onyx, &start).await;
        std::fs::write(onyx.home().join("people/owner/vault/go"), "").unwrap();
    };
    tokio::join!(approve(&onyx, &confirm), goes_away);
    assert_eq!(vault(&onyx, "made").as_deref(), Some("done\n"));
}
