use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onyx_plugins::{PluginStatus, WaitTimes};
use onyx_test_support::wait_for;
use serde_json::{Value, json};

use super::house::{House, KINDS, SOON, guard, quick};

/// Everything that the program in mode `look` wrote down.
fn seen(log: &[String]) -> Value {
    let lines: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("seen ")).collect();
    serde_json::from_str(&lines.join("")).unwrap()
}

fn planted_under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(planted_under(&entry.path()));
        } else if entry.file_name() == "planted" {
            found.push(entry.path());
        }
    }
    found
}

#[tokio::test]
async fn a_plugin_that_was_granted_nothing_reaches_nothing_on_any_rung() {
    for kind in KINDS {
        let house = House::on(Some(kind), quick()).await;
        let home = house.folder.path().join("home");
        std::fs::write(home.join("onyx.json"), "{}").unwrap();
        std::fs::create_dir_all(home.join("people/owner/vault")).unwrap();
        std::fs::write(home.join("people/owner/vault/note.md"), "a note").unwrap();
        house.add("other", guard()).await;
        let paths = [
            home.join("onyx.json"),
            home.join("people/owner/vault/note.md"),
            home.join("plugins/other/plugin.json"),
            home.join("plugins/look/plugin.json"),
            "/etc/shadow".into(),
        ];
        let part = guard();
        house.enable("look", part, json!({"mode": "look", "paths": paths})).await;
        let log = house.wait_for_log("look", "started as").await;
        let seen = seen(&log);
        assert_eq!(seen["files"], json!([]), "{kind:?}: {seen}");
        // The program's own empty /tmp may be in the place of ours, so the disk is checked for its
        // files.
        assert_eq!(planted_under(house.folder.path()), Vec::<PathBuf>::new(), "{kind:?}: {seen}");
        assert_eq!(seen["network"], json!(false), "{kind:?}: {seen}");
        let names = seen["environment"].as_array().unwrap();
        let known =
            ["PLUGIN_ROOT", "PLUGIN_DATA", "PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "PWD"];
        let foreign: Vec<&Value> =
            names.iter().filter(|name| !known.contains(&name.as_str().unwrap())).collect();
        assert!(foreign.is_empty(), "{kind:?}: {foreign:?}");
        assert!(log.contains(&"secrets {}".to_owned()), "{log:?}");
    }
}

#[tokio::test]
async fn a_plugin_has_the_folders_and_secrets_that_it_was_granted() {
    let house = House::new().await;
    let granted = house.folder.path().join("granted");
    std::fs::create_dir(&granted).unwrap();
    std::fs::write(granted.join("words"), "granted words").unwrap();
    let mut part = guard();
    part["grants"]["folders"] = json!({"write": [granted]});
    part["grants"]["secrets"] = json!(["kept"]);
    let config = json!({"mode": "look", "paths": [granted.join("words")]});
    house.enable("look", part.clone(), config.clone()).await;
    let log = house.wait_for_log("look", "started as").await;
    assert_eq!(seen(&log)["files"], json!(["granted words"]));
    assert_eq!(std::fs::read_to_string(granted.join("planted")).unwrap(), "x");
    assert!(log.contains(&"secrets {\"kept\": \"value of kept\"}".to_owned()), "{log:?}");
    // A secret that does not exist prevents the start, and this is reported.
    part["grants"]["secrets"] = json!(["missing"]);
    house.enable("look", part, config).await;
    let parked = house.wait_for_status("look", |s| matches!(s, PluginStatus::Parked(_))).await;
    let PluginStatus::Parked(why) = parked else { unreachable!() };
    assert!(why.contains("there is no secret missing"), "{why}");
}

#[tokio::test]
async fn a_guard_that_hangs_crashes_or_talks_nonsense_costs_the_calls_it_guards_and_no_others() {
    for (mode, deadline, why) in [
        ("hang", 300, "no answer within 300 ms"),
        ("crash", 10_000, "the program is not running: the program ended"),
        ("nonsense", 10_000, "its answer was not understood"),
        ("hang at start", 300, "no answer within 300 ms"),
    ] {
        let house = House::new().await;
        let mut part = guard();
        part["hooks"][0]["deadline_ms"] = json!(deadline);
        house.enable("bad", part, json!({"mode": mode})).await;
        if mode != "hang at start" {
            house.wait_for_status("bad", |status| *status == PluginStatus::Running).await;
        }
        let began = Instant::now();
        let no = house.no_to("write_file", json!({"path": "a"})).await.unwrap();
        assert!(no.contains(why), "{mode}: {no}");
        assert!(began.elapsed() < Duration::from_secs(5), "{mode}: {:?}", began.elapsed());
        // A call that it does not guard is decided without a wait.
        let other = house.no_to("read_file", json!({"path": "a"}));
        let other = tokio::time::timeout(Duration::ZERO, other).await;
        assert_eq!(other, Ok(None), "{mode}");
        // A disabled plugin guards nothing.
        house.follow(&[]).await;
        assert_eq!(house.no_to("write_file", json!({"path": "a"})).await, None, "{mode}");
    }
}

#[tokio::test]
async fn a_plugin_that_floods_is_ended_and_a_plugin_that_works_goes_on() {
    let house = House::new().await;
    house.add("good", guard()).await;
    house.accept("good").await;
    for (mode, why) in [
        ("flood", "sends too many unrequested messages"),
        ("flood of requests", "sends too many unrequested messages"),
        ("flood of errors", "writes too much to its error stream"),
        ("endless", "a message is longer than"),
    ] {
        let mut part = guard();
        part["connectors"] = json!([{"name": "pipe"}]);
        house.add("noisy", part).await;
        house.accept("noisy").await;
        house.follow(&[("good", json!({})), ("noisy", json!({"mode": mode}))]).await;
        let parked = house.wait_for_status("noisy", |s| matches!(s, PluginStatus::Parked(_))).await;
        let PluginStatus::Parked(told) = parked else { unreachable!() };
        assert!(told.contains(why), "{mode}: {told}");
        // Only the calls that the noisy plugin guards are denied, and that happens at once: long
        // before the deadline of ten seconds. The other plugin is asked first, so it must be there.
        house.wait_for_status("good", |status| *status == PluginStatus::Running).await;
        let began = Instant::now();
        let no = house.no_to("write_file", json!({"text": "fine"})).await.unwrap();
        assert!(no.starts_with("noisy: ") && no.contains("is no longer started"), "{no}");
        assert!(began.elapsed() < Duration::from_secs(5), "{mode}: {:?}", began.elapsed());
        house.follow(&[("good", json!({}))]).await;
        assert_eq!(house.no_to("write_file", json!({"text": "fine"})).await, None, "{mode}");
        let no = house.no_to("write_file", json!({"text": "bad"})).await.unwrap();
        assert!(no.starts_with("good: it says bad"), "{no}");
    }
}

#[tokio::test]
async fn a_plugin_that_lies_about_its_version_is_parked_at_once() {
    let house = House::new().await;
    house.enable("liar", guard(), json!({"mode": "lie"})).await;
    let parked = house.wait_for_status("liar", |s| matches!(s, PluginStatus::Parked(_))).await;
    let PluginStatus::Parked(why) = parked else { unreachable!() };
    assert_eq!(why, "it says that its version is \"9.9.9\", and it is 1.0.0");
    let log = house.plugins.get("liar").await.unwrap().log;
    let starts = log.iter().filter(|line| line.starts_with("started as")).count();
    assert_eq!(starts, 1, "{log:?}");
}

#[tokio::test]
async fn a_crash_loop_is_parked_and_starts_again_when_the_owner_says_so() {
    let house = House::new().await;
    house.enable("loop", guard(), json!({"mode": "crash at start"})).await;
    house.wait_for_status("loop", |status| matches!(status, PluginStatus::Parked(_))).await;
    let ends = |log: &[String]| log.iter().filter(|line| line.contains("program ended")).count();
    let before = ends(&house.plugins.get("loop").await.unwrap().log);
    house.plugins.start_anew("loop");
    wait_for("three more failures", SOON, async || {
        let view = house.plugins.get("loop").await.unwrap();
        let is_parked = matches!(view.status, PluginStatus::Parked(_));
        (is_parked && ends(&view.log) > before).then_some(())
    })
    .await;
    // Another config starts the program anew.
    house.follow(&[("loop", json!({}))]).await;
    house.wait_for_status("loop", |status| *status == PluginStatus::Running).await;
    assert_eq!(house.no_to("write_file", json!({"text": "fine"})).await, None);
}

#[tokio::test]
async fn the_last_words_of_a_plugin_that_ends_are_told() {
    let house = House::new().await;
    house.enable("brief", guard(), json!({"mode": "complain at start"})).await;
    house.wait_for_status("brief", |status| matches!(status, PluginStatus::Parked(_))).await;
    let log = house.plugins.get("brief").await.unwrap().log;
    let at = |words: &str| log.iter().position(|line| line.contains(words));
    assert!(at("there is no licence").unwrap() < at("the program ended").unwrap(), "{log:#?}");
}

#[tokio::test]
async fn a_plugin_that_does_not_say_how_it_is_is_started_anew() {
    let wait_times = WaitTimes {
        health: Duration::from_millis(100),
        health_answer: Duration::from_millis(200),
        most_failures: 100,
        ..quick()
    };
    let house = House::on(None, wait_times).await;
    house.enable("unwell", guard(), json!({"mode": "unwell"})).await;
    let log = house.wait_for_log("unwell", "it did not report its status").await;
    assert!(log.iter().any(|line| line.contains("no answer within 200 ms")), "{log:?}");
    wait_for("a second start", SOON, async || {
        let log = house.plugins.get("unwell").await.unwrap().log;
        let starts = log.iter().filter(|line| line.starts_with("started as")).count();
        (starts >= 2).then_some(())
    })
    .await;
}
