//! Sends messages to Discord. Each carries a nonce that is made from its key. Discord accepts a
//! nonce only once, so an attempt without an answer can be repeated.

use onyx_egress::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Discord, lock, parse};
use crate::connector::{Button, NetworkError, Outgoing, OutgoingKind};
use crate::networks::form::Form;

/// The length of a nonce. Discord accepts up to 25 characters.
const NONCE: usize = 24;
/// The flag by which Discord shows no previews of links.
const WITHOUT_PREVIEWS: u64 = 1 << 2;
/// The flag by which only the person who pressed the button sees the message.
const FOR_ONE: u64 = 1 << 6;
const LONGEST_PRESS_ANSWER: usize = 1_900;

pub(super) async fn send(discord: &Discord, message: &Outgoing) -> Result<String, NetworkError> {
    match &message.what {
        OutgoingKind::Text { text, buttons } => {
            let channel = channel(discord, &message.peer, &message.thread).await?;
            let body = json!({
                "content": text.marked,
                "nonce": nonce(&message.key),
                "enforce_nonce": true,
                "flags": WITHOUT_PREVIEWS,
                // The text of an agent must not notify people.
                "allowed_mentions": {"parse": []},
                "components": rows(buttons),
            });
            let path = format!("/channels/{channel}/messages");
            let sent = discord.rest.post(&path, &body).await?;
            Ok(sent["id"].as_str().unwrap_or_default().to_owned())
        }
        OutgoingKind::Edit { message: edited, text } => {
            let channel = channel(discord, &message.peer, &message.thread).await?;
            let path = format!("/channels/{channel}/messages/{edited}");
            let body = json!({"content": text.marked, "allowed_mentions": {"parse": []}});
            discord.rest.call(Method::PATCH, &path, Some(&body)).await?;
            Ok(edited.clone())
        }
        OutgoingKind::PressAnswer { press, text } => {
            let Some((application, token)) = press.split_once(':') else {
                return Ok(String::new());
            };
            let end = text.floor_char_boundary(LONGEST_PRESS_ANSWER);
            let body = json!({"content": &text[..end], "flags": FOR_ONE,
                "allowed_mentions": {"parse": []}});
            let path = format!("/webhooks/{application}/{token}");
            match discord.rest.post(&path, &body).await {
                // Discord refuses an answer fifteen minutes after the press, when nobody waits for
                // it any more.
                Err(
                    NetworkError::Refused(_)
                    | NetworkError::NoThread(_)
                    | NetworkError::Unauthorized(_),
                ) => Ok(String::new()),
                other => other.map(|_| String::new()),
            }
        }
        OutgoingKind::File(_) => Err(NetworkError::Refused("the file has no content".to_owned())),
    }
}

pub(super) async fn send_file(
    discord: &Discord,
    message: &Outgoing,
    bytes: &[u8],
) -> Result<String, NetworkError> {
    let OutgoingKind::File(file) = &message.what else { return send(discord, message).await };
    let channel = channel(discord, &message.peer, &message.thread).await?;
    let payload = json!({"nonce": nonce(&message.key), "enforce_nonce": true,
        "allowed_mentions": {"parse": []}});
    let form = Form::new().field("payload_json", &payload.to_string());
    let (kind, body) = form.file("files[0]", &file.name, &file.media_type, bytes).finish();
    let path = format!("/channels/{channel}/messages");
    let sent = discord.rest.call_as(&kind, Method::POST, &path, body).await?;
    Ok(sent["id"].as_str().unwrap_or_default().to_owned())
}

/// The channel in which a peer is written to. A peer is a channel of a server or a person, and
/// their ids never coincide.
pub(super) async fn channel(
    discord: &Discord,
    peer: &str,
    thread: &str,
) -> Result<String, NetworkError> {
    let is_number = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_digit());
    if !thread.is_empty() && is_number(thread) {
        return Ok(thread.to_owned());
    }
    if !is_number(peer) {
        return Err(NetworkError::Refused(format!(
            "{peer:?} is not a channel or user id of Discord"
        )));
    }
    if let Some(known) = lock(&discord.channels).get(peer) {
        return Ok(known.clone());
    }
    let found = match discord.rest.get(&format!("/channels/{peer}")).await {
        Ok(_) => peer.to_owned(),
        Err(NetworkError::NoThread(_)) => {
            let body = json!({ "recipient_id": peer });
            let opened: Value = discord.rest.post("/users/@me/channels", &body).await?;
            let channel: super::Channel = parse(opened)?;
            channel.id
        }
        Err(error) => return Err(error),
    };
    discord.remember(peer, &found);
    Ok(found)
}

fn nonce(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..NONCE].to_owned()
}

fn rows(buttons: &[Button]) -> Value {
    if buttons.is_empty() {
        return json!([]);
    }
    let row: Vec<Value> = buttons
        .iter()
        .enumerate()
        .map(|(index, button)| {
            // The first button is what most people want, so it is green. The others are grey.
            let style = if index == 0 { 3 } else { 2 };
            json!({"type": 2, "style": style, "label": button.label, "custom_id": button.data})
        })
        .collect();
    json!([{"type": 1, "components": row}])
}
