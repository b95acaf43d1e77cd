//! A fake Discord: a gateway that cuts, silences, moves and forgets sessions, and the part of the
//! HTTP API that bots use. It counts broken limits and accepts every nonce only once.

mod gateway;
mod rest;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::http::FakeHttp;
use super::trouble::Trouble;
use crate::Dice;

pub const DISCORD_TOKEN: &str = "NDI0Mg.test.token_of_a_discord_bot";
const BOT: u64 = 4_242;
const GUILD: u64 = 900;
/// The number of a private chat is that of its person plus this.
const PRIVATE: u64 = 500_000;

/// A message that the bot posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedMessage {
    pub id: u64,
    /// The text as it was sent.
    pub content: String,
    pub edits: usize,
    /// The data of its buttons.
    pub buttons: Vec<String>,
    /// The names of files that came with it.
    pub files: Vec<String>,
}

/// A fake Discord that serves until it is dropped.
pub struct FakeDiscord {
    http: FakeHttp,
    gateway: JoinHandle<()>,
    state: Arc<DiscordState>,
}

struct DiscordState {
    inner: Mutex<DiscordData>,
    came: Notify,
    gateway_url: String,
}

/// The bot's session with the gateway, and how many sessions there were.
#[derive(Default)]
struct GatewaySession {
    /// The number of sessions; the one with this number is the current one.
    session: u64,
    is_alive: bool,
    /// The events of the session; the first has the number 1.
    events: Vec<Value>,
    /// How many of the events were ever sent: those keep their numbers.
    numbered: usize,
    /// The number of the newest connection, which is the only one that gets events.
    connection: u64,
    identifies: u64,
    resumes: u64,
}

#[derive(Default)]
struct DiscordData {
    gateway: GatewaySession,
    last_id: u64,
    /// All messages in each channel.
    history: HashMap<u64, Vec<Value>>,
    posted: HashMap<u64, Vec<PostedMessage>>,
    nonces: HashMap<(u64, String), u64>,
    writes: Vec<(Instant, u64)>,
    violations: Vec<String>,
    presses: Vec<String>,
    acknowledged: Vec<String>,
    commands: Option<Value>,
    files: HashMap<String, Vec<u8>>,
    trouble: Trouble,
    dice: Option<Dice>,
    gap: Duration,
    is_deaf: bool,
    refuses_edits: bool,
}

impl FakeDiscord {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway_url = format!("ws://{}", listener.local_addr().unwrap());
        let state =
            Arc::new(DiscordState { inner: Mutex::default(), came: Notify::new(), gateway_url });
        let gateway = tokio::spawn(gateway::serve(listener, Arc::clone(&state)));
        let served = Arc::clone(&state);
        let http = FakeHttp::start(Arc::new(move |request| {
            let state = Arc::clone(&served);
            Box::pin(async move { state.respond(request).await })
        }))
        .await;
        Self { http, gateway, state }
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

    /// Sets a gap; two messages to one channel within it count as a broken limit.
    pub fn set_gap(&self, gap: Duration) {
        self.inner().gap = gap;
    }

    /// Keeps connections open but sends nothing over them, not even hello.
    pub fn set_deaf(&self, is_deaf: bool) {
        self.inner().is_deaf = is_deaf;
        self.state.came.notify_waiters();
    }

    pub fn refuse_edits(&self) {
        self.inner().refuses_edits = true;
    }

    pub fn put_file(&self, name: &str, bytes: Vec<u8>) -> String {
        self.inner().files.insert(name.to_owned(), bytes);
        format!("{}/files/{name}", self.http.url())
    }

    /// Loses the session: it cannot be resumed, and messages reach nobody until a new one begins.
    pub fn lose_session(&self) {
        self.inner().gateway.lose();
        self.state.came.notify_waiters();
    }

    /// Sends a private message of a person to the bot.
    pub fn say(&self, from: u64, text: &str) -> u64 {
        self.message(json!({"channel_id": (PRIVATE + from).to_string(), "content": text,
            "author": user(from)}))
    }

    /// Sends a message in a channel of the server; `@bot` mentions the bot.
    pub fn say_in_channel(&self, channel: u64, from: u64, text: &str) -> u64 {
        let mentions =
            if text.contains("@bot") { json!([{"id": BOT.to_string()}]) } else { json!([]) };
        self.message(json!({"channel_id": channel.to_string(), "guild_id": GUILD.to_string(),
            "content": text.replace("@bot", &format!("<@{BOT}>")), "mentions": mentions,
            "author": user(from)}))
    }

    /// Sends any message; its id is added.
    pub fn message(&self, mut message: Value) -> u64 {
        let mut inner = self.inner();
        let id = inner.next_id();
        message["id"] = json!(id.to_string());
        let channel = number(&message["channel_id"]);
        inner.history.entry(channel).or_default().push(message.clone());
        inner.gateway.dispatch("MESSAGE_CREATE", &message);
        drop(inner);
        self.state.came.notify_waiters();
        id
    }

    /// Presses a button of a message in the private chat of a person.
    pub fn press(&self, from: u64, data: &str) {
        self.interaction(json!({"type": 3, "user": user(from), "data": {"custom_id": data},
            "channel_id": (PRIVATE + from).to_string()}));
    }

    /// Presses a button in a channel of the server.
    pub fn press_in_channel(&self, channel: u64, from: u64, data: &str) {
        self.interaction(json!({"type": 3, "member": {"user": user(from)},
            "guild_id": GUILD.to_string(), "channel_id": channel.to_string(),
            "data": {"custom_id": data}}));
    }

    /// Sends any interaction; its id and token are added.
    pub fn interaction(&self, mut interaction: Value) {
        let mut inner = self.inner();
        let id = inner.next_id();
        interaction["id"] = json!(id.to_string());
        interaction["token"] = json!(format!("interaction-token-{id}"));
        interaction["application_id"] = json!(BOT.to_string());
        inner.gateway.dispatch("INTERACTION_CREATE", &interaction);
        drop(inner);
        self.state.came.notify_waiters();
    }

    /// The messages that the bot wrote to a person, or in a channel of the server.
    pub fn messages(&self, chat: u64) -> Vec<PostedMessage> {
        let inner = self.inner();
        let private = inner.posted.get(&(PRIVATE + chat));
        private.or_else(|| inner.posted.get(&chat)).cloned().unwrap_or_default()
    }

    /// The texts of these messages as a reader sees them.
    pub fn texts(&self, chat: u64) -> Vec<String> {
        let seen = |message: PostedMessage| {
            super::discord_text(&message.content).unwrap_or_else(|why| format!("invalid: {why}"))
        };
        self.messages(chat).into_iter().map(seen).collect()
    }

    pub fn presses(&self) -> Vec<String> {
        self.inner().presses.clone()
    }

    /// The interactions that were acknowledged in time.
    pub fn acknowledged(&self) -> Vec<String> {
        self.inner().acknowledged.clone()
    }

    /// The slash commands that were registered.
    pub fn commands(&self) -> Option<Value> {
        self.inner().commands.clone()
    }

    pub fn violations(&self) -> Vec<String> {
        self.inner().violations.clone()
    }

    /// How many sessions began, and how many were resumed.
    pub fn sessions(&self) -> (u64, u64) {
        let inner = self.inner();
        (inner.gateway.identifies, inner.gateway.resumes)
    }

    fn inner(&self) -> MutexGuard<'_, DiscordData> {
        self.state.inner()
    }
}

impl Drop for FakeDiscord {
    fn drop(&mut self) {
        self.gateway.abort();
    }
}

impl DiscordState {
    fn inner(&self) -> MutexGuard<'_, DiscordData> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DiscordData {
    /// Makes an id as Discord does: the time with a counter in its low bits.
    fn next_id(&mut self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        self.last_id = (self.last_id + 1).max((now - 1_420_070_400_000) << 22);
        self.last_id
    }

    fn begin_session(&mut self) {
        let session = self.gateway.begin();
        self.gateway.dispatch(
            "READY",
            &json!({"session_id": session, "user": {"id": BOT.to_string()},
            "resume_gateway_url": Value::Null, "guilds": [{"id": GUILD.to_string()}]}),
        );
        let channels: Vec<Value> = self
            .history
            .iter()
            .filter(|(channel, _)| **channel < PRIVATE)
            .map(|(channel, said)| {
                let last = said.last().map(|message| message["id"].clone());
                json!({"id": channel.to_string(), "type": 0, "name": "general",
                    "last_message_id": last})
            })
            .collect();
        self.gateway
            .dispatch("GUILD_CREATE", &json!({"id": GUILD.to_string(), "channels": channels}));
    }
}

impl GatewaySession {
    /// Begins another session and returns its id.
    fn begin(&mut self) -> String {
        self.lose();
        self.session += 1;
        self.identifies += 1;
        self.is_alive = true;
        format!("session-{}", self.session)
    }

    fn lose(&mut self) {
        self.is_alive = false;
        self.events.clear();
        self.numbered = 0;
    }

    fn dispatch(&mut self, name: &str, data: &Value) {
        if self.is_alive {
            self.events.push(json!({"op": 0, "t": name, "d": data}));
        }
    }
}

fn user(id: u64) -> Value {
    json!({"id": id.to_string(), "username": format!("person{id}"),
        "global_name": format!("Person {id}")})
}

/// Discord writes numbers as texts.
fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}
