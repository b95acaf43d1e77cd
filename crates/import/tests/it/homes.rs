//! Tests homes of agents, which OpenClaw 2026.9.6 and nanobot 0.3.5 wrote while a scripted model
//! drove them.

use std::collections::BTreeMap;

use onyx_import::{
    BrokenFiles, Import, ImportTarget, ImportedPart, ImportedSession, Item, Kind, SettingPlace,
    Source, read,
};
use serde_json::json;

use super::support::{copy_of, files, kinds, notes, read_copy};

fn sessions(import: &Import) -> Vec<&ImportedSession> {
    let sessions = import.items.iter().filter_map(|item| match item {
        Item::Session(session) => Some(session),
        _ => None,
    });
    sessions.collect()
}

/// The speakers and texts of a session, one line a message.
fn talk(session: &ImportedSession) -> Vec<String> {
    let lines = session.messages.iter().map(|message| match &message.said {
        ImportedPart::Person { text } => format!("person: {text}"),
        ImportedPart::Model { text, model } => format!("{model}: {text}"),
        ImportedPart::Call { id, tool, input } => format!("call {id}: {tool} {input}"),
        ImportedPart::Result { id, output, is_error } => {
            format!("result {id} {is_error}: {output}")
        }
    });
    lines.collect()
}

fn config(import: &Import) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for item in &import.items {
        let (name, value) = match item {
            Item::Agent(agent) => (format!("agent {}", agent.id), &agent.settings),
            Item::Setting(setting) => {
                let name = match &setting.place {
                    SettingPlace::Provider { name } => format!("provider {name}"),
                    SettingPlace::McpServer { name } => format!("mcp {name}"),
                    SettingPlace::Connector { network, account } => format!("{network}/{account}"),
                };
                (name, &setting.settings)
            }
            _ => continue,
        };
        all.insert(name, json!(value));
    }
    all.into()
}

#[test]
fn a_home_of_openclaw_is_read_whole() {
    let home = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, home.path());
    let expected = BTreeMap::from([
        (Kind::Agent, 2),
        (Kind::Provider, 1),
        (Kind::Persona, 5),
        (Kind::Memory, 4),
        (Kind::File, 2),
        (Kind::Skill, 2),
        (Kind::Job, 3),
        (Kind::Session, 3),
    ]);
    assert_eq!(kinds(&import), expected);
    assert_eq!(
        config(&import),
        json!({
            "provider mine": {"kind": "openai", "baseUrl": "http://127.0.0.1:18222/v1",
                "apiKey": "${MINE_KEY}", "models": ["scripted"]},
            "agent main": {"name": "Main", "model": "mine/scripted"},
            "agent research": {"name": "Research", "model": "mine/scripted",
                "tools": {"allow": ["read_file", "web_search"], "deny": ["exec"]}},
        })
    );
    let sessions = sessions(&import);
    let names: Vec<_> = sessions
        .iter()
        .map(|it| (it.agent.clone().unwrap().to_string(), it.title.as_deref()))
        .collect();
    assert_eq!(
        names,
        [
            ("main".into(), Some("Shopping")),
            ("main".into(), Some("Good morning")),
            ("research".into(), Some("Hello research"))
        ]
    );
    assert_eq!(
        talk(sessions[1]),
        [
            "person: Good morning",
            "mine/scripted: Hello, I am here.",
            "person: What does my notes file say?",
            "mine/scripted: Hello, I am here.",
            "person: What does my notes file say?",
            "call call_notes: read_file {\"path\":\"notes.md\"}",
            "result call_notes false: # Notes\n\nThe bins go out on Tuesday.\n",
            "mine/scripted: Hello, I am here.",
        ]
    );
}

#[test]
fn jobs_keep_their_times_and_those_of_openclaw_itself_stay_there() {
    let home = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, home.path());
    let jobs: BTreeMap<&str, (serde_json::Value, &str)> = import
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Job(job) => Some((job.id.as_str(), (json!(job.fields), job.prompt.as_str()))),
            _ => None,
        })
        .collect();
    let expected = BTreeMap::from([
        (
            "morning-brief",
            (
                json!({"cron": "0 7 * * *", "timezone": "Europe/Berlin", "agent": "main"}),
                "Say what is on today.",
            ),
        ),
        ("check-the-plants", (json!({"every": "2h", "agent": "main"}), "Look at the plants.")),
        (
            "birthday",
            (
                json!({"at": "2031-05-04T09:00:00.000Z", "agent": "main", "enabled": false}),
                "Wish Ben a happy birthday.",
            ),
        ),
    ]);
    assert_eq!(jobs, expected);
    let notes = notes(&import);
    for line in [
        "job heartbeat-main -> OpenClaw made it for itself",
        "job skill-collection-review-main -> OpenClaw made it for itself",
        "delivery of job Birthday to webhook http://127.0.0.1:9/hook -> its results are in its session; set `deliver` for more",
        "main/BOOTSTRAP.md -> it is only for an agent's first start",
        "tool read -> read_file",
        "job Morning brief -> morning-brief",
    ] {
        assert!(notes.iter().any(|note| note == line), "{line}\n{notes:#?}");
    }
}

#[test]
fn files_of_a_workspace_go_where_onyx_has_a_place_for_them() {
    let home = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, home.path());
    let mut places: Vec<String> = import
        .items
        .iter()
        .filter_map(|item| match item {
            Item::File(file) => Some(match &file.place {
                ImportTarget::Persona { agent } => format!("agents/{agent}/{}", file.path),
                ImportTarget::Memory { agent } => format!("memory/{agent}/{}", file.path),
                ImportTarget::User => format!("person/{}", file.path),
                ImportTarget::Vault => format!("vault/{}", file.path),
            }),
            _ => None,
        })
        .collect();
    places.sort();
    assert_eq!(
        places,
        [
            "agents/main/AGENTS.md",
            "agents/main/HEARTBEAT.md",
            "agents/main/IDENTITY.md",
            "agents/main/SOUL.md",
            "agents/research/SOUL.md",
            "memory/main/MEMORY.md",
            "memory/main/daily/2026-11-16.md",
            "memory/main/people.md",
            "person/USER.md",
            "vault/openclaw/main/notes.md",
            "vault/openclaw/main/projects/garden.md",
        ]
    );
}

#[test]
fn skills_of_a_workspace_come_whole_beside_those_that_every_agent_has() {
    let home = copy_of("openclaw");
    // The config names a workspace that is not at its usual place.
    std::fs::rename(home.path().join("workspace-research"), home.path().join("lab")).unwrap();
    let skill = home.path().join("lab/skills/Look Up.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(&skill, "---\nname: look-up\ndescription: How to look.\n---\nLook.\n").unwrap();
    std::fs::write(home.path().join("lab/HEARTBEAT.md"), "- Is the kettle on?\n").unwrap();
    let config = std::fs::read_to_string(home.path().join("openclaw.json")).unwrap();
    assert!(config.contains("workspace-research"), "{config}");
    let config = config.replace("workspace-research", "lab");
    std::fs::write(home.path().join("openclaw.json"), config).unwrap();
    let import = read_copy(Source::OpenClaw, home.path());
    let mut skills: Vec<String> = import
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Skill(skill) => {
                let files: Vec<&str> = skill.files.iter().map(|file| file.path.as_str()).collect();
                Some(format!("{}: {}", skill.name, files.join(", ")))
            }
            _ => None,
        })
        .collect();
    skills.sort();
    assert_eq!(skills, ["bin-day: SKILL.md, bins.txt", "look-up: SKILL.md", "tea: SKILL.md"]);
    let heartbeats: Vec<&str> = import
        .items
        .iter()
        .filter_map(|item| match item {
            Item::File(file) if file.path == "HEARTBEAT.md" => {
                assert!(matches!(file.place, ImportTarget::Persona { .. }), "{file:?}");
                std::str::from_utf8(&file.content).ok()
            }
            _ => None,
        })
        .collect();
    assert_eq!(heartbeats.len(), 2, "one of each workspace: {heartbeats:?}");
}

#[test]
fn the_older_generation_says_the_same_in_its_own_way() {
    let home = copy_of("openclaw-legacy");
    let import = read_copy(Source::OpenClaw, home.path());
    assert_eq!(
        config(&import),
        json!({
            "telegram/default": {"token": "${TELEGRAM_BOT_TOKEN}", "allow": ["123456"], "enabled": false},
            "mcp files": {"command": "mcp-files", "args": ["--read-only"]},
            "agent main": {"name": "Main",
                "model": {"primary": "gemini/gemini-pro", "fallbacks": ["github_copilot/gpt"]},
                "tools": {"allow": ["read_file", "write_file", "web_search"], "deny": ["exec"]}},
        })
    );
    let newer = copy_of("openclaw");
    let newer = read_copy(Source::OpenClaw, newer.path());
    // Sessions from either store must be the same: the same keys, names, times and texts.
    assert_eq!(sessions(&import)[..], sessions(&newer)[..2]);
    assert_eq!(kinds(&import)[&Kind::Job], 3);
    let notes = notes(&import);
    for line in [
        "channel whatsapp/default -> Onyx does not support this network",
        "`bindings` of the config -> set `bindings` in onyx.json instead",
        "model google/gemini-pro -> gemini/gemini-pro",
        "tool browser in `deny` -> Onyx has no such tool",
    ] {
        assert!(notes.iter().any(|note| note == line), "{line}\n{notes:#?}");
    }
}

#[test]
fn records_that_openclaw_has_compressed_are_read() {
    let home = copy_of("openclaw");
    let before = read_copy(Source::OpenClaw, home.path());
    let database = home.path().join("agents/main/agent/openclaw-agent.sqlite");
    let database = rusqlite::Connection::open(database).unwrap();
    // This is the record of "Please remember the milk", compressed by zstd.
    let packed = include_bytes!("../fixtures/milk.json.zst");
    let changed = database.execute(
        "UPDATE transcript_events SET event_json = NULL, event_zstd = ?1 WHERE event_json LIKE '%the milk%'",
        [packed.as_slice()],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(database);
    assert_eq!(read_copy(Source::OpenClaw, home.path()), before);
}

#[test]
fn a_session_that_has_branches_is_read_as_it_was_shown() {
    let home = copy_of("openclaw-legacy");
    let file = "agents/main/sessions/46b7de14-716b-41e0-9ace-842f06d61ac5.jsonl";
    let path = home.path().join(file);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(
        r#"{"type":"message","id":"b1","parentId":"456278a0-9511-4896-8816-d8b17f9fdcbe","timestamp":"2026-11-17T05:00:00.000Z","message":{"role":"user","content":"Instead: butter"}}"#,
    );
    std::fs::write(&path, text).unwrap();
    let import = read_copy(Source::OpenClaw, home.path());
    let said = talk(sessions(&import)[0]);
    assert_eq!(
        said,
        [
            "person: Please remember the milk",
            "mine/scripted: Hello, I am here.",
            "person: Instead: butter"
        ]
    );
    let notes = notes(&import);
    let told =
        "2 messages of other branches in Shopping -> only the branch that was shown is imported";
    assert!(notes.iter().any(|note| note == told), "{notes:#?}");
}

#[test]
fn a_broken_session_is_told_by_its_file_and_line() {
    let home = copy_of("openclaw-legacy");
    let file = "agents/main/sessions/46b7de14-716b-41e0-9ace-842f06d61ac5.jsonl";
    let path = home.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let cut: String = text.lines().take(5).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, cut + "{\"type\":\"mess").unwrap();
    let error = read(Source::OpenClaw, home.path(), BrokenFiles::Stop).unwrap_err();
    let expected = format!("{file}, line 6: EOF while parsing a string");
    assert_eq!(error.to_string(), expected);
    let import = read(Source::OpenClaw, home.path(), BrokenFiles::Skip).unwrap();
    assert_eq!(kinds(&import)[&Kind::Session], 1);
    assert!(notes(&import).contains(&format!("{expected} -> it is broken")));
}

#[test]
fn a_broken_config_is_told_by_its_line() {
    let home = copy_of("openclaw-legacy");
    std::fs::write(home.path().join("openclaw.json"), "{\n  agents: {\n    list: [ }\n").unwrap();
    let error = read(Source::OpenClaw, home.path(), BrokenFiles::Stop).unwrap_err();
    assert!(error.to_string().starts_with("openclaw.json, line 3: "), "{error}");
}

#[test]
fn a_home_of_nanobot_is_read_whole() {
    let home = copy_of("nanobot");
    let before = files(home.path());
    let import = read_copy(Source::Nanobot, home.path());
    let expected = BTreeMap::from([
        (Kind::Agent, 1),
        (Kind::Provider, 1),
        (Kind::Persona, 2),
        (Kind::Memory, 2),
        (Kind::File, 1),
        (Kind::Skill, 1),
        (Kind::Job, 2),
        (Kind::Session, 3),
    ]);
    assert_eq!(kinds(&import), expected);
    assert_eq!(
        config(&import),
        json!({
            "provider custom": {"kind": "openai", "baseUrl": "http://127.0.0.1:18222/v1",
                "apiKey": "${CUSTOM_KEY}"},
            "agent nanobot": {"model": "custom/scripted", "temperature": 0.1},
        })
    );
    let sessions = sessions(&import);
    let direct = sessions.iter().find(|session| session.key == "cli:direct").unwrap();
    assert_eq!(
        talk(direct),
        [
            "person: What does my notes file say?",
            "call call_notes: read_file {\"path\":\"notes.md\"}",
            "result call_notes false: 1| # Notes\n2| \n3| The bins go out on Tuesday.\n\n(End of file — 3 lines total)",
            "nanobot/model: Your notes say that the bins go out on Tuesday.",
        ]
    );
    let jobs: Vec<_> = import
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Job(job) => Some((job.id.as_str(), json!(job.fields))),
            _ => None,
        })
        .collect();
    // The second job is only in the log of actions, and not yet in jobs.json.
    assert_eq!(
        jobs,
        [
            (
                "morning-brief",
                json!({"cron": "0 7 * * *", "timezone": "Europe/Berlin", "agent": "nanobot"})
            ),
            ("check-the-plants", json!({"every": "2h", "agent": "nanobot"})),
        ]
    );
    assert_eq!(files(home.path()), before, "originals are untouched");
}

#[test]
fn what_is_no_home_is_told_so() {
    let empty = tempfile::tempdir().unwrap();
    for (source, said) in [
        (Source::OpenClaw, "is no home of OpenClaw: it holds no openclaw.json"),
        (Source::Nanobot, "is no home of nanobot: it holds no config.json"),
        (Source::ChatGpt, "is no export of ChatGPT: it holds no conversations.json"),
        (Source::Claude, "is no export of Claude: it holds no conversations.json"),
        (Source::OpenWebUi, "is no folder of Open WebUI: it holds no webui.db"),
    ] {
        let error = read(source, empty.path(), BrokenFiles::Stop).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
