use std::sync::{Arc, Mutex};

use onyx_test_support::networks::{FakeMail, MailTrouble};
use onyx_test_support::{Answer, ScriptedCall, ScriptedModel};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{make, run_now, session};
use crate::builder;

/// A server for webhooks that stores what it gets and refuses the first requests.
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
    // The job does not deliver to its session, so the session is not marked as unread.
    assert_eq!(session(&onyx, &run["session_id"]).await["unread"], false);
    // An empty result is not delivered.
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

fn mail_server(mail: &FakeMail, recipients: &[&str]) -> Value {
    json!({"mail": {
        "host": "127.0.0.1", "port": mail.port(), "security": "none", "user": "onyx",
        "password": "open sesame", "from": "Onyx <onyx@home.example>", "recipients": recipients,
    }})
}

#[tokio::test]
async fn a_letter_goes_out_once_it_is_taken_and_a_repeat_can_be_told() {
    let answer = "Grüße: all quiet.\n.\nA line after a lone dot.";
    let model = ScriptedModel::with_answers([answer, answer, "NO_REPLY", answer]).await;
    let mail = FakeMail::start().await;
    let onyx = builder(&model).merge(mail_server(&mail, &["*@family.example"])).start().await;
    let to = json!({"email": "Me@family.example"});
    make(&onyx, json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": to})).await;
    mail.make_trouble([MailTrouble::Greylist]);
    let run = run_now(&onyx, "watch").await;
    assert_eq!((&run["outcome"], &run["delivery"]), (&json!("done"), &json!("delivered")), "{run}");
    let letters = mail.letters();
    assert_eq!(letters.len(), 1, "{letters:?}");
    let letter = &letters[0];
    assert_eq!(
        (letter.from.as_str(), letter.to.as_str()),
        ("onyx@home.example", "Me@family.example")
    );
    assert_eq!(letter.header("subject").as_deref(), Some("watch"));
    assert_eq!(letter.header("auto-submitted").as_deref(), Some("auto-generated"));
    assert!(letter.data.contains("A line after a lone dot."), "{}", letter.data);
    assert!(!mail.logins().is_empty(), "nobody signed in");

    // The mail server accepted the mail, but its answer was lost, so the mail is sent again with
    // the same id.
    mail.make_trouble([MailTrouble::TakeAndVanish]);
    let run = run_now(&onyx, "watch").await;
    assert_eq!(run["delivery"], "delivered", "{run}");
    let letters = mail.letters();
    assert_eq!(letters.len(), 3, "{letters:?}");
    let id = |number: usize| letters[number].header("message-id").unwrap();
    assert_eq!(id(1), id(2));
    assert_ne!(id(0), id(1));

    // An empty result is not delivered.
    let run = run_now(&onyx, "watch").await;
    assert_eq!((&run["outcome"], &run["delivery"]), (&json!("nothing"), &Value::Null));

    mail.make_trouble([MailTrouble::Refuse]);
    let run = run_now(&onyx, "watch").await;
    assert_eq!(run["delivery"], "failed");
    assert!(run["text"].as_str().unwrap().contains("No such person here"), "{run}");
    assert_eq!(mail.letters().len(), 3);
    assert!(!onyx.log().contains("open sesame"), "the password is in the log");
}

#[tokio::test]
async fn a_job_writes_only_to_those_whom_the_config_lists() {
    let model = ScriptedModel::start().await;
    let mail = FakeMail::start().await;
    let onyx = builder(&model).merge(mail_server(&mail, &["friend@other.example"])).start().await;
    let job = |to: &str| json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": {"email": to}});
    for (to, why) in [
        ("stranger@other.example", "is not an allowed recipient"),
        ("friend@other.example.evil.example", "is not an allowed recipient"),
        ("not an address", "is not an e-mail address"),
        ("a@b.example\r\nBcc: c@d.example", "is not an e-mail address"),
    ] {
        let refused = onyx.post("/api/jobs", &job(to)).await.expect(400).json();
        assert!(refused["detail"].as_str().unwrap().contains(why), "{refused}");
        assert!(refused["hint"].as_str().unwrap().contains("me@example.org"), "{refused}");
    }
    let _ = onyx.post("/api/jobs", &job("friend@other.example")).await.expect(201);
}

#[tokio::test]
async fn without_a_mail_server_a_job_cannot_ask_for_letters() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let job = json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": {"email": "me@example.org"}});
    let refused = onyx.post("/api/jobs", &job).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("names no mail server"), "{refused}");
}

#[tokio::test]
async fn an_unknown_peer_is_told_when_the_job_is_written() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let job = json!({
        "id": "watch", "every": "1h", "prompt": "Look.",
        "deliver": {"connector": "telegram/main/123"},
    });
    let refused = onyx.post("/api/jobs", &job).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("telegram/main"), "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("onyx connectors"), "{refused}");
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
