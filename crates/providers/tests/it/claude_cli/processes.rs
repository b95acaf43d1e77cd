use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use super::{LIMITS, answering, ask, called, request, request_of, results, setting, told, wrapper};
use crate::support::text_of;
use futures::StreamExt;
use onyx_providers::ClaudeLimits;
use onyx_test_support::{FakeProgram, wait_until};
use onyx_types::{Cancel, Message, ModelEvent, ModelFailureClass};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

/// Whether the process runs. A process that has ended but was not waited for counts as gone.
fn is_there(process: u32) -> bool {
    let stat = std::fs::read_to_string(PathBuf::from(format!("/proc/{process}/stat")));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")))
}

pub(super) async fn until_gone(process: u32) {
    let limit = Duration::from_secs(30);
    wait_until("the process to be gone", limit, || !is_there(process)).await;
}

fn kill(process: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &process.to_string()]).status();
    assert!(killed.unwrap().success());
}

fn call() -> serde_json::Value {
    json!({"text": "", "calls": [{"id": "toolu_1", "name": "read_file", "arguments": {}}]})
}

#[tokio::test]
async fn a_process_that_is_lost_between_two_steps_is_replaced_by_one_that_is_told_everything() {
    let setting = answering([call(), json!({"text": "The note says hi."})]);
    let question = Message::user("What does the note say?");
    ask(&setting.model, vec![question.clone()]).await;
    let lost = setting.source.parked_processes()[0];
    kill(lost);
    until_gone(lost).await;
    let history = vec![
        question,
        called("", &[("toolu_1", "read_file", json!({}))]),
        results(&[("toolu_1", "hi")]),
    ];
    let events = ask(&setting.model, history).await;
    assert_eq!(text_of(&events), "The note says hi.");
    assert_eq!(setting.fake.processes().len(), 2);
    let told = told(&setting.fake);
    assert!(told[1].contains("What does the note say?") && told[1].contains("hi"), "{told:?}");
}

#[tokio::test]
async fn a_process_that_nobody_needs_is_ended() {
    let limits = ClaudeLimits { parked: Duration::from_millis(200), ..LIMITS };
    let setting = setting(FakeProgram::claude([]), limits);
    ask(&setting.model, vec![Message::user("hello")]).await;
    let process = setting.fake.processes()[0];
    until_gone(process).await;
    assert!(setting.source.parked_processes().is_empty());
}

#[tokio::test]
async fn there_are_never_more_processes_than_allowed() {
    let limits = ClaudeLimits { processes: 2, ..LIMITS };
    let setting = setting(FakeProgram::claude([]), limits);
    for session in ["one", "two", "three"] {
        let request = request_of(session, vec![Message::user("hello")]);
        let events: Vec<ModelEvent> = setting.model.stream(request, Cancel::new()).collect().await;
        assert_eq!(text_of(&events), "ok");
    }
    let started = setting.fake.processes();
    assert_eq!(setting.source.parked_processes(), started[1..]);
    until_gone(started[0]).await;
}

#[tokio::test]
async fn a_call_waits_while_all_processes_are_at_work() {
    let limits = ClaudeLimits { processes: 1, ..LIMITS };
    let hangs = json!({"text": "Wait", "fault": "hangs"});
    let setting = setting(FakeProgram::claude([hangs]), limits);
    let mut first = setting.model.stream(request(vec![Message::user("one")]), Cancel::new());
    assert_eq!(first.next().await, Some(ModelEvent::TextDelta("Wait".to_owned())));
    let other = request_of("two", vec![Message::user("two")]);
    let mut second = setting.model.stream(other, Cancel::new());
    let soon = tokio::time::timeout(Duration::from_millis(300), second.next()).await;
    assert!(soon.is_err(), "{soon:?}");
    drop(first);
    assert_eq!(text_of(&second.collect::<Vec<_>>().await), "ok");
}

#[tokio::test]
async fn cancelling_ends_the_process_and_whatever_it_started() {
    let hangs = json!({"text": "Wait", "fault": "hangs"});
    let setting = answering([hangs]);
    let cancel = Cancel::new();
    let mut events = setting.model.stream(request(vec![Message::user("one")]), cancel.clone());
    assert_eq!(events.next().await, Some(ModelEvent::TextDelta("Wait".to_owned())));
    let process = setting.fake.processes()[0];
    assert!(is_there(process));
    cancel.cancel();
    let rest: Vec<ModelEvent> = events.collect().await;
    assert_eq!(crate::support::class_of(&rest), ModelFailureClass::Cancelled);
    until_gone(process).await;
}

#[tokio::test]
async fn a_program_does_not_outlive_the_process_that_started_it() {
    // The parent starts the program through the wrapper and prints its id. Then the parent is
    // killed, so that it cannot end anything itself.
    let parent = "import os, subprocess, sys, time\n\
        child = subprocess.Popen([sys.argv[1], str(os.getpid()), 'sleep', '600'])\n\
        print(child.pid, flush=True)\n\
        time.sleep(600)\n";
    let mut parent = tokio::process::Command::new("python3")
        .arg("-c")
        .arg(parent)
        .arg(wrapper().program)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let child: u32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    let is_sleep = || {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
        name.is_ok_and(|name| name.trim() == "sleep")
    };
    wait_until("the program to run", Duration::from_secs(30), is_sleep).await;
    parent.kill().await.unwrap();
    until_gone(child).await;
}

#[tokio::test]
async fn a_program_whose_starter_is_gone_already_does_not_begin() {
    let output = tokio::process::Command::new(wrapper().program)
        .args(["1", "sleep", "600"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is gone"), "{output:?}");
}
