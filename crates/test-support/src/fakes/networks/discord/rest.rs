use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BOT, DISCORD_TOKEN, DiscordData, DiscordState, GUILD, PRIVATE, PostedMessage, number};
use crate::fakes::networks::http::{HttpReply, HttpRequest};
use crate::fakes::networks::trouble::Fate;

const LONGEST: usize = 2_000;
/// The number of a thread in channel 70. `GONE` is that of a thread which was deleted.
const THREAD: u64 = 71;
const GONE: u64 = 404;

type RestResult = Result<Value, (u16, Value)>;

fn refused(status: u16, code: u64, message: &str) -> (u16, Value) {
    (status, json!({"code": code, "message": message}))
}

impl DiscordState {
    pub(super) async fn respond(&self, request: HttpRequest) -> HttpReply {
        if let Some(name) = request.path.strip_prefix("/files/") {
            return match self.inner().files.get(name) {
                Some(bytes) => HttpReply::Answer {
                    status: 200,
                    content_type: "application/octet-stream",
                    body: bytes.clone(),
                },
                None => HttpReply::json(404, &json!({})),
            };
        }
        if request.header("authorization") != Some(&format!("Bot {DISCORD_TOKEN}")) {
            return HttpReply::json(401, &json!({"code": 0, "message": "401: Unauthorized"}));
        }
        let is_write = matches!(request.method.as_str(), "POST" | "PATCH")
            && request.path.contains("/messages");
        let fate = self.fate(is_write);
        match fate {
            Fate::LostBefore => return HttpReply::Close,
            Fate::TooFast => {
                let seconds = self.inner().trouble.retry_after as f64;
                let body = json!({"message": "You are being rate limited.",
                    "retry_after": seconds, "global": false});
                return HttpReply::json(429, &body);
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
        let (status, answer) = match self.perform(&request) {
            Ok(Value::Null) => (204, Value::Null),
            Ok(answer) => (200, answer),
            Err((status, body)) => (status, body),
        };
        let body = if answer.is_null() { Vec::new() } else { answer.to_string().into_bytes() };
        match fate {
            Fate::LostAfter => return HttpReply::Close,
            Fate::HalfClosed => return HttpReply::HalfClose { body },
            Fate::Late => {
                let lateness = self.inner().trouble.lateness;
                tokio::time::sleep(lateness).await;
            }
            _ => {}
        }
        HttpReply::Answer { status, content_type: "application/json", body }
    }

    fn fate(&self, is_write: bool) -> Fate {
        let mut inner = self.inner();
        let trouble = inner.trouble;
        let Some(dice) = &mut inner.dice else { return Fate::Well };
        trouble.fate(dice, is_write)
    }

    fn perform(&self, request: &HttpRequest) -> RestResult {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let body = payload(request);
        let pieces: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let mut inner = self.inner();
        match (request.method.as_str(), pieces.as_slice()) {
            ("GET", ["users", "@me"]) => {
                Ok(json!({"id": BOT.to_string(), "username": "onyx_test_bot", "bot": true}))
            }
            ("GET", ["gateway", "bot"]) => Ok(json!({"url": self.gateway_url, "shards": 1})),
            ("PUT", ["applications", _, "commands"]) => {
                inner.commands = Some(body.clone());
                Ok(body)
            }
            ("POST", ["users", "@me", "channels"]) => {
                let channel = PRIVATE + number(&body["recipient_id"]);
                Ok(json!({"id": channel.to_string(), "type": 1}))
            }
            ("GET", ["channels", channel]) => what_is(channel),
            ("GET", ["channels", channel, "messages"]) => inner.said_after(channel, query),
            ("POST", ["channels", channel, "messages"]) => inner.post(channel, &body, request),
            ("PATCH", ["channels", channel, "messages", message]) => {
                inner.edit(channel, message, &body)
            }
            ("POST", ["channels", _, "typing"]) => Ok(Value::Null),
            ("POST", ["interactions", id, _, "callback"]) => {
                inner.acknowledged.push((*id).to_owned());
                Ok(Value::Null)
            }
            ("POST", ["webhooks", _, _]) => {
                inner.presses.push(body["content"].as_str().unwrap_or_default().to_owned());
                Ok(json!({"id": "1"}))
            }
            _ => Err(refused(404, 0, "404: Not Found")),
        }
    }
}

/// The JSON of a request; in a request with files, it is the part `payload_json`.
fn payload(request: &HttpRequest) -> Value {
    if let Ok(body) = serde_json::from_slice(&request.body) {
        return body;
    }
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let part = text.split("name=\"payload_json\"").nth(1).unwrap_or_default();
    let json = part.split("\r\n\r\n").nth(1).unwrap_or_default();
    let json = json.split("\r\n--").next().unwrap_or_default();
    serde_json::from_str(json).unwrap_or(Value::Null)
}

fn files(request: &HttpRequest) -> Vec<String> {
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let names = text.split("filename=\"").skip(1);
    names.filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect()
}

fn what_is(channel: &str) -> RestResult {
    let number: u64 = channel.parse().unwrap_or_default();
    match number {
        GONE => Err(refused(404, 10_003, "Unknown Channel")),
        THREAD => Ok(json!({"id": channel, "type": 11, "guild_id": GUILD.to_string(),
            "parent_id": "70", "name": "a thread"})),
        number if number >= PRIVATE => Ok(json!({"id": channel, "type": 1})),
        // Here channels of servers have two digits, and people have one or three.
        number if (50..100).contains(&number) => {
            Ok(json!({"id": channel, "type": 0, "guild_id": GUILD.to_string(), "name": "general"}))
        }
        _ => Err(refused(404, 10_003, "Unknown Channel")),
    }
}

impl DiscordData {
    fn said_after(&self, channel: &str, query: &str) -> RestResult {
        let value = |name: &str| {
            let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
            found.and_then(|text| text.parse::<u64>().ok()).unwrap_or_default()
        };
        let (after, limit) = (value("after"), value("limit"));
        let said = self.history.get(&channel.parse().unwrap_or_default());
        let mut found: Vec<Value> = said
            .into_iter()
            .flatten()
            .filter(|message| number(&message["id"]) > after)
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .cloned()
            .collect();
        found.iter_mut().for_each(|message| {
            message.as_object_mut().unwrap().remove("guild_id");
        });
        found.reverse();
        Ok(Value::Array(found))
    }

    fn post(&mut self, channel: &str, body: &Value, request: &HttpRequest) -> RestResult {
        let channel: u64 = channel.parse().unwrap_or_default();
        self.count(channel);
        if channel == GONE {
            return Err(refused(404, 10_003, "Unknown Channel"));
        }
        let nonce = body["nonce"].as_str().unwrap_or_default().to_owned();
        if nonce.len() > 25 {
            self.violations.push(format!("a nonce of {} characters", nonce.len()));
        }
        if body["enforce_nonce"] == true
            && let Some(known) = self.nonces.get(&(channel, nonce.clone()))
        {
            return Ok(json!({"id": known.to_string()}));
        }
        let files = if request.body.starts_with(b"--") { files(request) } else { Vec::new() };
        self.check(body, !files.is_empty())?;
        let id = self.next_id();
        self.nonces.insert((channel, nonce), id);
        let content = body["content"].as_str().unwrap_or_default().to_owned();
        let rows = body["components"].as_array().cloned().unwrap_or_default();
        let buttons = rows.iter().flat_map(|row| row["components"].as_array().cloned());
        let buttons = buttons.flatten().filter_map(|b| b["custom_id"].as_str().map(str::to_owned));
        let message = PostedMessage { id, content, edits: 0, buttons: buttons.collect(), files };
        self.posted.entry(channel).or_default().push(message);
        Ok(json!({"id": id.to_string()}))
    }

    fn edit(&mut self, channel: &str, message: &str, body: &Value) -> RestResult {
        let channel: u64 = channel.parse().unwrap_or_default();
        self.count(channel);
        if self.refuses_edits {
            return Err(refused(404, 10_008, "Unknown Message"));
        }
        self.check(body, false)?;
        let id: u64 = message.parse().unwrap_or_default();
        let posted = self.posted.entry(channel).or_default();
        let Some(message) = posted.iter_mut().find(|message| message.id == id) else {
            return Err(refused(404, 10_008, "Unknown Message"));
        };
        message.content = body["content"].as_str().unwrap_or_default().to_owned();
        message.edits += 1;
        Ok(json!({"id": id.to_string()}))
    }

    fn check(&mut self, body: &Value, has_files: bool) -> Result<(), (u16, Value)> {
        let content = body["content"].as_str().unwrap_or_default();
        let wrong = if content.trim().is_empty() && !has_files {
            Some("an empty message".to_owned())
        } else if content.chars().count() > LONGEST {
            Some(format!("{} characters", content.chars().count()))
        } else if body["allowed_mentions"]["parse"] != json!([]) {
            Some("everybody could be called".to_owned())
        } else {
            crate::fakes::networks::discord_text(content).err()
        };
        match wrong {
            None => Ok(()),
            Some(wrong) => {
                self.violations.push(format!("{wrong}: {content}"));
                Err(refused(400, 50_035, &wrong))
            }
        }
    }

    fn count(&mut self, channel: u64) {
        let now = Instant::now();
        let last = self.writes.iter().rev().find(|(_, to)| *to == channel);
        let gap = last.map_or(Duration::MAX, |(before, _)| now.duration_since(*before));
        if gap < self.gap {
            self.violations.push(format!("two messages to {channel} within {gap:?}"));
        }
        self.writes.push((now, channel));
    }
}
