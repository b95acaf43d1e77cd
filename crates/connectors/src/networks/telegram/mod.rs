//! Talks to Telegram over its Bot API. Updates come by long polling or by webhook, and messages are
//! written in Telegram's HTML. Unknown fields and kinds are ignored, so that changes of Telegram do
//! no harm.

mod api;
mod incoming;
mod wire;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use onyx_storage::Repeat;
use serde_json::{Value, json};
use std::time::Duration;
use subtle::ConstantTimeEq as _;

use super::form::Form;
use super::http::Http;
use crate::connector::{
    Batch, Button, Connector, FileRef, Identity, Listening, NetworkError, NetworkTraits, Outgoing,
    OutgoingKind, PaceLimits, PushedRequest,
};
use crate::settings::{Account, Mode, Secret};
use crate::setup::{ConnectorSetup, WaitTimes};
use crate::text::{RenderedMessage, TextFormat, TextLimits};
use wire::{Bot, FileInfo};

const API: &str = "https://api.telegram.org";
/// The largest file that a bot may download, in bytes.
const LARGEST_FILE: usize = 20 * 1024 * 1024;
/// The largest file that is sent, in bytes. Telegram accepts pictures up to this size.
const LARGEST_SENT: u64 = 10 * 1024 * 1024;
const LONGEST_PRESS_ANSWER: usize = 190;

/// The pace is a little below Telegram's limits, because Telegram counts by its own clock. The
/// limits are one message a second in a chat, twenty a minute in a group, and thirty a second in
/// all.
const PACE: PaceLimits = PaceLimits {
    chat_gap: Duration::from_millis(1_100),
    group_gap: Duration::from_millis(3_200),
    account_gap: Duration::from_millis(40),
};

pub(super) struct Telegram {
    http: Http,
    token: Secret,
    wait_times: WaitTimes,
    /// The address to which Telegram pushes updates; only set in the mode `webhook`.
    webhook: Option<WebhookAddress>,
    me: OnceLock<Bot>,
    is_chosen: AtomicBool,
    has_heard: AtomicBool,
}

/// The address to which Telegram pushes updates, and the secret that proves their origin.
struct WebhookAddress {
    address: String,
    /// The secret that Telegram sends with each update.
    secret: Secret,
}

impl WebhookAddress {
    fn new(account: &Account, setup: &ConnectorSetup) -> Result<Self, String> {
        let Some(public) = setup.port.link() else {
            return Err(
                "`mode: webhook` needs `gateway.publicUrl`, so that Telegram can reach Onyx"
                    .to_owned(),
            );
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let secret = account.secret.clone();
        if secret.reveal().len() < 16 || !secret.reveal().chars().all(is_plain) {
            return Err("`secret` must have 16 or more of A-Z, a-z, 0-9, - and _".to_owned());
        }
        let (base, name) = (public.trim_end_matches('/'), &account.key.account);
        Ok(Self { address: format!("{base}/connectors/telegram/{name}"), secret })
    }
}

impl Telegram {
    pub(super) fn new(account: &Account, setup: &ConnectorSetup) -> Result<Self, String> {
        let token = account.token.clone();
        let is_token = |token: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            token.split_once(':').is_some_and(|(id, rest)| {
                !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()) && rest.chars().all(plain)
            })
        };
        if !is_token(token.reveal()) {
            return Err("this is not a Telegram bot token, which looks like 123456:ABC…".to_owned());
        }
        let base = account.api_base.as_deref().unwrap_or(API);
        let http = Http::new(&setup.egress, base, &token)?;
        let webhook = match account.mode {
            Mode::Poll => None,
            Mode::Webhook => Some(WebhookAddress::new(account, setup)?),
        };
        Ok(Self {
            http,
            token,
            wait_times: setup.wait_times,
            webhook,
            me: OnceLock::new(),
            is_chosen: AtomicBool::new(false),
            has_heard: AtomicBool::new(false),
        })
    }

    async fn call(
        &self,
        method: &str,
        body: Value,
        within: Duration,
    ) -> Result<Value, NetworkError> {
        let path = format!("/bot{}/{method}", self.token.reveal());
        let sent = self.http.post(&path, &[], body.to_string().into_bytes(), within).await?;
        api::result(&sent).map_err(|error| error.masked(|text| self.http.masked(text)))
    }

    async fn me(&self) -> Result<&Bot, NetworkError> {
        if let Some(me) = self.me.get() {
            return Ok(me);
        }
        let me = self.call("getMe", json!({}), self.wait_times.request).await?;
        let me: Bot = serde_json::from_value(me)
            .map_err(|error| NetworkError::Failed(format!("getMe: {error}")))?;
        Ok(self.me.get_or_init(|| me))
    }

    /// Tells Telegram whether updates are pushed or polled, because it never does both.
    async fn choose_mode(&self) -> Result<(), NetworkError> {
        if self.is_chosen.load(Ordering::Acquire) {
            return Ok(());
        }
        let (method, body) = match &self.webhook {
            Some(webhook) => {
                let body = json!({"url": webhook.address, "secret_token": webhook.secret.reveal(),
                    "allowed_updates": ["message", "callback_query"]});
                ("setWebhook", body)
            }
            None => ("deleteWebhook", json!({"drop_pending_updates": false})),
        };
        self.call(method, body, self.wait_times.request).await?;
        self.is_chosen.store(true, Ordering::Release);
        Ok(())
    }

    /// Asks whether Telegram can reach Onyx. In the mode `webhook` there is nothing else to poll.
    async fn check_webhook(&self) -> Result<Batch, NetworkError> {
        tokio::time::sleep(self.wait_times.poll).await;
        let info = self.call("getWebhookInfo", json!({}), self.wait_times.request).await?;
        let waiting = info["pending_update_count"].as_u64().unwrap_or(0);
        match info["last_error_message"].as_str() {
            Some(why) if waiting > 0 => {
                let why = format!("Telegram cannot deliver {waiting} updates: {why}");
                Err(NetworkError::Failed(why))
            }
            Some(_) | None => Ok(Batch::default()),
        }
    }
}

#[async_trait]
impl Connector for Telegram {
    fn traits(&self) -> NetworkTraits {
        NetworkTraits {
            name: "telegram",
            text_format: TextFormat::TelegramHtml,
            limits: TextLimits { length: 4_000, styles: 90 },
            repeat_sends: Repeat::Unsafe,
            can_edit: true,
            largest_file: LARGEST_SENT,
            listening: Listening::Polls,
            pace: self.wait_times.pace.unwrap_or(PACE),
        }
    }

    async fn identity(&self) -> Result<Identity, NetworkError> {
        let me = self.me().await?;
        let link = me.username.as_ref().map(|name| format!("https://t.me/{name}"));
        let name = me.username.as_ref().map_or_else(|| me.first_name.clone(), |n| format!("@{n}"));
        Ok(Identity { name, link })
    }

    async fn receive(&self, cursor: Option<&str>) -> Result<Batch, NetworkError> {
        let me = self.me().await?;
        self.choose_mode().await?;
        if self.webhook.is_some() {
            return self.check_webhook().await;
        }
        let offset: i64 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        // The first poll does not wait for updates, so that the account is soon known to work.
        let has_heard = self.has_heard.load(Ordering::Acquire);
        let patience = if has_heard { self.wait_times.poll } else { Duration::ZERO };
        let body = json!({
            "offset": offset,
            "timeout": patience.as_secs(),
            "limit": 100,
            "allowed_updates": ["message", "callback_query"],
        });
        let within = self.wait_times.poll + self.wait_times.request;
        let updates = self.call("getUpdates", body, within).await?;
        self.has_heard.store(true, Ordering::Release);
        Ok(incoming::batch(&updates, me))
    }

    async fn accept(&self, pushed: &PushedRequest) -> Result<Batch, NetworkError> {
        let shown = pushed.header("x-telegram-bot-api-secret-token").unwrap_or_default();
        let is_telegram = self.webhook.as_ref().is_some_and(|webhook| {
            shown.as_bytes().ct_eq(webhook.secret.reveal().as_bytes()).into()
        });
        if !is_telegram {
            return Err(NetworkError::Unauthorized("this is not from Telegram".to_owned()));
        }
        let update: Value = serde_json::from_slice(&pushed.body)
            .map_err(|error| NetworkError::Refused(error.to_string()))?;
        let me = self.me().await?;
        // Pushed updates have no cursor, because each is acknowledged separately.
        Ok(Batch { cursor: None, ..incoming::batch(&Value::Array(vec![update]), me) })
    }

    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError> {
        let request = self.wait_times.request;
        match &message.what {
            OutgoingKind::Text { text, buttons } => {
                let mut body = text_body(text);
                body["chat_id"] = json!(message.peer);
                if let Ok(thread) = message.thread.parse::<i64>() {
                    body["message_thread_id"] = json!(thread);
                }
                if !buttons.is_empty() {
                    body["reply_markup"] = json!({ "inline_keyboard": keyboard(buttons) });
                }
                let sent = self.call("sendMessage", body, request).await?;
                Ok(sent["message_id"].to_string())
            }
            OutgoingKind::Edit { message: edited, text } => {
                let mut body = text_body(text);
                body["chat_id"] = json!(message.peer);
                body["message_id"] = json!(edited.parse::<i64>().unwrap_or_default());
                match self.call("editMessageText", body, request).await {
                    Ok(_) => Ok(edited.clone()),
                    Err(error) if api::is_unchanged(&error) => Ok(edited.clone()),
                    Err(error) => Err(error),
                }
            }
            OutgoingKind::PressAnswer { press, text } => {
                let end = text.floor_char_boundary(LONGEST_PRESS_ANSWER);
                let body = json!({"callback_query_id": press, "text": &text[..end]});
                match self.call("answerCallbackQuery", body, request).await {
                    // Telegram refuses an answer when the press has timed out, so there is nothing
                    // left to do.
                    Ok(_) | Err(NetworkError::Refused(_)) => Ok(String::new()),
                    Err(error) => Err(error),
                }
            }
            OutgoingKind::File(_) => {
                Err(NetworkError::Refused("the file has no content".to_owned()))
            }
        }
    }

    async fn send_file(&self, message: &Outgoing, bytes: &[u8]) -> Result<String, NetworkError> {
        let OutgoingKind::File(file) = &message.what else { return self.send(message).await };
        // Telegram accepts other kinds of pictures only as documents.
        let is_photo = matches!(file.media_type.as_str(), "image/png" | "image/jpeg");
        let (method, field) =
            if is_photo { ("sendPhoto", "photo") } else { ("sendDocument", "document") };
        let mut form = Form::new().field("chat_id", &message.peer);
        if message.thread.parse::<i64>().is_ok() {
            form = form.field("message_thread_id", &message.thread);
        }
        let (kind, body) = form.file(field, &file.name, &file.media_type, bytes).finish();
        let path = format!("/bot{}/{method}", self.token.reveal());
        let within = self.wait_times.request * 2;
        let sent = self.http.post_as(&kind, &path, &[], body, within).await?;
        let sent = api::result(&sent).map_err(|error| error.masked(|t| self.http.masked(t)))?;
        Ok(sent["message_id"].to_string())
    }

    async fn typing(&self, peer: &str, thread: &str) -> Result<(), NetworkError> {
        let mut body = json!({"chat_id": peer, "action": "typing"});
        if let Ok(thread) = thread.parse::<i64>() {
            body["message_thread_id"] = json!(thread);
        }
        self.call("sendChatAction", body, self.wait_times.request).await.map(drop)
    }

    async fn download(&self, file: &FileRef) -> Result<Vec<u8>, NetworkError> {
        let found =
            self.call("getFile", json!({"file_id": file.id}), self.wait_times.request).await?;
        let found: FileInfo = serde_json::from_value(found)
            .map_err(|error| NetworkError::Refused(format!("getFile: {error}")))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if !found.file_path.chars().all(is_plain) || found.file_path.contains("..") {
            return Err(NetworkError::Refused("the file has an unusual path".to_owned()));
        }
        let path = format!("/file/bot{}/{}", self.token.reveal(), found.file_path);
        let fetched = self.http.get(&path, self.wait_times.request, LARGEST_FILE).await?;
        if fetched.status != 200 || fetched.is_cut {
            return Err(NetworkError::Refused(format!("it answered {}", fetched.status)));
        }
        Ok(fetched.body)
    }
}

fn text_body(text: &RenderedMessage) -> Value {
    let mut body = json!({"text": text.marked, "link_preview_options": {"is_disabled": true}});
    if text.marked != text.plain {
        body["parse_mode"] = json!("HTML");
    }
    body
}

/// Arranges the buttons in rows. Up to two buttons share a row; with more of them the labels would
/// be cut, so each gets a row of its own.
fn keyboard(buttons: &[Button]) -> Vec<Vec<Value>> {
    let per_row = if buttons.len() <= 2 { 2 } else { 1 };
    let key = |button: &Button| json!({"text": button.label, "callback_data": button.data});
    buttons.chunks(per_row).map(|row| row.iter().map(key).collect()).collect()
}
