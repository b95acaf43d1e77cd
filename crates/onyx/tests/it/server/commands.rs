//! Commands at gateways that keep the files in a database: they work on a copy, and their changes
//! are written back.

use onyx_test_support::{OnyxBuilder, OnyxProcess, ScriptedModel, ServerPlace, wait_for};
use serde_json::{Value, json};

use super::moving::{storage_move, target};
use super::{gateway, place};
use crate::SOON;
use crate::drafts::{message, obedient};
use crate::gate::events_of;
use crate::gate::forge::{Forge, git};
use crate::jobs::run_now;

type Call = (&'static str, Value);

/// A gateway whose agent may act. A rule allows aliases of git, which can run anything.
fn acting(place: &ServerPlace, id: &str, model: &ScriptedModel) -> OnyxBuilder {
    gateway(place, id, model).merge(json!({"agents": {"list": [{
        "id": "main", "default": true, "model": "mine/some-model", "tier": "act",
        "tools": {"commands": [["git", "-c"]]},
    }]}}))
}

async fn two(model: &ScriptedModel) -> (ServerPlace, OnyxProcess, OnyxProcess) {
    let place = place().await;
    let one = acting(&place, "one", model).start().await;
    let two = acting(&place, "two", model).start().await;
    (place, one, two)
}

fn sh(script: &str) -> Call {
    ("exec", json!({"argv": ["sh", "-c", script]}))
}

fn read(path: &str) -> Call {
    ("read_file", json!({"path": path}))
}

fn write(path: &str, content: &str) -> Call {
    ("write_file", json!({"path": path, "content": content}))
}

/// A process that waits for input and then runs this script. Both the start and the input need
/// approval.
fn told_later(script: &str) -> [Call; 3] {
    let script = format!("read go; {script}");
    [
        ("process", json!({"action": "start", "argv": ["sh", "-c", script]})),
        ("process", json!({"action": "write", "id": 1, "text": "go\n"})),
        ("process", json!({"action": "poll", "id": 1, "seconds": 30})),
    ]
}

async fn approve(onyx: &OnyxProcess, confirm: &Value) {
    let id = confirm["draft_id"].as_str().unwrap();
    let path = format!("/api/pending-changes/{id}/approve");
    let _ = onyx.post(&path, &json!({})).await.expect(200);
}

/// Runs these calls, approves every question, and returns all events.
async fn events(onyx: &OnyxProcess, calls: &[Call]) -> Vec<Value> {
    let mut lines = onyx.chat_lines(&json!({"message": message(calls)})).await;
    let start = lines.until("start").await;
    while let Some(event) = lines.next().await {
        if event["type"] == "confirm" {
            approve(onyx, &event).await;
        }
    }
    events_of(onyx, &start).await
}

/// The outputs of a run's calls.
fn outputs(events: &[Value]) -> Vec<String> {
    let results = events.iter().filter(|event| event["type"] == "tool_result");
    results.map(|result| result["output"].as_str().unwrap().to_owned()).collect()
}

async fn said(onyx: &OnyxProcess, calls: &[Call]) -> Vec<String> {
    outputs(&events(onyx, calls).await)
}

/// The folders that commands of this gateway have at the moment.
fn copies(onyx: &OnyxProcess) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(onyx.home().join("cache/scratch"));
    folder.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn what_a_command_changes_is_read_found_and_undone_through_another_gateway() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    let script = "cat birds.md; mkdir marsh; echo 'A bittern boomed in the reeds.' > marsh/new.md; \
                  echo 'A stork.' > birds.md";
    let long = "A heron stood there. ".repeat(4_000);
    let ran = events(&one, &[write("birds.md", &long), write("old.md", "x"), sh(script)]).await;
    assert!(outputs(&ran)[2].contains("A heron stood there."), "{ran:#?}");
    assert_eq!(copies(&one), Vec::<std::path::PathBuf>::new(), "its copy is gone");
    let heard = said(&two, &[read("birds.md"), read("marsh/new.md")]).await;
    assert!(heard[0].contains("A stork.") && heard[1].contains("bittern"), "{heard:?}");
    wait_for("the file to be found", SOON, async || {
        let found = two.get("/v1/memory/search?q=bittern").await.expect(200).text();
        found.contains("marsh/new.md").then_some(())
    })
    .await;
    let gone = events(&two, &[sh("rm -r marsh")]).await;
    assert!(said(&one, &[read("marsh/new.md")]).await[0].contains("there is no file"));
    let listed = said(&one, &[("list_files", json!({}))]).await;
    assert!(!listed[0].contains("marsh") && listed[0].contains("birds.md"), "{listed:?}");
    let undo = format!("/api/runs/{}/undo", gone[0]["run_id"].as_str().unwrap());
    let undone = one.post(&undo, &json!({})).await.expect(200).json();
    assert_eq!(undone["restored"], json!(["vault/marsh/new.md"]), "{undone}");
    assert!(said(&two, &[read("marsh/new.md")]).await[0].contains("bittern"));
}

#[tokio::test]
async fn of_two_commands_on_one_file_at_two_gateways_the_first_to_end_is_kept() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    said(&one, &[write("a.md", "before")]).await;
    let begin = async |onyx: &OnyxProcess, name: &str| {
        let calls = told_later(&format!("echo {name} > a.md; echo {name} > of-{name}.md"));
        let mut lines = onyx.chat_lines(&json!({"message": message(&calls)})).await;
        let start = lines.until("start").await;
        let confirm = lines.until("confirm").await;
        approve(onyx, &confirm).await;
        // The process now runs on its copy and waits for its input.
        let confirm = lines.until("confirm").await;
        (lines, start, confirm)
    };
    let (of_one, start_one, confirm_one) = begin(&one, "one").await;
    let (of_two, start_two, confirm_two) = begin(&two, "two").await;
    approve(&two, &confirm_two).await;
    of_two.rest().await;
    approve(&one, &confirm_one).await;
    of_one.rest().await;
    let (at_one, at_two) = (events_of(&one, &start_one).await, events_of(&two, &start_two).await);
    let (at_one, at_two) = (outputs(&at_one), outputs(&at_two));
    assert!(at_two[2].contains("exit code 0") && !at_two[2].contains("not written"), "{at_two:?}");
    assert!(at_one[2].contains("another writer changed it while the command ran"), "{at_one:?}");
    assert!(at_one[2].contains("the stored files stay as they are: a.md]"), "{at_one:?}");
    let held = said(&one, &[read("a.md"), read("of-one.md"), read("of-two.md")]).await;
    for (held, name) in held.iter().zip(["two", "one", "two"]) {
        assert!(held.contains(name), "{held}");
    }
}

#[tokio::test]
async fn a_repository_made_at_one_gateway_is_worked_on_at_the_other_and_moves_into_a_home() {
    let model = obedient().await;
    let (place, mut one, mut two) = two(&model).await;
    let commit = |message: &str| ("git_commit", json!({"message": message, "folder": "project"}));
    let log = || ("git_log", json!({"folder": "project"}));
    let init = sh("git init --quiet --initial-branch=main project");
    let made = said(&one, &[init, write("project/a.md", "one\n"), commit("first")]).await;
    assert!(made[2].contains("first"), "{made:?}");
    let known = said(&two, &[log(), write("project/a.md", "two\n"), commit("second")]).await;
    assert!(known[0].contains("Onyx (main): first") && known[2].contains("second"), "{known:?}");
    // Git itself works too, in a folder of the repository. After packing, no branch has a file of
    // its own.
    let script = "git log --format=%s && git status --short && git gc --quiet";
    let folder = ("exec", json!({"argv": ["sh", "-c", script], "folder": "project"}));
    let itself = said(&one, &[folder, log()]).await;
    assert!(itself[0].starts_with("second\nfirst"), "{itself:?}");
    assert!(itself[1].contains("second") && itself[1].contains("first"), "{itself:?}");
    said(&one, &[sh("git init --quiet --initial-branch=main empty")]).await;
    let keys = one.home().join("../keys");
    one.terminate().await;
    two.terminate().await;
    let (mover, back) = (target(&place), tempfile::tempdir().unwrap());
    let to = back.path().join("home");
    let moved = storage_move(mover.path(), &keys, "server", to.to_str().unwrap()).await;
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let vault = to.join("people/owner/vault");
    assert_eq!(git(&vault.join("project"), &["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(git(&vault.join("project"), &["fsck", "--strict"]), "");
    assert!(git(&vault.join("empty"), &["status"]).contains("No commits yet"));
}

#[tokio::test]
async fn a_push_asked_for_at_one_gateway_is_approved_at_the_other_and_a_pull_is_seen_by_both() {
    let (model, forge) = (obedient().await, Forge::open().await);
    let there = forge.repository("mine.git");
    let reaching = json!({"tools": {"web": {"allowPrivateHosts": [forge.host()]}}});
    let place = place().await;
    let one = acting(&place, "one", &model).merge(reaching.clone()).start().await;
    let two = acting(&place, "two", &model).merge(reaching).start().await;
    let folder = || json!({"folder": "project"});
    let init = format!(
        "git init --quiet --initial-branch=main project && git -C project remote add origin {}",
        forge.url("mine.git")
    );
    let commit = ("git_commit", json!({"message": "the first words", "folder": "project"}));
    said(&one, &[sh(&init), write("project/a.md", "one\n"), commit]).await;

    let mut lines = one.chat_lines(&json!({"message": message(&[("git_push", folder())])})).await;
    let question = lines.until("confirm").await;
    let shown = question["preview"]["text"].as_str().unwrap();
    for part in [&forge.url("mine.git"), "refs/heads/main", "the first words", "a.md"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(forge.requests().is_empty(), "nothing is asked before a person agrees");
    approve(&two, &question).await;
    assert_eq!(git(&there, &["log", "--format=%s", "main"]), "the first words\n");

    // Somebody else pushes a commit.
    let other = tempfile::tempdir().unwrap();
    git(other.path(), &["clone", "--quiet", there.to_str().unwrap(), "copy"]);
    let copy = other.path().join("copy");
    std::fs::write(copy.join("theirs.md"), "theirs\n").unwrap();
    git(&copy, &["add", "."]);
    git(&copy, &["commit", "--quiet", "--message", "their words"]);
    git(&copy, &["push", "--quiet"]);
    let pulled = said(&two, &[("git_pull", folder())]).await;
    assert!(pulled[0].contains("theirs.md"), "{pulled:?}");
    for onyx in [&one, &two] {
        let heard = said(onyx, &[read("project/theirs.md"), ("git_log", folder())]).await;
        assert!(heard[0].contains("theirs") && heard[1].contains("their words"), "{heard:?}");
        assert_eq!(copies(onyx), Vec::<std::path::PathBuf>::new());
    }
}

#[tokio::test]
async fn a_command_that_only_a_rule_allowed_changes_no_instruction_and_proposes_it() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    let script = "alias.x=!echo obey > agents.md; echo fine > fine.md";
    let argv = json!({"argv": ["git", "-c", script, "x"]});
    let ran = one.chat_stream(&json!({"message": message(&[("exec", argv)])})).await;
    assert!(ran.iter().all(|event| event["type"] != "confirm"), "{ran:#?}");
    let output = outputs(&events_of(&one, &ran[0]).await);
    assert!(
        output[0].contains("put back as before") && output[0].contains("agents.md"),
        "{output:?}"
    );
    let held = said(&two, &[read("fine.md"), read("agents.md")]).await;
    assert!(held[0].contains("fine") && held[1].contains("there is no file"), "{held:?}");
    let drafts = two.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(drafts["drafts"][0]["summary"], "Change agents.md as exec did", "{drafts:#}");
    let id = drafts["drafts"][0]["id"].as_str().unwrap();
    let _ = two.post(&format!("/api/pending-changes/{id}/approve"), &json!({})).await.expect(200);
    assert!(said(&one, &[read("agents.md")]).await[0].contains("obey"));
}

#[tokio::test]
async fn a_copy_that_a_killed_gateway_left_is_gone_when_it_starts_again() {
    let model = obedient().await;
    let place = place().await;
    let mut one = acting(&place, "one", &model).start().await;
    said(&one, &[write("private.md", "private")]).await;
    let calls = told_later("true");
    let mut lines = one.chat_lines(&json!({"message": message(&calls)})).await;
    let confirm = lines.until("confirm").await;
    approve(&one, &confirm).await;
    lines.until("confirm").await;
    let holds_file = |copy: &std::path::PathBuf| copy.join("vault/private.md").exists();
    assert!(copies(&one).iter().any(holds_file), "{:?}", copies(&one));
    one.kill().await;
    assert!(copies(&one).iter().any(holds_file), "nobody was there to remove it");
    one.restart().await;
    assert_eq!(copies(&one), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn a_vault_that_is_too_large_to_copy_is_refused_and_a_folder_of_it_is_not() {
    let model = obedient().await;
    let place = place().await;
    let one = acting(&place, "one", &model).start().await;
    said(&one, &[write("small/a.md", "one two three\n")]).await;
    let fill = "INSERT INTO files
                    (person, path, parent, is_folder, hash, size, version, bytes, modified, changed)
                SELECT 'owner', 'people/owner/vault/many/' || n, 'people/owner/vault/many', FALSE,
                       repeat('0', 64), 0, 1, '', 1, 1 FROM generate_series(1, 20001) AS n";
    place.sql().await.batch_execute(fill).await.unwrap();
    let in_small = ("exec", json!({"argv": ["sh", "-c", "wc -w a.md"], "folder": "small"}));
    let heard = said(&one, &[sh("ls"), in_small]).await;
    assert!(heard[0].contains("the vault holds more than 20000 files and folders"), "{heard:?}");
    assert!(heard[0].contains("name a folder that holds less"), "{heard:?}");
    assert!(heard[1].contains("3 a.md"), "{heard:?}");
}

#[tokio::test]
async fn a_gateway_that_was_frozen_past_its_life_writes_nothing_back() {
    let model = obedient().await;
    let (place, one, two) = two(&model).await;
    // The end of the output is held back until more comes, because a secret could continue there.
    let script = "seq 5000; sleep 8; echo late > late.md";
    let mut lines = one.chat_lines(&json!({"message": message(&[sh(script)])})).await;
    let run = lines.until("start").await["run_id"].as_str().unwrap().to_owned();
    let confirm = lines.until("confirm").await;
    let feed = one.request(reqwest::Method::GET, &format!("/api/runs/{run}/events"));
    let mut feed = feed.send().await.unwrap();
    // The approval is answered when the command has ended.
    let path = format!("/api/pending-changes/{}/approve", confirm["draft_id"].as_str().unwrap());
    let approval = tokio::spawn(one.request(reqwest::Method::POST, &path).json(&json!({})).send());
    let mut seen = String::new();
    while !seen.contains("tool_output") {
        seen.push_str(&String::from_utf8_lossy(&feed.chunk().await.unwrap().expect("it goes on")));
    }
    one.freeze();
    let sql = place.sql().await;
    let silent = "SELECT count(*) FROM gateways WHERE id = 'one' AND until < clock_timestamp()";
    wait_for("its life to be over", SOON * 3, async || {
        (sql.query_one(silent, &[]).await.unwrap().get::<_, i64>(0) > 0).then_some(())
    })
    .await;
    one.thaw();
    wait_for("its copy to be gone", SOON, async || copies(&one).is_empty().then_some(())).await;
    let why = "what the command wrote could not be stored";
    assert!(one.log().contains(why), "{}", one.log());
    drop(approval.await.unwrap());
    assert!(said(&two, &[read("late.md")]).await[0].contains("there is no file"));
}

#[tokio::test]
async fn the_command_of_a_job_works_on_the_files_that_gateways_share() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    said(&one, &[write("inbox.md", "a mail")]).await;
    let job = json!({"id": "count", "every": "1h", "when": "test -s inbox.md", "run": "cat *.md | wc -c > count.txt; cat count.txt"});
    let _ = one.post("/api/jobs", &job).await.expect(201);
    let run = run_now(&one, "count").await;
    assert_eq!((&run["outcome"], &run["text"]), (&json!("done"), &json!("6")), "{run}");
    assert!(said(&two, &[read("count.txt")]).await[0].contains('6'));
}

/// Whether the last request to the model offered the tool.
fn is_offered(model: &ScriptedModel, tool: &str) -> bool {
    let body = model.last_request().body;
    body["tools"].as_array().unwrap().iter().any(|offered| offered["function"]["name"] == tool)
}

/// Makes an output that is too long for a model, and returns the key under which the model is told
/// to find it.
async fn kept_output(onyx: &OnyxProcess) -> String {
    let said = said(onyx, &[sh("seq 1 20000")]).await;
    let note = said[0].split_once("kept as artifact ").unwrap_or_else(|| panic!("{said:?}")).1;
    note.split_once(',').unwrap().0.to_owned()
}

#[tokio::test]
async fn an_output_that_was_too_long_at_one_gateway_is_read_at_the_other() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    two.chat_stream(&json!({"message": "hello"})).await;
    assert!(!is_offered(&model, "read_artifact"), "there is nothing to read");
    let key = kept_output(&one).await;
    wait_for("the tool to be offered at the other", SOON, async || {
        two.chat_stream(&json!({"message": "hello"})).await;
        is_offered(&model, "read_artifact").then_some(())
    })
    .await;
    let search = json!({"artifact": key, "find": "19876"});
    let found = said(&two, &[("read_artifact", search)]).await;
    assert!(found[0].contains("19877"), "{found:?}");
}

#[tokio::test]
async fn the_report_of_a_call_that_was_approved_elsewhere_names_the_artifact_of_its_output() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    let calls = message(&[sh("seq 1 20000")]);
    let mut lines = one.chat_lines(&json!({"message": calls})).await;
    let start = lines.until("start").await;
    let confirm = lines.until("confirm").await;
    approve(&two, &confirm).await;
    lines.rest().await;
    let events = events_of(&one, &start).await;
    let result = events.iter().find(|event| event["type"] == "tool_result").expect("a result");
    let key = result["report"]["artifact"]["key"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(result["output"].as_str().unwrap().contains(key), "{result}");
    for onyx in [&one, &two] {
        assert!(
            onyx.get(&format!("/api/artifacts/{key}")).await.expect(200).text().contains("19877")
        );
    }
}

/// Another gateway that lives, and cleans up for all.
async fn other_cleans_up(place: &ServerPlace) {
    let other = "INSERT INTO gateways (id, incarnation, url, until)
                     VALUES ('other', 4711, '', clock_timestamp() + INTERVAL '1 hour');
                 INSERT INTO owners (name, fence, gateway, incarnation)
                     VALUES ('sweep', 4711, 'other', 4711)
                     ON CONFLICT (name) DO UPDATE
                     SET fence = excluded.fence, gateway = 'other', incarnation = 4711";
    place.sql().await.batch_execute(other).await.unwrap();
}

#[tokio::test]
async fn what_is_too_old_is_removed_by_the_gateway_that_cleans_up() {
    let (place, model) = (place().await, obedient().await);
    let mut one = acting(&place, "one", &model).start().await;
    let key = kept_output(&one).await;
    let address = format!("/api/artifacts/{key}");
    let session = key.split('/').nth(1).unwrap();
    let gone = one.delete(&format!("/v1/sessions/{session}")).await;
    assert!(gone.status < 300, "{}", gone.text());
    one.terminate().await;
    other_cleans_up(&place).await;
    one.restart().await;
    said(&one, &[sh("true")]).await;
    let _ = one.get(&address).await.expect(200);
    one.terminate().await;
    let dies = "UPDATE gateways SET until = clock_timestamp() WHERE id = 'other'";
    place.sql().await.batch_execute(dies).await.unwrap();
    one.restart().await;
    wait_for("the output of a session that is gone to be removed", SOON, async || {
        (one.get(&address).await.status == 404).then_some(())
    })
    .await;
}
