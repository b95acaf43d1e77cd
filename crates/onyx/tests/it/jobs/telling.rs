use std::sync::{Arc, Mutex};

use onyx_test_support::{Answer, ScriptedCall, ScriptedModel};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{make, run_now, session};
use crate::builder;

/// A receiver of webhooks that keeps what it was sent, and first refuses some.
struct Hook {
    address: String,
    heard: Arc<Mutex<Vec<String>>>,
}

async fn hook(refuse: usize) -> Hook {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&heard);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            let mut buffer = [0; 4096];
            while !is_whole(&text) {
                let read = stream.read(&mut buffer).await.unwrap();
                if read == 0 {
                    break;
                }
                text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
            let number = {
                let mut heard = keep.lock().unwrap();
                heard.push(text);
                heard.len()
            };
            let status = if number <= refuse { "503 Busy" } else { "200 OK" };
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    Hook { address, heard }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        line.to_lowercase().strip_prefix("content-length: ").map(|length| length.parse().unwrap())
    });
    body.len() >= length.unwrap_or(0_usize)
}

#[tokio::test]
async fn a_webhook_hears_of_a_run_and_is_asked_again_with_the_same_key() {
    let model = ScriptedModel::with_answers(["All quiet.", "NO_REPLY"]).await;
    let hook = hook(1).await;
    let web = json!({"tools": {"web": {"allowPrivateHosts": [hook.address]}}});
    let onyx = builder(&model).merge(web).start().await;
    let url = format!("http://{}/in", hook.address);
    make(
        &onyx,
        json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": {"webhook": url}}),
    )
    .await;
    let run = run_now(&onyx, "watch").await;
    assert_eq!((&run["outcome"], &run["delivery"]), (&json!("done"), &json!("delivered")));
    let heard = hook.heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 2, "{heard:?}");
    let key = |text: &str| {
        text.lines()
            .find(|line| line.to_lowercase().starts_with("idempotency-key"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(key(&heard[0]), key(&heard[1]));
    let body: Value = serde_json::from_str(heard[1].split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        (&body["job"], &body["text"], &body["outcome"]),
        (&json!("watch"), &json!("All quiet."), &json!("done"))
    );
    // The session was not asked for, so nothing is marked.
    assert_eq!(session(&onyx, &run["session_id"]).await["unread"], false);
    // Nothing to say is told to nobody.
    let run = run_now(&onyx, "watch").await;
    assert_eq!((&run["outcome"], &run["delivery"]), (&json!("nothing"), &Value::Null));
    assert_eq!(hook.heard.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_address_in_a_private_network_is_not_reached() {
    let model = ScriptedModel::with_answers(["All quiet."]).await;
    let hook = hook(0).await;
    let onyx = builder(&model).start().await;
    let url = format!("http://{}/in", hook.address);
    make(
        &onyx,
        json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": {"webhook": url}}),
    )
    .await;
    let run = run_now(&onyx, "watch").await;
    assert_eq!(run["delivery"], "failed");
    assert!(run["text"].as_str().unwrap().contains("not on the public internet"), "{run}");
    assert_eq!(hook.heard.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn what_needs_a_person_becomes_a_draft_and_is_told() {
    let model = ScriptedModel::start().await;
    model.respond_with(|request| {
        let text = request.body["messages"].to_string();
        if text.contains("Drafted as") {
            return "NO_REPLY".into();
        }
        let arguments = json!({"path": "notes.md", "content": "x"});
        Answer::tool_calls([ScriptedCall::new("c1", "write_file", &arguments)])
    });
    let agents = json!({"agents": {"list": [{"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"}]}});
    let onyx = builder(&model).merge(agents).start().await;
    make(&onyx, json!({"id": "note", "every": "1h", "prompt": "Write it."})).await;
    let run = run_now(&onyx, "note").await;
    assert_eq!(run["outcome"], "done");
    assert!(
        run["text"].as_str().unwrap().starts_with("One change waits for your approval."),
        "{run}"
    );
    let drafts = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(drafts["drafts"].as_array().unwrap().len(), 1);
    assert_eq!(session(&onyx, &run["session_id"]).await["unread"], true);
    assert!(!onyx.home().join("people/owner/vault/notes.md").exists());
}
