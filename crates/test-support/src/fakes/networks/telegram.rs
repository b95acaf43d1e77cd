//! A fake Telegram: long polling, messages, edits, buttons.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::http::{FakeHttp, HttpReply, HttpRequest};
use super::telegram_text;
use super::trouble::{Fate, Trouble, strikes};
use crate::Dice;

const FIRST_UPDATE: i64 = 1_000;
/// How many earlier updates come again.
const AGAIN: i64 = 3;

pub const TELEGRAM_TOKEN: &str = "4242:test_token_of_a_bot";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    pub id: i64,
    /// The text as a reader sees it now.
    pub text: String,
    /// The text as it was sent.
    pub html: String,
    pub edits: usize,
    pub thread: Option<i64>,
    /// The data of its buttons.
    pub buttons: Vec<String>,
}

/// A fake Telegram that serves until it is dropped.
pub struct FakeTelegram {
    http: FakeHttp,
    state: Arc<TelegramState>,
}

struct TelegramState {
    inner: Mutex<TelegramData>,
    came: Notify,
}

#[derive(Default)]
struct TelegramData {
    updates: BTreeMap<i64, Value>,
    next_update: i64,
    next_message: i64,
    /// All updates below this number were acknowledged.
    offset: i64,
    messages: HashMap<i64, Vec<SentMessage>>,
    /// Sends and edits, with their times and recipients.
    writes: Vec<(Instant, i64)>,
    violations: Vec<String>,
    presses: Vec<String>,
    trouble: Trouble,
    dice: Option<Dice>,
    gap: Duration,
    is_deaf: bool,
    polls: u64,
    files: HashMap<String, Vec<u8>>,
    refuses_edits: bool,
    typing: u64,
    pollers: u64,
    webhook: Option<Value>,
}

impl FakeTelegram {
    pub async fn start() -> Self {
        let inner =
            TelegramData { next_update: FIRST_UPDATE, next_message: 1, ..TelegramData::default() };
        let state = Arc::new(TelegramState { inner: Mutex::new(inner), came: Notify::new() });
        let served = Arc::clone(&state);
        let http = FakeHttp::start(Arc::new(move |request| {
            let state = Arc::clone(&served);
            Box::pin(async move { state.respond(request).await })
        }))
        .await;
        Self { http, state }
    }

    pub fn url(&self) -> String {
        self.http.url()
    }

    /// Sets the troubles that happen from now on.
    pub fn set_trouble(&self, trouble: Trouble) {
        let mut inner = self.inner();
        inner.dice = Some(Dice::new(trouble.seed));
        inner.trouble = trouble;
    }

    /// Sets a gap; two messages to one chat within it count as a broken limit.
    pub fn set_gap(&self, gap: Duration) {
        self.inner().gap = gap;
    }

    /// Accepts requests and answers none.
    pub fn set_deaf(&self, is_deaf: bool) {
        self.inner().is_deaf = is_deaf;
        self.state.came.notify_waiters();
    }

    pub fn refuse_edits(&self) {
        self.inner().refuses_edits = true;
    }

    pub fn put_file(&self, id: &str, bytes: Vec<u8>) {
        self.inner().files.insert(id.to_owned(), bytes);
    }

    /// Sends a private message of a person to the bot.
    pub fn say(&self, from: i64, text: &str) -> i64 {
        self.message(json!({
            "from": {"id": from, "first_name": format!("Person {from}")},
            "chat": {"id": from, "type": "private", "first_name": format!("Person {from}")},
            "text": text,
        }))
    }

    /// Sends a message in a group.
    pub fn say_in_group(&self, group: i64, from: i64, text: &str) -> i64 {
        let entities = match text.find("@onyx_test_bot") {
            Some(at) => {
                json!([{"type": "mention", "offset": text[..at].encode_utf16().count(), "length": 14}])
            }
            None => json!([]),
        };
        self.message(json!({
            "from": {"id": from, "first_name": format!("Person {from}")},
            "chat": {"id": group, "type": "supergroup", "title": "A group"},
            "text": text, "entities": entities,
        }))
    }

    /// Sends any message; its id is added.
    pub fn message(&self, mut message: Value) -> i64 {
        let mut inner = self.inner();
        message["message_id"] = json!(inner.next_message);
        inner.next_message += 1;
        drop(inner);
        self.update(json!({ "message": message }))
    }

    /// Presses a button of a message in a chat.
    pub fn press(&self, chat: i64, from: i64, data: &str) -> i64 {
        let id = self.inner().next_update;
        self.update(json!({"callback_query": {
            "id": format!("press-{id}"), "from": {"id": from, "first_name": "Presser"}, "data": data,
            "message": {"message_id": 1, "chat": {"id": chat, "type": if chat < 0 { "supergroup" } else { "private" }}},
        }}))
    }

    pub fn update(&self, mut update: Value) -> i64 {
        let mut inner = self.inner();
        let id = inner.next_update;
        inner.next_update += 1;
        update["update_id"] = json!(id);
        inner.updates.insert(id, update);
        drop(inner);
        self.state.came.notify_waiters();
        id
    }

    pub fn messages(&self, chat: i64) -> Vec<SentMessage> {
        self.inner().messages.get(&chat).cloned().unwrap_or_default()
    }

    pub fn texts(&self, chat: i64) -> Vec<String> {
        self.messages(chat).into_iter().map(|message| message.text).collect()
    }

    pub fn all_messages(&self) -> usize {
        self.inner().messages.values().map(Vec::len).sum()
    }

    /// The answers to presses.
    pub fn presses(&self) -> Vec<String> {
        self.inner().presses.clone()
    }

    /// The limits that were broken, and the texts that Telegram would not have accepted.
    pub fn violations(&self) -> Vec<String> {
        self.inner().violations.clone()
    }

    /// The settings of the webhook, if one was requested.
    pub fn webhook(&self) -> Option<Value> {
        self.inner().webhook.clone()
    }

    pub fn polls(&self) -> u64 {
        self.inner().polls
    }

    pub fn writes(&self) -> usize {
        self.inner().writes.len()
    }

    /// Whether every update was acknowledged.
    pub fn is_read(&self) -> bool {
        let inner = self.inner();
        inner.offset >= inner.next_update
    }

    /// How many updates are not acknowledged.
    pub fn unread(&self) -> u64 {
        let inner = self.inner();
        u64::try_from(inner.next_update - inner.offset.max(FIRST_UPDATE)).unwrap_or(0)
    }

    fn inner(&self) -> MutexGuard<'_, TelegramData> {
        self.state.inner()
    }
}

impl TelegramState {
    fn inner(&self) -> MutexGuard<'_, TelegramData> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn respond(&self, request: HttpRequest) -> HttpReply {
        if self.inner().is_deaf {
            return HttpReply::Hang(Duration::from_secs(600));
        }
        if let Some(path) = request.path.strip_prefix(&format!("/file/bot{TELEGRAM_TOKEN}/")) {
            return match self.inner().files.get(path) {
                Some(bytes) => HttpReply::Answer {
                    status: 200,
                    content_type: "application/octet-stream",
                    body: bytes.clone(),
                },
                None => HttpReply::json(404, &json!({})),
            };
        }
        let Some(method) = request.path.strip_prefix(&format!("/bot{TELEGRAM_TOKEN}/")) else {
            let body = json!({"ok": false, "error_code": 401, "description": "Unauthorized"});
            return HttpReply::json(401, &body);
        };
        let body = read_body(&request);
        let fate = self.fate(method);
        match fate {
            Fate::LostBefore => return HttpReply::Close,
            Fate::TooFast => {
                let seconds = self.inner().trouble.retry_after;
                return HttpReply::json(
                    429,
                    &json!({"ok": false, "error_code": 429,
                    "description": "Too Many Requests", "parameters": {"retry_after": seconds}}),
                );
            }
            Fate::Failed => {
                return HttpReply::Answer {
                    status: 502,
                    content_type: "text/html",
                    body: b"<h1>Bad Gateway".to_vec(),
                };
            }
            Fate::Well | Fate::LostAfter | Fate::Late | Fate::HalfClosed => {}
        }
        let answer = if method == "getUpdates" {
            self.updates(&body).await
        } else {
            self.inner().perform(method, &body)
        };
        let (status, answer) = match answer {
            Ok(result) => (200, json!({"ok": true, "result": result})),
            Err((code, description)) => {
                (code, json!({"ok": false, "error_code": code, "description": description}))
            }
        };
        match fate {
            Fate::LostAfter => HttpReply::Close,
            Fate::HalfClosed => HttpReply::HalfClose { body: answer.to_string().into_bytes() },
            Fate::Late => {
                let lateness = self.inner().trouble.lateness;
                tokio::time::sleep(lateness).await;
                HttpReply::json(status, &answer)
            }
            _ => HttpReply::json(status, &answer),
        }
    }

    fn fate(&self, method: &str) -> Fate {
        let mut inner = self.inner();
        let trouble = inner.trouble;
        let Some(dice) = &mut inner.dice else { return Fate::Well };
        trouble.fate(
            dice,
            matches!(method, "sendMessage" | "editMessageText" | "sendPhoto" | "sendDocument"),
        )
    }

    async fn updates(&self, body: &Value) -> Result<Value, (u16, String)> {
        let offset = body["offset"].as_i64().unwrap_or(0);
        let wait = Duration::from_secs(body["timeout"].as_u64().unwrap_or(0))
            .max(Duration::from_millis(100));
        let until = Instant::now() + wait;
        {
            let mut inner = self.inner();
            inner.polls += 1;
            inner.pollers += 1;
        }
        let found = loop {
            let came = self.came.notified();
            if self.inner().is_deaf {
                self.inner().pollers -= 1;
                tokio::time::sleep(Duration::from_secs(600)).await;
                return Err((500, "deaf".to_owned()));
            }
            let found = self.inner().read(offset);
            let left = until.saturating_duration_since(Instant::now());
            if !found.is_empty() || left.is_zero() {
                break found;
            }
            let _ = tokio::time::timeout(left, came).await;
        };
        self.inner().pollers -= 1;
        Ok(Value::Array(found))
    }
}

impl TelegramData {
    fn read(&mut self, offset: i64) -> Vec<Value> {
        self.offset = self.offset.max(offset);
        // Acknowledged updates are deleted, except the few that may come again.
        self.updates = self.updates.split_off(&(self.offset - AGAIN));
        let trouble = self.trouble;
        let again = self.dice.as_mut().is_some_and(|dice| strikes(dice, trouble.redelivers));
        let from = if again { offset - AGAIN } else { offset };
        let mut found: Vec<Value> =
            self.updates.range(from..).map(|(_, u)| u.clone()).take(100).collect();
        let has_new = found.iter().any(|update| update["update_id"].as_i64() >= Some(offset));
        if !has_new {
            return Vec::new();
        }
        if self.dice.as_mut().is_some_and(|dice| strikes(dice, trouble.reorders)) {
            found.reverse();
        }
        found
    }

    fn perform(&mut self, method: &str, body: &Value) -> Result<Value, (u16, String)> {
        match method {
            "getMe" => Ok(
                json!({"id": 4242, "is_bot": true, "first_name": "Onyx", "username": "onyx_test_bot"}),
            ),
            "sendMessage" => self.send(body),
            "sendPhoto" | "sendDocument" => self.send_file(method, body),
            "editMessageText" => self.edit(body),
            "answerCallbackQuery" => {
                self.presses.push(body["text"].as_str().unwrap_or_default().to_owned());
                Ok(json!(true))
            }
            "sendChatAction" => {
                self.typing += 1;
                Ok(json!(true))
            }
            "getFile" => Ok(json!({"file_id": body["file_id"], "file_path": body["file_id"]})),
            "setWebhook" | "deleteWebhook" => {
                self.webhook = (method == "setWebhook").then(|| body.clone());
                Ok(json!(true))
            }
            "getWebhookInfo" => Ok(json!({"pending_update_count": 0})),
            _ => Err((404, "Not Found".to_owned())),
        }
    }

    fn send(&mut self, body: &Value) -> Result<Value, (u16, String)> {
        let chat = chat_id(body)?;
        self.count(chat);
        let (html, text) = self.text(body)?;
        let id = self.next_message;
        self.next_message += 1;
        let rows = body["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
        let buttons = rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default());
        let buttons =
            buttons.filter_map(|b| b["callback_data"].as_str().map(str::to_owned)).collect();
        let thread = body["message_thread_id"].as_i64();
        if thread == Some(404) {
            return Err((400, "Bad Request: message thread not found".to_owned()));
        }
        let message = SentMessage { id, text, html, edits: 0, thread, buttons };
        self.messages.entry(chat).or_default().push(message);
        Ok(json!({"message_id": id, "chat": {"id": chat}}))
    }

    fn send_file(&mut self, method: &str, body: &Value) -> Result<Value, (u16, String)> {
        let chat = chat_id(body)?;
        self.count(chat);
        let id = self.next_message;
        self.next_message += 1;
        let text = format!("[{method} {}]", body["filename"].as_str().unwrap_or_default());
        let (html, buttons) = (text.clone(), Vec::new());
        let message = SentMessage { id, text, html, edits: 0, thread: None, buttons };
        self.messages.entry(chat).or_default().push(message);
        Ok(json!({"message_id": id, "chat": {"id": chat}}))
    }

    fn edit(&mut self, body: &Value) -> Result<Value, (u16, String)> {
        let chat = chat_id(body)?;
        self.count(chat);
        if self.refuses_edits {
            return Err((400, "Bad Request: message can't be edited".to_owned()));
        }
        let (html, text) = self.text(body)?;
        let id = body["message_id"].as_i64().unwrap_or_default();
        let messages = self.messages.entry(chat).or_default();
        let Some(message) = messages.iter_mut().find(|message| message.id == id) else {
            return Err((400, "Bad Request: message to edit not found".to_owned()));
        };
        if message.html == html {
            return Err((400, "Bad Request: message is not modified".to_owned()));
        }
        (message.html, message.text) = (html, text);
        message.edits += 1;
        Ok(json!({"message_id": id, "chat": {"id": chat}}))
    }

    fn text(&mut self, body: &Value) -> Result<(String, String), (u16, String)> {
        let html = body["text"].as_str().unwrap_or_default().to_owned();
        let text = if body["parse_mode"] == "HTML" {
            match telegram_text(&html) {
                Ok(text) => text,
                Err(why) => {
                    self.violations.push(format!("can't parse: {why}: {html}"));
                    return Err((400, format!("Bad Request: can't parse entities: {why}")));
                }
            }
        } else {
            html.clone()
        };
        if text.trim().is_empty() {
            self.violations.push("an empty message".to_owned());
            return Err((400, "Bad Request: message text is empty".to_owned()));
        }
        if text.encode_utf16().count() > 4096 {
            self.violations.push(format!("{} units", text.encode_utf16().count()));
            return Err((400, "Bad Request: message is too long".to_owned()));
        }
        Ok((html, text))
    }

    fn count(&mut self, chat: i64) {
        let now = Instant::now();
        let last = self.writes.iter().rev().find(|(_, to)| *to == chat);
        if let Some((before, _)) = last {
            let gap = now.duration_since(*before);
            if gap < self.gap {
                self.violations.push(format!("two messages to {chat} within {gap:?}"));
            }
        }
        self.writes.push((now, chat));
    }
}

/// The body as JSON, or the fields of a form and the name of its file.
fn read_body(request: &HttpRequest) -> Value {
    if let Ok(body) = serde_json::from_slice(&request.body) {
        return body;
    }
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let mut body = json!({});
    for part in text.split("form-data; name=\"").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        let value = part.split("\r\n\r\n").nth(1).and_then(|rest| rest.split("\r\n").next());
        match part.split("filename=\"").nth(1) {
            Some(file) => body["filename"] = json!(file.split('"').next()),
            None => body[name] = json!(value),
        }
    }
    body
}

fn chat_id(body: &Value) -> Result<i64, (u16, String)> {
    let id = &body["chat_id"];
    let id = id.as_i64().or_else(|| id.as_str().and_then(|id| id.parse().ok()));
    id.ok_or_else(|| (400, "Bad Request: chat_id is empty".to_owned()))
}
