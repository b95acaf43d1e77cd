use onyx_plugins::{PackageFiles, PluginState, PluginStatus};
use onyx_tools::{HookAnswer, HookNote, HookedRun, Hooks as _, SkillState};
use onyx_types::{ErrorCode, RunStatus};
use serde_json::json;

use super::house::{House, approver, guard, owner, package};

#[tokio::test]
async fn nothing_of_a_plugin_counts_before_it_is_accepted_and_a_change_waits_again() {
    let house = House::new().await;
    let added = house.add("careful", guard()).await;
    assert_eq!((&added.state, added.enabled), (&PluginState::New, false));
    let diff = added.diff.unwrap();
    assert!(diff.contains("write_file") && diff.contains("plugin.py"), "{diff}");
    let fault = house.plugins.check_enabling("careful").await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ConfirmationRequired);
    // A plugin that only the config enables does not run.
    house.follow(&[("careful", json!({}))]).await;
    let view = house.plugins.get("careful").await.unwrap();
    assert_eq!(
        (view.status, view.problems),
        (PluginStatus::Idle, vec!["it was not accepted".to_owned()])
    );
    assert_eq!(house.no_to("write_file", json!({"text": "bad"})).await, None);

    let other = added.hash.map(|hash| hash.keyed(&[0; 32])).unwrap();
    let fault = house.plugins.accept(&approver(), "careful", other).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::VersionConflict);
    assert_eq!(house.accept("careful").await.state, PluginState::Accepted);
    house.wait_for_status("careful", |status| *status == PluginStatus::Running).await;
    // Misleading characters in its text are written out.
    let no = house.no_to("write_file", json!({"text": "bad"})).await.unwrap();
    assert_eq!(no, "careful: it says bad\\u{202e}");
    assert_eq!(house.no_to("write_file", json!({"text": "fine"})).await, None);

    // When its folder changes, the program ends, and the calls that it guarded wait for the owner.
    let tending = house.plugins.clone();
    let stop = onyx_types::Cancel::new();
    let tend = tokio::spawn({
        let stop = stop.clone();
        async move { tending.tend(&stop).await }
    });
    let script = house.place("careful").join("plugin.py");
    std::fs::write(&script, include_str!("plugin.py").replace("\"bad\"", "\"never\"")).unwrap();
    house.wait_for_status("careful", |status| *status == PluginStatus::Idle).await;
    let view = house.plugins.get("careful").await.unwrap();
    assert_eq!(view.state, PluginState::Changed);
    let diff = view.diff.unwrap();
    assert!(diff.lines().any(|line| line.starts_with("+") && line.contains("plugin.py")), "{diff}");
    let no = house.no_to("write_file", json!({"text": "fine"})).await.unwrap();
    assert_eq!(no, "careful: it has changed since it was accepted");
    assert_eq!(house.no_to("read_file", json!({})).await, None);
    house.accept("careful").await;
    house.wait_for_status("careful", |status| *status == PluginStatus::Running).await;
    assert_eq!(house.no_to("write_file", json!({"text": "bad"})).await, None);
    // The same happens when its folder is removed.
    std::fs::remove_dir_all(house.place("careful")).unwrap();
    house.wait_for_status("careful", |status| *status == PluginStatus::Idle).await;
    let no = house.no_to("write_file", json!({})).await.unwrap();
    assert!(no.contains("there is no such plugin"), "{no}");
    stop.cancel();
    tend.await.unwrap();
}

#[tokio::test]
async fn a_file_that_changes_after_the_start_does_not_reach_the_program() {
    let house = House::new().await;
    house.enable("careful", guard(), json!({})).await;
    house.wait_for_status("careful", |status| *status == PluginStatus::Running).await;
    std::fs::write(house.place("careful").join("plugin.py"), "import os; os._exit(9)").unwrap();
    // The folder was not checked yet, and the accepted copy runs.
    let no = house.no_to("write_file", json!({"text": "bad"})).await.unwrap();
    assert!(no.starts_with("careful: it says bad"), "{no}");
}

#[tokio::test]
async fn hooks_hear_of_what_their_grants_name_and_of_nothing_else() {
    let house = House::new().await;
    let mut part = json!({
        "command": ["python3", "plugin.py"],
        "hooks": [
            {"event": "before_tool", "annotate": true, "deadline_ms": 20_000},
            {"event": "after_tool", "annotate": true, "deadline_ms": 20_000},
            {"event": "before_run", "veto": true, "annotate": true, "deadline_ms": 20_000},
            {"event": "after_run"}, {"event": "on_message"}, {"event": "on_start"},
        ],
        "grants": {"events": ["before_tool", "after_tool", "before_run", "after_run", "on_message",
            "on_start"], "people": ["owner"]},
    });
    house.enable("curious", part.clone(), json!({})).await;
    let note = |text: &str| HookNote { by: "curious".to_owned(), text: text.to_owned() };
    // Without access to content the hook receives only names. Its veto of "bad" words does not
    // count, because the hook was not granted one.
    let heard = house.call("write_file", json!({"text": "bad"})).await;
    let names = "saw ['agent', 'effect', 'person', 'run', 'session', 'tool']";
    assert_eq!((heard.veto, heard.notes), (None, vec![note(names)]));
    assert_eq!(run(&house, "a bad run").await.veto, None);
    house.wait_for_log("curious", "heard hook.on_message").await;
    house.wait_for_log("curious", "heard hook.on_start").await;
    let (person, agent) = (owner(), "main".parse().unwrap());
    house.plugins.after_run(hooked(&person, &agent, ""), RunStatus::Done);
    house.wait_for_log("curious", "heard hook.after_run").await;

    part["grants"]["content"] = json!(true);
    house.enable("curious", part.clone(), json!({})).await;
    let heard = house.call("write_file", json!({"text": "x"})).await;
    let whole =
        "saw ['agent', 'arguments', 'effect', 'person', 'run', 'session', 'summary', 'tool']";
    assert_eq!(heard.notes, [note(whole)]);
    let no = run(&house, "a bad run").await.veto.unwrap();
    assert_eq!((no.by.as_str(), no.why.as_str()), ("curious", "no bad runs"));

    // The hook receives no events of other people.
    part["grants"]["people"] = json!(["anna"]);
    house.enable("curious", part, json!({})).await;
    assert_eq!(house.call("write_file", json!({})).await.notes, []);
    assert_eq!(run(&house, "a bad run").await.veto, None);
}

async fn run(house: &House, text: &str) -> HookAnswer {
    let (person, agent) = (owner(), "main".parse().unwrap());
    house.plugins.before_run(hooked(&person, &agent, text)).await
}

fn hooked<'a>(
    person: &'a onyx_types::PersonId,
    agent: &'a onyx_types::AgentId,
    text: &'a str,
) -> HookedRun<'a> {
    HookedRun {
        person,
        agent,
        session: "01900000-0000-7000-8000-000000000001".parse().unwrap(),
        run: "01900000-0000-7000-8000-000000000002".parse().unwrap(),
        text,
    }
}

#[tokio::test]
async fn a_hook_can_never_allow_more_than_the_gate() {
    let house = House::new().await;
    house.enable("wide", guard(), json!({"mode": "widen"})).await;
    // Whatever the hook answers, only a veto and notes are read from its answer.
    let heard = house.call("write_file", json!({})).await;
    assert_eq!((heard.veto, heard.notes), (None, vec![]));
}

#[tokio::test]
async fn settings_are_checked_against_the_schema_before_the_program_starts() {
    let house = House::new().await;
    let mut part = guard();
    part["config_schema"] = json!({"type": "object", "required": ["word"],
        "properties": {"word": {"type": "string"}, "mode": {}}, "additionalProperties": false});
    house.enable("careful", part, json!({"word": 5, "token": "sk-secret"})).await;
    let view = house.plugins.get("careful").await.unwrap();
    let problem = view.problems.join("; ");
    assert!(problem.contains("plugins.careful"), "{problem}");
    assert!(!problem.contains("sk-secret"), "{problem}");
    assert_eq!(view.status, PluginStatus::Idle);
    assert!(house.no_to("write_file", json!({})).await.unwrap().contains("plugins.careful"));
    house.follow(&[("careful", json!({"word": "x"}))]).await;
    house.wait_for_status("careful", |status| *status == PluginStatus::Running).await;
}

#[tokio::test]
async fn skills_and_servers_of_a_package_come_with_its_acceptance_and_wait_for_their_own() {
    let house = House::new().await;
    let mut files = package("bundle", &json!({"grants": {"network": ["example.org"]}}));
    let skill = "---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n";
    files.push(("skills/greet/SKILL.md".to_owned(), skill.into()));
    let servers = json!({
        "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
        "mcpServers": {
            "echo": {"type": "stdio", "command": "./bin/echo", "args": ["${PLUGIN_DATA}/x"],
                "env": {"A": "${PLUGIN_ROOT}"}, "cwd": "./bin"},
            "web": {"type": "streamable-http", "url": "https://example.org/mcp"},
            "old": {"type": "sse", "url": "https://example.org/sse"},
            "out": {"type": "stdio", "command": "../bin/echo"},
            "env": {"type": "stdio", "command": "true", "env": {"PLUGIN_ROOT": "/"}},
            "thief": {"type": "stdio", "command": "true", "env": {"KEY": "secret:kept"}},
        },
    });
    files.push(("mcp.json".to_owned(), servers.to_string().into_bytes()));
    files.push(("bin/echo".to_owned(), b"#!/bin/sh\ncat\n".to_vec()));
    let added = house.plugins.add(PackageFiles::of_files(files).unwrap()).await.unwrap();
    assert_eq!(added.problems.len(), 4, "{:?}", added.problems);
    assert!(house.skills.list(&owner(), &[]).await.unwrap().is_empty());
    house.follow(&[("bundle", json!({}))]).await;
    assert!(house.plugins.with_servers(&onyx_mcp::McpSettings::default()).servers.is_empty());

    house.accept("bundle").await;
    let skills = house.skills.list(&owner(), &[]).await.unwrap();
    assert_eq!((skills.len(), &skills[0].state), (1, &SkillState::New));
    let all = house.plugins.with_servers(&onyx_mcp::McpSettings::default());
    let names: Vec<&String> = all.servers.keys().collect();
    assert_eq!(names, ["bundle-echo", "bundle-web"]);
    let echo = &all.servers["bundle-echo"];
    let root = echo.env["PLUGIN_ROOT"].clone();
    let data = echo.env["PLUGIN_DATA"].clone();
    assert_eq!(
        (echo.command.as_deref(), &echo.args, &echo.env["A"], &echo.network),
        (
            Some("env"),
            &vec![
                "-C".to_owned(),
                format!("{root}/bin"),
                format!("{root}/bin/echo"),
                format!("{data}/x")
            ],
            &root,
            &vec!["example.org".to_owned()],
        )
    );
    assert_eq!(echo.folders.read, [std::path::PathBuf::from(&root)]);
    assert_eq!(echo.folders.write, [std::path::PathBuf::from(&data)]);
    assert!(!root.starts_with(house.place("bundle").to_str().unwrap()), "{root}");
    // The config's own server with that name takes precedence.
    let mut config = onyx_mcp::McpSettings::default();
    config.servers.insert("bundle-web".to_owned(), onyx_mcp::ServerSettings::default());
    let all = house.plugins.with_servers(&config);
    assert_eq!(all.servers["bundle-web"], onyx_mcp::ServerSettings::default());
    let problems = house.plugins.get("bundle").await.unwrap().problems;
    assert!(
        problems.iter().any(|why| why.contains("another MCP server named bundle-web")),
        "{problems:?}"
    );
    // The servers are removed when the plugin is disabled.
    house.follow(&[]).await;
    assert!(house.plugins.with_servers(&onyx_mcp::McpSettings::default()).servers.is_empty());
}

#[tokio::test]
async fn a_removed_plugin_leaves_nothing_that_runs_or_was_accepted() {
    let house = House::new().await;
    house.enable("careful", guard(), json!({})).await;
    house.wait_for_status("careful", |status| *status == PluginStatus::Running).await;
    house.follow(&[]).await;
    house.plugins.remove(&approver(), "careful").await.unwrap();
    assert!(!house.place("careful").exists());
    assert!(house.plugins.list().await.unwrap().is_empty());
    // The same package must be accepted again after it was removed.
    assert_eq!(house.add("careful", guard()).await.state, PluginState::New);
    assert_eq!(house.no_to("write_file", json!({})).await, None);
}
