//! Imports: `onyx import` with and without a server, the route that accepts an export, and configs
//! of other programs that work unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use onyx_test_support::{Answer, ScriptedModel};
use serde_json::{Value, json};

use crate::{builder, config, onyx, run};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

async fn report(home: &Path, arguments: &[&str]) -> Value {
    let ran = run(home, &[&["import"], arguments, &["--json"]].concat()).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

async fn listed(home: &Path, arguments: &[&str]) -> Value {
    let ran = run(home, arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

/// All files of the home that people would miss, with their contents.
fn kept(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.join("people"), home.join("agents")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found.insert(home.join("onyx.json"), fs::read(home.join("onyx.json")).unwrap());
    found
}

fn counts(report: &Value, kind: &str) -> [u64; 4] {
    let counts = &report["counts"][kind];
    ["new", "added", "already_there", "kept"].map(|name| counts[name].as_u64().unwrap_or(0))
}

/// Tests the import. It is called for a home with a server and for one without.
async fn move_in(home: &Path) {
    let openclaw = fixture("openclaw-legacy");
    let before = kept(home);
    let dry = report(home, &["openclaw", &openclaw, "--dry-run"]).await;
    assert_eq!(kept(home), before, "a dry run changes nothing");
    let first = report(home, &["openclaw", &openclaw]).await;
    assert_eq!(first["counts"], dry["counts"]);
    for (kind, expected) in [
        // The home already has an agent of this name, whose settings are kept.
        ("agent", [0, 0, 1, 0]),
        ("connector", [1, 0, 0, 0]),
        ("mcp_server", [1, 0, 0, 0]),
        ("persona", [1, 0, 0, 0]),
        ("memory", [1, 0, 0, 0]),
        ("job", [3, 0, 0, 0]),
        ("session", [2, 0, 0, 0]),
    ] {
        assert_eq!(counts(&first, kind), expected, "{kind}: {first}");
    }
    let after = kept(home);
    let second = report(home, &["openclaw", &openclaw]).await;
    for (kind, [new, added, there, _]) in
        [("job", [0, 0, 3, 0]), ("session", [0, 0, 2, 0]), ("connector", [0, 0, 1, 0])]
    {
        assert_eq!(counts(&second, kind)[..3], [new, added, there], "{kind}: {second}");
    }
    assert_eq!(kept(home), after, "a second import changes nothing");
    let words = run(home, &["import", "openclaw", &openclaw]).await;
    assert!(words.out.starts_with("Everything from openclaw was already here"), "{words:?}");

    let nanobot = report(home, &["nanobot", &fixture("nanobot")]).await;
    assert_eq!(counts(&nanobot, "agent"), [1, 0, 0, 0], "{nanobot}");
    assert_eq!(counts(&nanobot, "session"), [3, 0, 0, 0]);
    for (program, path, sessions) in
        [("chatgpt", "chatgpt", 2), ("claude", "claude", 1), ("open-webui", "open-webui", 1)]
    {
        let came = report(home, &[program, &fixture(path)]).await;
        assert_eq!(counts(&came, "session"), [sessions, 0, 0, 0], "{came}");
    }
    let sessions = listed(home, &["sessions", "list", "--all", "--json"]).await;
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 9, "{sessions:?}");
    let named = |title: &str| sessions.iter().find(|session| session["title"] == title).unwrap();
    assert_eq!(named("Boiling eggs")["agent"], "main", "those without an agent are the default's");

    // The job does not fire and has no effect before a person has accepted it.
    let jobs = listed(home, &["jobs", "list", "--json"]).await;
    let jobs: Vec<&Value> = jobs["jobs"].as_array().unwrap().iter().collect();
    let states: Vec<&str> = jobs.iter().map(|job| job["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["waiting"; 5], "{jobs:?}");
    let skills = listed(home, &["skills", "list", "--json"]).await;
    assert_eq!(skills["skills"][0]["name"], "tea", "{skills}");
    assert_eq!(skills["skills"][0]["state"], "new");
}

#[tokio::test]
async fn people_move_in_without_a_server() {
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("onyx.json"), config(&model).to_string()).unwrap();
    move_in(&home).await;
}

#[tokio::test]
async fn people_move_in_through_a_server_and_go_on_with_what_they_said() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    move_in(&onyx.home()).await;
    let sessions = onyx.get("/v1/sessions").await.expect(200).json();
    let shopping =
        sessions["sessions"].as_array().unwrap().iter().find(|it| it["title"] == "Shopping");
    let id = shopping.unwrap()["id"].as_str().unwrap().to_owned();
    model.push(Answer::text("Milk and bread."));
    let events =
        onyx.chat_stream(&json!({"session_id": id, "message": "What was it again?"})).await;
    assert_eq!(crate::said(&events), "Milk and bread.");
    let asked = model.last_request().body.to_string();
    for words in ["Please remember the milk", "And please remember the bread", "What was it again?"]
    {
        assert!(asked.contains(words), "{asked}");
    }
    // The imported conversation is foreign, so a run that reads it is tainted.
    let log = onyx.home().join(format!("people/owner/sessions/main/{id}.jsonl"));
    let log = fs::read_to_string(log).unwrap();
    let answer = log.lines().rfind(|line| line.contains("Milk and bread.")).unwrap();
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["origin"], "agent_tainted", "{answer}");
    // A foreign MEMORY.md is not among the instructions; it is beside the message in a fence.
    assert!(
        !model.last_request().body["messages"][0].to_string().contains("prefers short answers")
    );
    let agents = onyx.get("/v1/agents").await.expect(200).json().to_string();
    assert!(agents.contains("nanobot"), "the new agent counts at once: {agents}");
}

#[tokio::test]
async fn a_broken_export_is_told_by_file_and_line_and_leaves_nothing() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let home = onyx.home();
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(&fixture("openclaw-legacy")), folder.path());
    let file = "agents/main/sessions/f572ffe6-7054-46fb-be2e-ec7891b579eb.jsonl";
    let text = fs::read_to_string(folder.path().join(file)).unwrap();
    let broken: Vec<&str> = text.lines().take(6).chain(["{\"type\": nonsense}"]).collect();
    fs::write(folder.path().join(file), broken.join("\n")).unwrap();
    let before = kept(&home);
    let path = folder.path().to_str().unwrap();
    let ran = run(&home, &["import", "openclaw", path]).await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains(&format!("{file}, line 7: ")), "{ran:?}");
    assert!(ran.err.contains("--skip-broken"), "{ran:?}");
    assert_eq!(kept(&home), before, "nothing half-made stays");
    let skipped = report(&home, &["openclaw", path, "--skip-broken"]).await;
    assert_eq!(counts(&skipped, "session"), [1, 0, 0, 0], "{skipped}");
    let left_out = skipped["left_out"].to_string();
    assert!(left_out.contains(&format!("{file}, line 7")), "{left_out}");
}

#[tokio::test]
async fn an_export_that_is_uploaded_comes_in_like_any_other() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let export = fs::read(fixture("chatgpt/conversations.json")).unwrap();
    let send = async |query: &str, bytes: Vec<u8>| {
        let path = format!("/api/admin/import?{query}");
        let request = onyx.client().request(reqwest::Method::POST, &path).body(bytes);
        onyx_test_support::Reply::of(request).await
    };
    let dry = send("from=chatgpt&dry_run=true", export.clone()).await.expect(200).json();
    assert_eq!((counts(&dry, "session"), &dry["dry_run"]), ([2, 0, 0, 0], &json!(true)));
    let first = send("from=chatgpt", export.clone()).await.expect(200).json();
    assert_eq!(counts(&first, "session"), [2, 0, 0, 0]);
    let second = send("from=chatgpt", export.clone()).await.expect(200).json();
    assert_eq!(counts(&second, "session"), [0, 0, 2, 0]);
    let broken = send("from=chatgpt", export[..400].to_vec()).await.expect(400).json();
    assert!(broken["detail"].as_str().unwrap().starts_with("export, line "), "{broken}");
    let other = send("from=claude", export).await.expect(400).json();
    assert!(other["detail"].as_str().unwrap().contains("it has no `uuid`"), "{other}");
    drop(send("from=elsewhere", Vec::new()).await.expect(400));
    let audit = onyx.get("/api/admin/audit").await.expect(200).text();
    assert!(audit.contains("imported from chatgpt: 2 sessions"), "{audit}");
}

#[tokio::test]
async fn who_asks_is_told_how_far_an_import_is_and_then_the_report() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let export = fs::read(fixture("chatgpt/conversations.json")).unwrap();
    let send = async |query: &str, bytes: Vec<u8>| {
        let path = format!("/api/admin/import?progress=true&{query}");
        let request = onyx.client().request(reqwest::Method::POST, &path).body(bytes);
        onyx_test_support::Reply::of(request).await
    };
    let told = send("from=chatgpt", export.clone()).await.expect(200).text();
    let mut lines: Vec<Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.pop().unwrap();
    assert_eq!(last["type"], "report", "{told}");
    assert_eq!(counts(&last["report"], "session"), [2, 0, 0, 0], "{told}");
    let total = lines[0]["total"].as_u64().unwrap();
    assert_eq!(lines[0], json!({"type": "progress", "done": 0, "total": total}), "{told}");
    assert_eq!(lines.last().unwrap()["done"], total, "{told}");
    // An unreadable export is refused before any progress is sent.
    let broken = send("from=chatgpt", export[..400].to_vec()).await.expect(400).json();
    assert!(broken["detail"].as_str().unwrap().starts_with("export, line "), "{broken}");
}

/// The persona files of a workspace describe the agent, and changes of them take effect at once.
#[tokio::test]
async fn a_workspace_says_who_an_agent_is_and_names_of_other_programs_mean_ours() {
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("SOUL.md"), "You are a lighthouse keeper.").unwrap();
    let agents = json!({"agents": {"list": [{
        "id": "main", "default": true, "model": "mine/m", "tier": "act",
        "workspace": folder.path().to_str().unwrap(),
        "tools": {"allow": ["memory_read", "read", "group:runtime", "web_search"], "deny": ["shell_exec"]},
    }]}});
    let onyx =
        builder(&model).merge(agents).file("agents/main/SOUL.md", "You are a baker.").start().await;
    onyx.chat_stream(&json!({"message": "Who are you?"})).await;
    let asked = model.last_request().body;
    assert!(asked["messages"][0].to_string().contains("lighthouse keeper"), "{asked}");
    assert!(!asked["messages"][0].to_string().contains("baker"), "{asked}");
    let tools = asked["tools"].to_string();
    assert!(tools.contains("\"memory_get\"") && tools.contains("\"read_file\""), "{tools}");
    assert!(!tools.contains("\"exec\""), "what is denied under another name is denied: {tools}");
    fs::write(folder.path().join("SOUL.md"), "You are a ferryman.").unwrap();
    onyx.chat_stream(&json!({"message": "And now?"})).await;
    assert!(model.last_request().body["messages"][0].to_string().contains("ferryman"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the folder is only read");
}

/// The example config of the first plans, word for word.
const FIRST_PLANS: &str = r#"{
  // Agent definitions
  agents: {
    list: [
      {
        id: "main",
        name: "Main Assistant",
        default: true,
        workspace: "~/.config/onyx/workspace",
        model: "claude-subscription/claude-sonnet-4-20250514",

        // Tool restrictions (optional)
        tools: {
          allow: ["memory_read", "memory_write", "web_search"],
          deny: ["shell_exec"]
        }
      },
      {
        id: "research",
        name: "Research Agent",
        workspace: "~/.config/onyx/workspace-research",
        model: "openrouter/anthropic/claude-opus-4",

        // Per-agent overrides
        temperature: 0.3,
        maxTokens: 8192
      }
    ]
  },
  bindings: [
    { agentId: "main", match: { channel: "discord" } },
    { agentId: "research", match: { channel: "telegram" } },
    {
      agentId: "research",
      match: { channel: "discord", guildId: "123456789" }
    }
  ],
  providers: {
    "claude-subscription": {
      // Uses Claude Code CLI auth
    },
    "openrouter": { apiKey: "${OPENROUTER_API_KEY}" },
    "ollama": { baseUrl: "http://localhost:11434" }
  },
  gateway: {
    port: 18790,
    auth: { mode: "token", token: "${ONYX_GATEWAY_TOKEN}" }
  }
}"#;

#[tokio::test]
async fn the_example_config_of_the_first_plans_starts_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("onyx.json"), FIRST_PLANS).unwrap();
    let mut doctor = crate::command(&home, &["doctor", "--json"]);
    doctor.env("ONYX_GATEWAY_TOKEN", "a-token-of-the-plans").env("HOME", folder.path());
    let ran: crate::Ran = doctor.output().await.unwrap().into();
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let text = told.to_string();
    assert!(!text.contains("unknown key"), "{text}");
    assert!(!text.contains("workspace"), "{text}");
    let mut agents = crate::command(&home, &["sessions", "list", "--json"]);
    agents.env("ONYX_GATEWAY_TOKEN", "a-token-of-the-plans").env("HOME", folder.path());
    let ran: crate::Ran = agents.output().await.unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.err.contains("the last config that worked"), "{ran:?}");
}
