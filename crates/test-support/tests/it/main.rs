//! Tests the scripted server itself: it must send exactly what a script asks for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod faults;
mod speech;

use onyx_test_support::ScriptedModel;
use reqwest::Response;
use serde_json::{Value, json};

fn streaming_request() -> Value {
    json!({"model": "scripted", "stream": true, "stream_options": {"include_usage": true}})
}

async fn ask(server: &ScriptedModel, body: &Value) -> Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/chat/completions", server.base_url());
    client.post(url).json(body).send().await.unwrap()
}

/// The body up to its end, and whether it ended properly.
async fn drain(mut response: Response) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return (bytes, true),
            Err(_) => return (bytes, false),
        }
    }
}
