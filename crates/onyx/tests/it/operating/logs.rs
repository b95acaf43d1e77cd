//! `onyx logs`.

use std::process::Stdio;

use onyx_test_support::{ScriptedModel, wait_for};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::{SOON, command, onyx, run};

#[tokio::test]
async fn the_log_of_the_running_server_is_shown_by_level_and_words() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let id = onyx.chat_stream(&json!({"message": "hi"})).await[0]["run_id"].clone();
    let id = id.as_str().unwrap();
    let shown = wait_for("the run's line", SOON, async || {
        let ran = run(&onyx.home(), &["logs", "--search", id]).await;
        (!ran.out.is_empty()).then_some(ran)
    })
    .await;
    assert_eq!((shown.code, shown.out.lines().count()), (Some(0), 1), "{shown:?}");
    let expected = format!("INFO  onyx_agent::runs::start: a run ended run={id} ");
    assert!(shown.out.contains(&expected), "{shown:?}");
    assert!(shown.out.contains(" status=done "), "{shown:?}");

    let json = run(&onyx.home(), &["logs", "--search", id, "--json"]).await;
    let line: Value = serde_json::from_str(json.out.trim()).unwrap();
    assert_eq!((&line["message"], &line["level"]), (&json!("a run ended"), &json!("info")));
    let errors = run(&onyx.home(), &["logs", "--level", "error"]).await;
    assert_eq!((errors.code, errors.out.as_str()), (Some(0), ""), "{errors:?}");
    let loud = run(&onyx.home(), &["logs", "--level", "loud"]).await;
    assert_eq!(loud.code, Some(2), "{loud:?}");
}

#[tokio::test]
async fn following_the_log_shows_what_comes_and_ends_with_the_server() {
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    let mut following = command(&onyx.home(), &["logs", "--follow", "--search", "a run ended"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    // The second message shows that new lines are followed, and not only the existing ones printed.
    for message in ["first", "second"] {
        let id = onyx.chat_stream(&json!({"message": message})).await[0]["run_id"].clone();
        let line =
            tokio::time::timeout(SOON, lines.next_line()).await.expect("a line").unwrap().unwrap();
        assert!(line.contains(id.as_str().unwrap()), "{line}");
    }
    onyx.terminate().await;
    let ended = tokio::time::timeout(SOON, following.wait()).await.expect("it ends").unwrap();
    assert!(matches!(ended.code(), Some(0 | 3)), "{ended:?}");
}

#[tokio::test]
async fn without_a_server_it_says_where_the_log_is() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(home.path(), &["logs"]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("no server is running") && ran.err.contains("journalctl"), "{ran:?}");
}
