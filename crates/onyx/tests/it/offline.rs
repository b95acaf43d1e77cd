//! The command line on a home without a server: the same answers through the same code.

use onyx_test_support::{Answer, Script, ScriptedModel, Step};
use serde_json::{Value, json};

use crate::{config, run};

async fn home(model: &ScriptedModel) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("onyx.json"), config(model).to_string()).unwrap();
    folder
}

#[tokio::test]
async fn chat_and_sessions_work_without_a_server_and_leave_nothing_behind() {
    let model = ScriptedModel::with_answers([Answer::text("one"), Answer::text("two")]).await;
    let home = home(&model).await;
    let first = run(home.path(), &["chat", "hello", "there"]).await;
    assert_eq!((first.code, first.out.as_str()), (Some(0), "one\n"), "{first:?}");
    assert!(!home.path().join("onyx.sock").exists());
    let list = run(home.path(), &["sessions", "list", "--json"]).await;
    let list: Value = serde_json::from_str(&list.out).unwrap();
    let session = list["sessions"][0]["id"].as_str().unwrap();
    assert!(first.err.contains(session), "{first:?}");
    let second = run(home.path(), &["chat", "-s", session, "and", "now"]).await;
    assert_eq!((second.code, second.out.as_str()), (Some(0), "two\n"));
    let shown = run(home.path(), &["sessions", "show", session]).await;
    for text in ["hello there", "one", "and now", "two"] {
        assert!(shown.out.contains(text), "{shown:?}");
    }
}

#[tokio::test]
async fn a_deep_home_is_no_obstacle() {
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a-rather-long-name".repeat(8)).join("another");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("onyx.json"), config(&model).to_string()).unwrap();
    let chat = run(&deep, &["chat", "hello"]).await;
    assert_eq!((chat.code, chat.out.as_str()), (Some(0), "ok\n"), "{chat:?}");
}

#[tokio::test]
async fn init_writes_a_home_that_reads_without_a_warning_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let first = run(&home, &["init"]).await;
    assert_eq!((first.code, first.out.matches("wrote").count()), (Some(0), 4), "{first:?}");
    std::fs::write(home.join("agents/main/SOUL.md"), "mine").unwrap();
    let config = std::fs::read_to_string(home.join("onyx.json")).unwrap();
    assert!(config.contains("tier: \"act\""));
    let second = run(&home, &["init"]).await;
    assert_eq!((second.code, second.out.matches("kept").count()), (Some(0), 4), "{second:?}");
    assert_eq!(std::fs::read_to_string(home.join("agents/main/SOUL.md")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(home.join("onyx.json")).unwrap(), config);
    let doctor = run(&home, &["doctor", "--json"]).await;
    let checks: Vec<Value> = serde_json::from_str(&doctor.out).unwrap();
    let of = |name: &str| {
        checks
            .iter()
            .filter(|check| check["name"] == name)
            .map(|check| check["state"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("config"), ["ok"], "{checks:?}");
    // The binary starts itself as the sandbox's child, and the test machine has bubblewrap.
    assert_eq!(of("commands"), ["ok"], "{checks:?}");
    assert_eq!(
        (of("home"), of("lock"), of("storage")),
        (vec![json!("ok")], vec![json!("ok")], vec![json!("ok")])
    );
    // There is neither a provider nor a local model, and the check says how to get either.
    let providers = checks.iter().find(|check| check["name"] == "providers").unwrap();
    assert!(providers["mend"].as_str().unwrap().contains("onyx models pull smollm2"));
    assert!(home.join("people/owner/USER.md").exists());
}

#[tokio::test]
async fn doctor_says_of_each_agent_whether_its_model_can_be_had() {
    let model = ScriptedModel::start().await;
    let home = home(&model).await;
    let mut settings = config(&model);
    let list = settings["agents"]["list"].as_array_mut().unwrap();
    list.push(json!({"id": "lost", "model": "nowhere/x"}));
    std::fs::write(home.path().join("onyx.json"), settings.to_string()).unwrap();
    let doctor = run(home.path(), &["doctor", "--json"]).await;
    let checks: Vec<Value> = serde_json::from_str(&doctor.out).unwrap();
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    let main = json!({"name": "agent main", "state": "ok", "detail": "mine/m"});
    assert_eq!(*of("agent main"), main, "{checks:?}");
    assert_eq!(of("agent lost")["state"], "broken", "{checks:?}");
    assert!(of("agent lost")["mend"].as_str().unwrap().contains("`model`"), "{checks:?}");
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
}

#[tokio::test]
async fn doctor_says_that_nothing_answers_where_the_config_names_a_provider_without_weights() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("onyx.json"), r#"{"providers": {"local": {}}}"#).unwrap();
    let chat = run(&home, &["chat", "hi"]).await;
    assert_ne!(chat.code, Some(0), "{chat:?}");
    assert!(!chat.err.contains("`baseUrl`"), "{chat:?}");

    let doctor = run(&home, &["doctor", "--json"]).await;
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let checks: Vec<Value> = serde_json::from_str(&doctor.out).unwrap();
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(of("provider local")["state"], "broken", "{checks:?}");
    assert_eq!(of("agent main")["state"], "broken", "{checks:?}");
    let mend = of("provider local")["mend"].as_str().unwrap();
    assert!(mend.contains("onyx models pull smollm2"), "{mend}");
}

#[tokio::test]
async fn exit_codes_tell_what_went_wrong() {
    let model = ScriptedModel::start().await;
    let home = home(&model).await;
    let nobody = "01936c00-0000-7000-8000-000000000001";
    for (arguments, code, says) in [
        (&["chat", "-s", nobody, "x"][..], 4, "not_found"),
        (&["chat", "-a", "nobody", "x"], 4, "not_found"),
        (&["chat", " "], 1, "invalid_request"),
        (&["chat", "-s", "../x", "x"], 2, "expected a UUID"),
        (&["sessions", "show", nobody], 4, "not_found"),
        (&["nonsense"], 2, "unrecognized"),
    ] {
        let ran = run(home.path(), arguments).await;
        assert_eq!(
            (ran.code, ran.err.contains(says)),
            (Some(code), true),
            "{arguments:?}: {ran:?}"
        );
    }
    model.set_default(Answer::error(onyx_test_support::ErrorKind::Auth));
    let failed = run(home.path(), &["chat", "x"]).await;
    assert_eq!((failed.code, failed.err.contains("provider_auth")), (Some(1), true), "{failed:?}");
    assert!(failed.err.contains("hint:"), "{failed:?}");
}

#[tokio::test]
async fn json_is_the_stream_itself_and_errors_are_lines_of_it() {
    let model = ScriptedModel::with_answers([
        Script::new([Step::Text("a".into())]).ended(onyx_test_support::Finish::Stop)
    ])
    .await;
    let home = home(&model).await;
    let ran = run(home.path(), &["chat", "--json", "x"]).await;
    let events: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((ran.code, crate::types(&events)), (Some(0), vec!["start", "text", "done"]));
    let refused = run(home.path(), &["chat", "--json", " "]).await;
    let error: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!(
        (refused.code, &error["type"], &error["code"]),
        (Some(1), &json!("error"), &json!("invalid_request"))
    );
}

#[tokio::test]
async fn lost_session_lists_are_read_anew_from_the_logs() {
    let model = ScriptedModel::start().await;
    let home = home(&model).await;
    run(home.path(), &["chat", "remember", "me"]).await;
    for name in ["onyx.db", "onyx.db-wal", "onyx.db-shm"] {
        let _ = std::fs::remove_file(home.path().join(name));
    }
    let done = run(home.path(), &["reindex"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let after = run(home.path(), &["sessions", "list"]).await;
    assert_eq!(
        (done.out.as_str(), after.out.lines().count()),
        ("1 sessions and 0 files were read again; 0 files had changed\n", 1)
    );
    let session = after.out.split(' ').next().unwrap();
    let shown = run(home.path(), &["sessions", "show", session]).await;
    assert!(shown.out.contains("remember me"), "{shown:?}");
}

#[tokio::test]
async fn completions_are_printed_for_every_shell() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(folder.path(), &["completions", shell]).await;
        assert!(ran.code == Some(0) && ran.out.contains("sessions"), "{shell}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
