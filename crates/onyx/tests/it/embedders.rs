//! Embedders that start late and embedders that never answer. Neither keeps searches by words from
//! working.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use onyx_test_support::{DEFAULT_KEY, OnyxProcess, ScriptedModel, wait_for};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::memory::{paths, search, write};
use crate::{SOON, builder};

/// A port at which no program listens, and which no other program gets while the socket is open.
fn free_port() -> (u16, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    // A listener that allows it too can have the same port.
    socket.set_reuseaddr(true).unwrap();
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    (socket.local_addr().unwrap().port(), socket)
}

/// A server whose embedder is at this port, whether or not one listens there.
async fn embedding_at(model: &ScriptedModel, port: u16) -> OnyxProcess {
    let far = json!({"kind": "openai", "baseUrl": format!("http://127.0.0.1:{port}/v1"),
        "apiKey": DEFAULT_KEY});
    let config = json!({"memory": {"embedder": "far/embed"}, "providers": {"far": far}});
    builder(model).merge(config).start().await
}

async fn index(onyx: &OnyxProcess) -> Value {
    onyx.get("/v1/memory/status").await.expect(200).json()
}

#[tokio::test]
async fn an_embedder_that_comes_after_the_server_is_used_without_anybody_asking() {
    let model = ScriptedModel::start().await;
    let (port, _kept_free) = free_port();
    let onyx = embedding_at(&model, port).await;
    write(&onyx, "people/owner/vault/a.md", "tulips");
    wait_for("it is found by words", SOON, async || {
        (paths(&search(&onyx, "q=tulips").await) == ["vault/a.md"]).then_some(())
    })
    .await;
    wait_for("the embedder was asked in vain", SOON, async || {
        let reason = index(&onyx).await["embedding"]["reason"].clone();
        reason.as_str().is_some_and(|it| !it.contains("not answered yet")).then_some(())
    })
    .await;
    let _far = ScriptedModel::start_on(port).await;
    wait_for("vectors are made", SOON * 6, async || {
        let status = index(&onyx).await;
        (status["vectors"] == 1 && status["embedding"]["state"] == "ready").then_some(())
    })
    .await;
    let found = search(&onyx, "q=tulips").await;
    let first = &found["results"][0];
    assert_eq!((&found["degraded"], &first["match_type"]), (&json!(false), &json!("hybrid")));
}

#[tokio::test]
async fn an_embedder_that_says_nothing_keeps_no_file_from_being_found() {
    let model = ScriptedModel::start().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let onyx = embedding_at(&model, silent.local_addr().unwrap().port()).await;
    // The embedder accepts the connection and never answers.
    let _connection = silent.accept().await.unwrap();
    write(&onyx, "people/owner/vault/a.md", "tulips");
    wait_for("it is found by words", SOON, async || {
        (paths(&search(&onyx, "q=tulips").await) == ["vault/a.md"]).then_some(())
    })
    .await;
    let status = wait_for("everything was looked through", SOON, async || {
        let status = index(&onyx).await;
        (status["complete"] == true && status["watching"]["state"] == "on").then_some(status)
    })
    .await;
    assert_eq!(status["embedding"]["state"], "failing", "{status}");
    assert_eq!(status["embedding"]["reason"], "it has not answered yet");
    // An edit of the config does not wait for the embedder either.
    let mut config: Value = serde_json::from_slice(&fs::read(onyx.config_path()).unwrap()).unwrap();
    config["memory"]["embedder"] = json!("mine/embed");
    fs::write(onyx.config_path(), config.to_string()).unwrap();
    wait_for("the other one makes vectors", SOON, async || {
        let status = index(&onyx).await;
        (status["vectors"] == 1 && status["embedding"]["state"] == "ready").then_some(())
    })
    .await;
}
