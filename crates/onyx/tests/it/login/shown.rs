//! `onyx providers login|logout|list|status`, with and without a server.

use onyx_test_support::{AuthorizationServer, Decision, ScriptedModel, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Child;

use super::{sign_in, state, with_login};
use crate::{Ran, SOON, command, run};

#[tokio::test]
async fn the_command_line_signs_in_and_out_with_and_without_a_server() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let mut onyx = with_login(&model, &server.settings()).start().await;
    for has_server in [true, false] {
        server.decide(Decision::Pending);
        let mut login = command(&onyx.home(), &["providers", "login", "mine"]).spawn().unwrap();
        let code = format!("ABCD-{:04}", if has_server { 1 } else { 2 });
        let said = read_until(&mut login, &code).await;
        assert!(said.contains(&server.url("/enter")), "{said}");
        server.decide(Decision::Approve);
        let ran: Ran = login.wait_with_output().await.unwrap().into();
        assert_eq!(
            (ran.code, ran.out.contains("signed in as octocat")),
            (Some(0), true),
            "{ran:?}"
        );
        for words in [["providers", "list"], ["providers", "status"]] {
            let shown = run(&onyx.home(), &words).await;
            assert!(shown.out.contains("signed in as octocat"), "{shown:?}");
        }
        // Beginning a sign-in twice gives the same sign-in.
        let again = run(&onyx.home(), &["providers", "login", "mine", "--json"]).await;
        let again_state: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!((again.code, &again_state["state"]), (Some(0), &json!("signed_in")));
        let doctor = run(&onyx.home(), &["doctor"]).await;
        assert_eq!(doctor.code, Some(0), "{doctor:?}");
        let chat = run(&onyx.home(), &["chat", "hi"]).await;
        assert_eq!((chat.code, chat.out.as_str()), (Some(0), "ok\n"), "{chat:?}");
        let out = run(&onyx.home(), &["providers", "logout", "mine"]).await;
        assert_eq!((out.code, out.out.contains("signed out")), (Some(0), true), "{out:?}");
        let status = run(&onyx.home(), &["providers", "status"]).await;
        assert!(status.out.contains("not signed in"), "{status:?}");
        if has_server {
            onyx.terminate().await;
        }
    }
    let unknown = run(&onyx.home(), &["providers", "login", "nobody"]).await;
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
}

#[tokio::test]
async fn interrupting_a_sign_in_stops_it_on_the_server_too() {
    let (model, server) = (ScriptedModel::start().await, AuthorizationServer::start().await);
    let onyx = with_login(&model, &server.settings()).start().await;
    let mut login = command(&onyx.home(), &["providers", "login", "mine"]).spawn().unwrap();
    read_until(&mut login, "ABCD-0001").await;
    assert_eq!(state(&onyx).await["state"], "waiting");
    wait_until("a poll", SOON, || !server.polls().is_empty()).await;
    let id = Pid::from_raw(login.id().unwrap().cast_signed()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let ran: Ran = login.wait_with_output().await.unwrap().into();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(state(&onyx).await["state"], "none");
    server.decide(Decision::Refuse("access_denied"));
    let refused = run(&onyx.home(), &["providers", "login", "mine"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.out.contains("the sign-in was refused there"), "{refused:?}");
    sign_in(&onyx, &server).await;
}

pub(super) async fn read_until(child: &mut Child, text: &str) -> String {
    let out = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        assert_ne!(out.read_buf(&mut seen).await.unwrap(), 0, "ended after {seen:?}");
    }
    String::from_utf8_lossy(&seen).into_owned()
}
