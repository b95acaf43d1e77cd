//! Sends messages to a run at work over the WebSocket.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use onyx_test_support::{AgentClient, DEFAULT_TOKEN, canary};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;

const PATIENCE: Duration = Duration::from_secs(20);

/// Returns whether the server acknowledged the message; `None` when it went away meanwhile.
pub(super) async fn steer(client: &AgentClient, session: &str, words: &str) -> Option<bool> {
    timeout(PATIENCE, told(client, session, words)).await.ok().flatten()
}

async fn told(client: &AgentClient, session: &str, words: &str) -> Option<bool> {
    let address = client.url("/ws").replace("http://", "ws://");
    let mut request = address.into_client_request().ok()?;
    let bearer = HeaderValue::from_str(&format!("Bearer {DEFAULT_TOKEN}")).ok()?;
    request.headers_mut().insert("authorization", bearer);
    let (mut socket, _) = connect_async(request).await.ok()?;
    let data = json!({"sessionId": session, "message": words});
    let frame = json!({"type": "chat.steer", "id": "s", "data": data});
    socket.send(Message::text(frame.to_string())).await.ok()?;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        canary::assert_absent("a frame", text.as_bytes());
        let answer: Value = serde_json::from_str(&text).ok()?;
        if answer["id"] == "s" {
            return Some(answer["error"].is_null());
        }
    }
    None
}
