//! `onyx sessions …` and `onyx undo` with and without a server.

use std::path::Path;

use onyx_test_support::{Answer, ScriptedCall, ScriptedModel};
use serde_json::{Value, json};

use crate::{Ran, config, onyx, run};

async fn json_of(home: &Path, arguments: &[&str]) -> Value {
    let ran = run(home, arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

async fn listed(home: &Path, arguments: &[&str]) -> Vec<String> {
    let list = json_of(home, arguments).await;
    let rows = list["sessions"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Tests the commands. It is called for a home with a server and for one without.
async fn tidy_up(home: &Path, model: &ScriptedModel) {
    let arguments = json!({"path": "note.md", "content": "theirs"});
    model.push(Answer::tool_calls([ScriptedCall::new("a", "write_file", &arguments)]));
    model.push(Answer::text("Written."));
    let chat = run(home, &["chat", "--json", "write a note"]).await;
    let start: Value = serde_json::from_str(chat.out.lines().next().unwrap()).unwrap();
    let session = start["session_id"].as_str().unwrap();
    let run_id = start["run_id"].as_str().unwrap();

    let renamed =
        json_of(home, &["sessions", "rename", session, "My boats & more", "--json"]).await;
    assert_eq!(renamed["title"], "My boats & more");
    let empty = run(home, &["sessions", "rename", session, " "]).await;
    assert_eq!(
        (empty.code, empty.err.contains("title: it is empty")),
        (Some(1), true),
        "{empty:?}"
    );
    assert_eq!(listed(home, &["sessions", "search", "boats &", "--json"]).await, [session]);
    assert!(listed(home, &["sessions", "search", "no such", "--json"]).await.is_empty());
    let said = run(home, &["sessions", "search", "written"]).await;
    let found = json_of(home, &["sessions", "search", "written", "--json"]).await;
    let turn = found["sessions"][0]["found"]["turn"].as_str().unwrap();
    let told = format!("My boats & more\n    {turn}  main: Written.");
    assert!(said.out.contains(&told), "{said:?}");
    let archived = run(home, &["sessions", "archive", session]).await;
    assert!(archived.out.contains("My boats & more (archived)"), "{archived:?}");
    assert!(listed(home, &["sessions", "list", "--json"]).await.is_empty());
    assert_eq!(listed(home, &["sessions", "list", "--archived", "--json"]).await, [session]);
    assert_eq!(
        json_of(home, &["sessions", "restore", session, "--json"]).await["status"],
        "active"
    );

    let fork = json_of(home, &["sessions", "fork", session, "--json"]).await;
    assert_eq!((&fork["root"], &fork["title"]), (&json!(session), &json!("My boats & more")));
    let fork = fork["id"].as_str().unwrap();
    let whole = run(home, &["sessions", "export", session]).await;
    assert_eq!(run(home, &["sessions", "export", fork]).await.out, whole.out);
    let shown = run(home, &["sessions", "show", session]).await;
    assert!(shown.out.contains("── main ") && shown.out.contains("Written."), "{shown:?}");

    let note = home.join("people/owner/vault/note.md");
    let plan = run(home, &["undo", run_id, "--dry-run"]).await;
    assert_eq!((plan.code, plan.out.as_str()), (Some(0), "would restore vault/note.md\n"));
    assert!(note.exists());
    let undone = json_of(home, &["undo", run_id, "--json"]).await;
    assert_eq!(undone, json!({"restored": ["vault/note.md"]}));
    assert!(!note.exists());
    let again = run(home, &["undo", run_id]).await;
    assert_eq!((again.code, again.out.as_str()), (Some(0), ""), "{again:?}");

    let asked: Ran = run(home, &["sessions", "delete", fork]).await;
    assert_eq!((asked.code, asked.err.contains("--yes")), (Some(1), true), "{asked:?}");
    let removed = json_of(home, &["sessions", "delete", fork, "--yes", "--json"]).await;
    assert_eq!(removed, json!({"deleted": fork}));
    for command in ["show", "archive", "restore", "fork", "export"] {
        let gone = run(home, &["sessions", command, fork]).await;
        assert_eq!((gone.code, gone.out.as_str()), (Some(4), ""), "{command}: {gone:?}");
    }
    let nonsense = run(home, &["sessions", "delete", "nonsense", "--yes"]).await;
    assert_eq!(nonsense.code, Some(2), "{nonsense:?}");
    let unknown = run(home, &["undo", "0197f3a0-0000-7000-8000-000000000001"]).await;
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
}

#[tokio::test]
async fn sessions_are_tidied_through_a_server() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    tidy_up(&onyx.home(), &model).await;
}

#[tokio::test]
async fn sessions_are_tidied_without_a_server() {
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("onyx.json"), config(&model).to_string()).unwrap();
    tidy_up(folder.path(), &model).await;
}

#[tokio::test]
async fn a_short_process_leaves_a_named_session_behind() {
    let model = ScriptedModel::start().await;
    model.set_titles(onyx_test_support::Script::text("Named in time"));
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&model);
    config["agents"]["defaults"] = serde_json::json!({"titles": "model"});
    std::fs::write(folder.path().join("onyx.json"), config.to_string()).unwrap();
    let chat = run(folder.path(), &["chat", "hi"]).await;
    assert_eq!(chat.code, Some(0), "{chat:?}");
    let list = json_of(folder.path(), &["sessions", "list", "--json"]).await;
    assert_eq!(list["sessions"][0]["title"], "Named in time");
}
