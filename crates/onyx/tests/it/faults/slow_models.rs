//! Slow model servers: every time limit holds, and others are served meanwhile.

use std::time::Duration;

use onyx_test_support::{Answer, Fault, Pieces, ScriptedModel};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::{builder, witness};

/// A model server that sends the head of its answer one byte at a time and never completes it.
async fn dripping_head() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let head = b"HTTP/1.1 200 OK\r\nx-filler: ";
                for byte in head.iter().chain(std::iter::repeat(&b'x')) {
                    if stream.write_all(&[*byte]).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
        }
    });
    format!("http://{address}/v1")
}

#[tokio::test]
async fn slow_model_servers_meet_their_deadlines_and_hold_up_nobody() {
    let model = ScriptedModel::start().await;
    let dripping = dripping_head().await;
    let timeouts = json!({"firstByteSeconds": 0.5, "idleSeconds": 0.5, "totalSeconds": 1.5});
    let text = || Answer::text("x".repeat(4_000));
    let cases = [
        ("no-head", text().fault(Fault::HangBeforeHead)),
        ("no-body", text().fault(Fault::HangAfterHead)),
        ("stops", text().fault(Fault::HangAt(300))),
        ("drips", text().pieces(Pieces::Bytes(1)).delay_ms(20)),
    ];
    let names = cases.each_ref().map(|(name, _)| *name);
    // Each agent has its own provider, because a provider that fails repeatedly is paused.
    let mut providers = json!({});
    let mut agents = vec![json!({"id": "main", "default": true, "model": "mine/m"})];
    for name in names.into_iter().chain(["head"]) {
        let url = if name == "head" { dripping.clone() } else { model.base_url() };
        providers[name] = json!({"kind": "openai", "baseUrl": url, "timeouts": timeouts});
        agents.push(json!({"id": name, "model": format!("{name}/{name}")}));
    }
    let more = json!({"providers": providers, "agents": {"list": agents}});
    let onyx = builder(&model).merge(more).start().await;
    let answers = cases.clone();
    model.respond_with(move |request| {
        let slow = answers.iter().find(|(name, _)| request.body["model"] == *name);
        slow.map_or_else(|| Answer::text("ok"), |(_, answer)| answer.clone())
    });
    let before = onyx.own_bytes();
    for what in names {
        let (body, quick) = (json!({"message": "go", "agent": what}), json!({"message": "hello"}));
        let (slow, quick) =
            tokio::join!(witness::talk(onyx.client(), &body), witness::talk(onyx.client(), &quick));
        assert_eq!(
            (slow.error.as_deref(), slow.status.as_deref()),
            (Some("provider_timeout"), Some("error")),
            "{what}: {slow:?}"
        );
        assert_eq!(quick.status.as_deref(), Some("done"), "{what}: {quick:?}");
    }
    let head = witness::talk(onyx.client(), &json!({"message": "go", "agent": "head"})).await;
    // After several tries the provider may be given up as unavailable before the last try.
    let code = head.error.as_deref();
    assert!(matches!(code, Some("provider_timeout" | "provider_unavailable")), "{head:?}");
    let grown = onyx.own_bytes().saturating_sub(before);
    assert!(grown < 16 * 1024 * 1024, "grown by {grown} bytes");
}
