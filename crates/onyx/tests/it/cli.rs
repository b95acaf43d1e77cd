//! The command line beside a running server.

use onyx_test_support::{Script, ScriptedCall, ScriptedModel, Step, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Child;

use crate::{Ran, SOON, command, config, onyx, run};

#[tokio::test]
async fn commands_go_through_the_server_that_holds_the_home() {
    let args = json!({"path": "a.md", "content": "x"});
    let model = ScriptedModel::with_answers([
        Script::tool_calls([ScriptedCall::new("c", "write_file", &args)]),
        Script::text("Written."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let chat = run(&onyx.home(), &["chat", "write", "it"]).await;
    assert_eq!((chat.code, chat.out.as_str()), (Some(0), "Written.\n"), "{chat:?}");
    assert!(chat.err.contains("write_file path=a.md content=x"), "{chat:?}");
    let list: Value = onyx.get("/v1/sessions").await.json();
    let session = list["sessions"][0]["id"].as_str().unwrap();
    let export = run(&onyx.home(), &["sessions", "export", session]).await;
    let kinds: Vec<Value> = export
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(
        kinds,
        ["run_start", "user", "tool_call", "tool_result", "assistant_text", "run_end"]
    );
    let markdown =
        run(&onyx.home(), &["sessions", "export", session, "--format", "markdown"]).await;
    for text in ["# write it", "## You", "`write_file` ok", "Written."] {
        assert!(markdown.out.contains(text), "{}", markdown.out);
    }
    let second = run(&onyx.home(), &["serve"]).await;
    assert_eq!((second.code, second.err.contains("in use")), (Some(3), true), "{second:?}");
    let doctor = run(&onyx.home(), &["doctor"]).await;
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
}

#[tokio::test]
async fn interrupting_a_chat_cancels_the_answer_and_keeps_its_words() {
    let model = ScriptedModel::start().await;
    let hanging = || Script::new([Step::Text("half an answer".into()), Step::Hang]);
    let held = onyx(&model).await;
    let free = tempfile::tempdir().unwrap();
    std::fs::write(free.path().join("onyx.json"), config(&model).to_string()).unwrap();
    for (number, home) in [held.home(), free.path().to_owned()].into_iter().enumerate() {
        model.push(hanging());
        let mut chat = command(&home, &["chat", "go"]).spawn().unwrap();
        read_until(&mut chat, "half an answer").await;
        interrupt(&chat);
        let ran: Ran = chat.wait_with_output().await.unwrap().into();
        assert_eq!(ran.code, Some(130), "{ran:?}");
        wait_until("the model's connection to close", SOON, || model.abandoned() == number + 1)
            .await;
        let list = run(&home, &["sessions", "list", "--json"]).await;
        let list: Value = serde_json::from_str(&list.out).unwrap();
        let session = list["sessions"][0]["id"].as_str().unwrap();
        let shown = run(&home, &["sessions", "show", session, "--json"]).await;
        let shown: Value = serde_json::from_str(&shown.out).unwrap();
        let answer = &shown["messages"][1];
        assert_eq!(
            (&answer["content"], &answer["status"]),
            (&json!("half an answer"), &json!("cancelled"))
        );
        let next = run(&home, &["chat", "-s", session, "go on"]).await;
        assert_eq!((next.code, next.out.as_str()), (Some(0), "ok\n"), "{next:?}");
    }
}

#[tokio::test]
async fn a_message_can_come_from_a_pipe() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let mut chat = command(&onyx.home(), &["chat"]);
    let mut chat = chat.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = chat.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"from a pipe").await.unwrap();
    drop(stdin);
    let ran: Ran = chat.wait_with_output().await.unwrap().into();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ok\n"), "{ran:?}");
    let asked = model.last_request().body["messages"].as_array().unwrap().last().unwrap().clone();
    assert!(asked["content"].as_str().unwrap().ends_with("from a pipe"), "{asked}");
}

#[tokio::test]
async fn a_busy_session_is_its_own_exit_code() {
    let model =
        ScriptedModel::with_answers([Script::new([Step::Text("a".into()), Step::Hang])]).await;
    let onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let start = lines.next().await.unwrap();
    let ran =
        run(&onyx.home(), &["chat", "-s", start["session_id"].as_str().unwrap(), "me too"]).await;
    assert_eq!((ran.code, ran.err.contains("session_busy")), (Some(5), true), "{ran:?}");
}

async fn read_until(child: &mut Child, text: &str) {
    let out = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        assert_ne!(out.read_buf(&mut seen).await.unwrap(), 0, "ended after {seen:?}");
    }
}

fn interrupt(child: &Child) {
    let id = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(id, Signal::INT).unwrap();
}
