//! What `onyx doctor` checks besides the home itself.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use onyx_test_support::{Page, ScriptedModel, Site};
use onyx_types::{Clock, SystemClock, Timestamp};
use serde_json::{Value, json};

use crate::{builder, config, run};

async fn checks(home: &Path) -> Vec<Value> {
    let ran = run(home, &["doctor", "--json"]).await;
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn named<'a>(checks: &'a [Value], name: &str) -> &'a Value {
    checks
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {checks:#?}"))
}

fn home_with(model: &ScriptedModel, more: &Value) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut config = config(model);
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    std::fs::write(home.path().join("onyx.json"), config.to_string()).unwrap();
    home
}

#[tokio::test]
async fn a_search_engine_is_asked_without_a_search() {
    let model = ScriptedModel::start().await;
    let off = home_with(&model, &json!({}));
    assert_eq!(named(&checks(off.path()).await, "search")["state"], "ok");
    let cases =
        [(400, "ok", "answers"), (403, "warning", "search.formats"), (500, "warning", "500")];
    for (status, state, says) in cases {
        let engine = Site::start(move |_| Page { status, ..Page::json("{}") }).await;
        let home =
            home_with(&model, &json!({"tools": {"web": {"search": {"baseUrl": engine.url("")}}}}));
        let found = checks(home.path()).await;
        let search = named(&found, "search");
        assert_eq!(search["state"], state, "{search}");
        assert!(search["detail"].as_str().unwrap().contains(says), "{search}");
        let asked = engine.requests().join("\n");
        assert!(asked.contains("format=json") && !asked.contains("q="), "{asked}");
    }
    let gone = home_with(
        &model,
        &json!({"tools": {"web": {"search": {"baseUrl": "http://127.0.0.1:9"}}}}),
    );
    let found = checks(gone.path()).await;
    assert_eq!(named(&found, "search")["state"], "warning");
    assert!(named(&found, "search")["mend"].as_str().unwrap().contains("tools.web.search.baseUrl"));
}

#[tokio::test]
async fn without_a_server_the_config_is_looked_through() {
    let model = ScriptedModel::start().await;
    let more = json!({
        "mcp": {"servers": {"gone": {"command": "no-such-program"}, "there": {"command": "sh"}, "far": {"url": "https://x.example/mcp"}}},
        "connectors": {"telegram": {"accounts": {
            "main": {"token": "env:ONYX_TEST_ABSENT"}, "set": {"token": "123:abc"}, "off": {"enabled": false}}}},
        "memory": {"embedder": "nobody/some-model"},
        "jobs": {"memorySync": {"every": "1d"}},
    });
    let home = home_with(&model, &more);
    let jobs = home.path().join("people/owner/vault/agent/jobs");
    std::fs::create_dir_all(&jobs).unwrap();
    std::fs::write(jobs.join("morning.md"), "---\ncron: \"0 8 * * *\"\n---\nx\n").unwrap();
    let found = checks(home.path()).await;
    for (name, state, says) in [
        ("mcp gone", "warning", "there is no program no-such-program"),
        ("mcp there", "ok", "starts when it is needed"),
        ("mcp far", "ok", "https://x.example/mcp"),
        ("connector telegram/main", "warning", "ONYX_TEST_ABSENT"),
        ("connector telegram/set", "ok", "connects when the server runs"),
        ("connector telegram/off", "ok", "off"),
        ("embedder", "warning", "no provider is called nobody"),
        ("jobs", "warning", "2 wait for a server"),
        ("docker", "ok", ""),
        ("commands", "ok", "bubblewrap"),
    ] {
        let check = named(&found, name);
        assert_eq!(check["state"], state, "{check}");
        assert!(check["detail"].as_str().unwrap().contains(says), "{check}");
        assert_eq!(check["mend"].is_string(), state != "ok", "{check}");
    }
}

#[tokio::test]
async fn a_running_server_is_asked_for_what_it_alone_knows() {
    let model = ScriptedModel::start().await;
    let more = json!({"mcp": {"servers": {"gone": {"command": "/nowhere/at-all"}}}});
    let onyx = builder(&model).merge(more).start().await;
    let found = checks(&onyx.home()).await;
    for name in
        ["server storage", "server index", "server embedder", "server jobs", "server mcp:gone"]
    {
        assert!(named(&found, name)["detail"].is_string());
    }
    assert!(named(&found, "server jobs")["detail"].as_str().unwrap().starts_with("off: "));
    // Checks that this process makes itself are reported once.
    for once in ["disk", "docker", "search", "commands"] {
        let about = found.iter().filter(|check| check["name"].as_str().unwrap().ends_with(once));
        assert_eq!(about.count(), 1, "{once}");
    }
}

#[tokio::test]
async fn growth_is_told_and_a_disk_that_will_be_full_is_a_warning() {
    let model = ScriptedModel::start().await;
    let home = home_with(&model, &json!({}));
    let first = checks(home.path()).await;
    assert_eq!(named(&first, "growth")["state"], "ok");
    assert!(!named(&first, "growth")["detail"].as_str().unwrap().contains("a day"));
    let sizes = home.path().join("cache/home-sizes.json");
    let kept: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&sizes).unwrap()).unwrap();
    assert_eq!(kept.len(), 1);
    // A second check on the same day stores no second size.
    checks(home.path()).await;
    assert_eq!(
        serde_json::from_str::<Vec<Value>>(&std::fs::read_to_string(&sizes).unwrap())
            .unwrap()
            .len(),
        1
    );

    let two_days = 2 * 24 * 60 * 60 * 1_000 + 60_000;
    let before = Timestamp::from_millis(SystemClock::new().wall().as_millis() - two_days);
    std::fs::write(&sizes, json!([{"at": before, "bytes": 0}]).to_string()).unwrap();
    // The file is sparse: it takes no space but counts by its size.
    let large = std::fs::File::create(home.path().join("large")).unwrap();
    large.set_len(8 << 40).unwrap();
    let full = checks(home.path()).await;
    let growth = named(&full, "growth");
    assert_eq!(growth["state"], "warning", "{growth}");
    let detail = growth["detail"].as_str().unwrap();
    assert!(
        detail.contains("large 8388608 MiB") && detail.contains(" a day were added"),
        "{growth}"
    );
    assert!(detail.contains("; at this rate the disk is full in "), "{growth}");
}

#[tokio::test]
async fn a_clock_that_is_behind_the_files_is_told() {
    let model = ScriptedModel::start().await;
    let home = home_with(&model, &json!({}));
    let found = checks(home.path()).await;
    assert_eq!(named(&found, "clock")["state"], "ok");
    let file = std::fs::File::create(home.path().join("note")).unwrap();
    let now = u64::try_from(SystemClock::new().wall().as_millis()).unwrap();
    let tomorrow = Duration::from_millis(now) + Duration::from_secs(24 * 60 * 60);
    file.set_modified(SystemTime::UNIX_EPOCH + tomorrow).unwrap();
    let found = checks(home.path()).await;
    let clock = named(&found, "clock");
    assert_eq!(clock["state"], "warning", "{clock}");
    assert!(clock["mend"].as_str().unwrap().contains("set the clock"), "{clock}");
}

#[tokio::test]
async fn what_can_be_mended_without_a_person_is_mended_and_nothing_else_is_touched() {
    let model = ScriptedModel::start().await;
    let home = home_with(&model, &json!({}));
    let (dotenv, config) = (home.path().join(".env"), home.path().join("onyx.json"));
    std::fs::write(&dotenv, "KEY=value\n").unwrap();
    let written = std::fs::read(&config).unwrap();
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(home.path(), 0o755);
    open(&dotenv, 0o644);
    open(&config, 0o644);
    let told = run(home.path(), &["doctor"]).await.out;
    assert_eq!(told.matches("or `onyx doctor --fix`").count(), 3, "{told}");
    assert_eq!(mode(home.path()), 0o755);

    let ran = run(home.path(), &["doctor", "--fix", "--json"]).await;
    let checks: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(named(&checks, "home")["state"], "ok");
    assert!(checks.iter().all(|check| check["name"] != "environment"), "{checks:#?}");
    // The config holds the token, so only its owner may read it.
    assert_eq!([mode(home.path()), mode(&dotenv), mode(&config)], [0o700, 0o600, 0o600]);
    assert_eq!(ran.err.matches("closed ").count(), 3, "{ran:?}");
    assert_eq!(std::fs::read(&config).unwrap(), written);

    // In an empty folder the command writes what `onyx init` writes.
    let empty = tempfile::tempdir().unwrap();
    let new = empty.path().join("home");
    let checks: Vec<Value> = {
        let ran = run(&new, &["doctor", "--fix", "--json"]).await;
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
    };
    assert_eq!(named(&checks, "config")["state"], "ok");
    assert!(new.join("agents/main/SOUL.md").is_file());
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
