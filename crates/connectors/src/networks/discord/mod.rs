//! Talks to Discord. Messages come over its gateway (`gateway.rs`), whose position is stored with
//! them (`position.rs`); everything else goes over HTTP (`api.rs`). Unknown fields and events are
//! ignored, so that changes of Discord do no harm.

mod api;
mod commands;
mod gateway;
mod incoming;
mod missed;
mod position;
mod send;
mod wire;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use onyx_egress::{Address, Method};
use onyx_storage::Repeat;
use onyx_types::Clock;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::http::Http;
use crate::connector::{
    Batch, Connector, FileRef, Identity, Listening, NetworkError, NetworkTraits, Outgoing,
    PaceLimits, Update,
};
use crate::settings::Account;
use crate::setup::{ConnectorSetup, WaitTimes};
use crate::text::{TextFormat, TextLimits};
use api::RestClient;
use gateway::{Gateway, IdentifyQueue};
use incoming::DiscordChannel;
use wire::{Channel, GatewayEvent, Guild, Interaction, Message, Ready, User};

const API: &str = "https://discord.com/api/v10";
/// The permissions that the bot's invitation asks for: read messages, send them, also in threads,
/// attach files, and read earlier messages.
const PERMISSIONS: u64 = 274_878_008_320;
const HEARTBEAT_ACK: u8 = 11;
const DISPATCH: u8 = 0;
/// How many updates are stored together at most.
const MOST_AT_ONCE: usize = 100;
/// How many channels' names are remembered.
const MOST_PLACES: usize = 2_000;
/// The hosts from which files of messages are downloaded.
const FILE_HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];
/// The largest file that a server without paid extras accepts.
const LARGEST_SENT: u64 = 10 * 1024 * 1024;
const LARGEST_FILE: usize = 20 * 1024 * 1024;

/// The pace is a little below Discord's limits, which are five messages in five seconds in a
/// channel and fifty requests a second in all.
const PACE: PaceLimits = PaceLimits {
    chat_gap: Duration::from_millis(1_050),
    group_gap: Duration::from_millis(1_050),
    account_gap: Duration::from_millis(30),
};

pub(super) struct Discord {
    rest: RestClient,
    wait_times: WaitTimes,
    clock: Arc<dyn Clock>,
    me: OnceLock<User>,
    /// The open connection; `None` while it is being read, and after a failure.
    gateway: Mutex<Option<Gateway>>,
    queue: IdentifyQueue,
    /// Whether the resume address of the last session could not be reached.
    is_resume_url_bad: AtomicBool,
    has_commands: AtomicBool,
    places: Mutex<HashMap<String, Option<DiscordChannel>>>,
    /// The id of the channel in which each peer is written to.
    channels: Mutex<HashMap<String, String>>,
}

impl Discord {
    pub(super) fn new(account: &Account, setup: &ConnectorSetup) -> Result<Self, String> {
        let token = account.token.clone();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if token.reveal().len() < 20 || !token.reveal().chars().all(is_plain) {
            return Err(
                "this is not a Discord bot token, which has three parts separated by dots".into()
            );
        }
        let base = account.api_base.as_deref().unwrap_or(API);
        let http = Http::new(&setup.egress, base, &token)?;
        Ok(Self {
            rest: RestClient { http, token, within: setup.wait_times.request },
            wait_times: setup.wait_times,
            clock: Arc::clone(&setup.clock),
            me: OnceLock::new(),
            gateway: Mutex::default(),
            queue: IdentifyQueue::new(setup.wait_times.backoff * 5),
            is_resume_url_bad: AtomicBool::new(false),
            has_commands: AtomicBool::new(false),
            places: Mutex::default(),
            channels: Mutex::default(),
        })
    }

    async fn me(&self) -> Result<&User, NetworkError> {
        if let Some(me) = self.me.get() {
            return Ok(me);
        }
        let me: User = parse(self.rest.get("/users/@me").await?)?;
        Ok(self.me.get_or_init(|| me))
    }

    /// Returns the open connection if everything that came over it is stored; otherwise it opens a
    /// new one.
    async fn gateway(&self, cursor: Option<&str>) -> Result<Gateway, NetworkError> {
        let open = lock(&self.gateway).take();
        if let Some(open) = open.filter(|open| open.stored.as_deref() == cursor) {
            return Ok(open);
        }
        let found = self.rest.get("/gateway/bot").await?;
        let address = found["url"].as_str().unwrap_or_default().trim_end_matches('/').to_owned();
        // Twilight treats a malformed address as a bug of this program, so the address is checked
        // here.
        let as_http = address.replacen("ws", "http", 1).parse::<Address>();
        if !address.starts_with("ws") || as_http.is_err() {
            return Err(NetworkError::Failed(
                "Discord did not name the address of its gateway".to_owned(),
            ));
        }
        let use_resume_url = !self.is_resume_url_bad.swap(false, Ordering::AcqRel);
        let queue = self.queue.clone();
        Ok(Gateway::open(address, &self.rest.token, cursor, use_resume_url, queue))
    }

    /// Registers the commands that Discord suggests. If this fails, commands still work as plain
    /// text.
    async fn show_commands(&self, me: &User) {
        if self.has_commands.swap(true, Ordering::AcqRel) {
            return;
        }
        let path = format!("/applications/{}/commands", me.id);
        if let Err(error) = self.rest.call(Method::PUT, &path, Some(&commands::all())).await {
            self.has_commands.store(false, Ordering::Release);
            tracing::warn!(%error, "the slash commands could not be registered with Discord");
        }
    }

    async fn read(&self, gateway: &mut Gateway, me: &User) -> Result<Batch, NetworkError> {
        let mut updates = Vec::new();
        if gateway.position.missed.as_ref().is_some_and(|missed| missed.is_private_open) {
            let found = missed::private(self, gateway, me).await?;
            gateway.position.private_is_asked();
            updates.extend(found);
        }
        let mut is_heard = !updates.is_empty();
        while updates.len() < MOST_AT_ONCE {
            let event = if is_heard {
                match gateway.next_ready()? {
                    Some(event) => event,
                    None => break,
                }
            } else {
                gateway.next().await?
            };
            is_heard |= matches!(event.op, DISPATCH | HEARTBEAT_ACK);
            let is_ready = event.t.as_deref() == Some("READY");
            updates.extend(self.take(gateway, me, event).await?);
            if is_ready {
                // The position of the new session is stored before messages are fetched because of
                // it.
                break;
            }
        }
        let written = gateway.position.written();
        let cursor = written.filter(|written| gateway.stored.as_ref() != Some(written));
        if cursor.is_some() {
            gateway.stored.clone_from(&cursor);
        }
        Ok(Batch { updates, cursor })
    }

    async fn take(
        &self,
        gateway: &mut Gateway,
        me: &User,
        event: GatewayEvent,
    ) -> Result<Vec<Update>, NetworkError> {
        let GatewayEvent { op, s, t, d } = event;
        let (DISPATCH, Some(name)) = (op, t.as_deref()) else { return Ok(Vec::new()) };
        let updates = match name {
            "READY" => {
                let ready: Ready = parse(d)?;
                let guilds = ready.guilds.into_iter().map(|guild| guild.id).collect();
                let now = self.clock.wall().as_millis();
                gateway.position.begin(ready.session_id, ready.resume_gateway_url, guilds, now);
                Vec::new()
            }
            "GUILD_CREATE" => match understood::<Guild>(d) {
                Some(guild) => self.guild(gateway, me, guild).await?,
                None => Vec::new(),
            },
            "MESSAGE_CREATE" => match understood::<Message>(d) {
                Some(message) => self.message(gateway, me, &message).await?.into_iter().collect(),
                None => Vec::new(),
            },
            "INTERACTION_CREATE" => match understood::<Interaction>(d) {
                Some(interaction) => self.interaction(interaction).await?.into_iter().collect(),
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        gateway.position.sequence = gateway.position.sequence.max(s.unwrap_or(0));
        Ok(updates)
    }

    /// Handles the list of a server's channels, which is the moment to fetch the missed messages.
    async fn guild(
        &self,
        gateway: &mut Gateway,
        me: &User,
        guild: Guild,
    ) -> Result<Vec<Update>, NetworkError> {
        let Some(since) = gateway.position.owes(&guild.id) else { return Ok(Vec::new()) };
        let id = guild.id.clone();
        let found = missed::guild(self, gateway, me, guild, since).await?;
        gateway.position.guild_is_asked(&id);
        Ok(found)
    }

    async fn message(
        &self,
        gateway: &mut Gateway,
        me: &User,
        message: &Message,
    ) -> Result<Option<Update>, NetworkError> {
        gateway.position.note_message(&message.id);
        let is_private = message.guild_id.is_none();
        if !incoming::is_for_us(message, me, is_private) {
            return Ok(None);
        }
        if is_private {
            gateway.position.note_private(&message.channel_id);
            self.remember(&message.author.id, &message.channel_id);
            return Ok(Some(incoming::message_update(message, me, None)));
        }
        let place = self.place(&message.channel_id).await?;
        Ok(Some(incoming::message_update(message, me, place)))
    }

    async fn interaction(&self, interaction: Interaction) -> Result<Option<Update>, NetworkError> {
        let place = match (&interaction.guild_id, &interaction.channel_id) {
            (Some(_), Some(channel)) => self.place(channel).await?,
            _ => None,
        };
        let Some(update) = incoming::interacted(&interaction, place) else { return Ok(None) };
        self.acknowledge(&interaction).await;
        Ok(Some(update))
    }

    /// Acknowledges an interaction within Discord's three seconds; the real answer comes as a
    /// message.
    async fn acknowledge(&self, interaction: &Interaction) {
        let body = match &interaction.data.name {
            Some(name) => json!({"type": 4, "data": {"content": format!("/{name}"), "flags": 64}}),
            None => json!({"type": 6}),
        };
        let path = format!("/interactions/{}/{}/callback", interaction.id, interaction.token);
        // A failure does no harm, because the interaction may have been acknowledged before a
        // crash.
        if let Err(error) = self.rest.post(&path, &body).await {
            tracing::debug!(%error, "an interaction was not acknowledged");
        }
    }

    /// The server channel with this id; `None` if it is a private chat.
    async fn place(&self, channel: &str) -> Result<Option<DiscordChannel>, NetworkError> {
        if let Some(known) = lock(&self.places).get(channel) {
            return Ok(known.clone());
        }
        let found: Channel = parse(self.rest.get(&format!("/channels/{channel}")).await?)?;
        let place = found.guild_id.clone().map(|guild| place(&found, guild));
        let mut places = lock(&self.places);
        if places.len() >= MOST_PLACES {
            places.clear();
        }
        places.insert(channel.to_owned(), place.clone());
        Ok(place)
    }

    fn remember(&self, peer: &str, channel: &str) {
        let mut channels = lock(&self.channels);
        if channels.len() >= MOST_PLACES {
            channels.clear();
        }
        channels.insert(peer.to_owned(), channel.to_owned());
    }
}

fn place(channel: &Channel, guild: String) -> DiscordChannel {
    let name =
        channel.name.as_deref().map_or_else(|| channel.id.clone(), |name| format!("#{name}"));
    let (seen, thread) = match &channel.parent_id {
        Some(parent) if channel.is_thread() => (parent.clone(), channel.id.clone()),
        Some(_) | None => (channel.id.clone(), String::new()),
    };
    DiscordChannel { guild: Some(guild), name, channel: seen, thread }
}

#[async_trait]
impl Connector for Discord {
    fn traits(&self) -> NetworkTraits {
        NetworkTraits {
            name: "discord",
            text_format: TextFormat::DiscordMarkdown,
            limits: TextLimits { length: 1_950, styles: usize::MAX },
            // Every send carries a nonce that Discord accepts only once.
            repeat_sends: Repeat::Safe,
            can_edit: true,
            largest_file: LARGEST_SENT,
            listening: Listening::Polls,
            pace: self.wait_times.pace.unwrap_or(PACE),
        }
    }

    async fn identity(&self) -> Result<Identity, NetworkError> {
        let me = self.me().await?;
        let link = format!(
            "https://discord.com/oauth2/authorize?client_id={}&scope=bot+applications.commands\
             &permissions={PERMISSIONS}",
            me.id
        );
        Ok(Identity { name: me.username.clone(), link: Some(link) })
    }

    async fn receive(&self, cursor: Option<&str>) -> Result<Batch, NetworkError> {
        let me = self.me().await?;
        self.show_commands(me).await;
        // The connection is dropped with this future, so that a new one is opened after a cancelled
        // read.
        let mut gateway = self.gateway(cursor).await?;
        let read = self.read(&mut gateway, me).await;
        if matches!(read, Err(NetworkError::Unreachable(_))) {
            self.is_resume_url_bad.store(true, Ordering::Release);
        }
        let batch = read?;
        *lock(&self.gateway) = Some(gateway);
        Ok(batch)
    }

    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError> {
        send::send(self, message).await
    }

    async fn send_file(&self, message: &Outgoing, bytes: &[u8]) -> Result<String, NetworkError> {
        send::send_file(self, message, bytes).await
    }

    async fn typing(&self, peer: &str, thread: &str) -> Result<(), NetworkError> {
        let channel = send::channel(self, peer, thread).await?;
        self.rest.post(&format!("/channels/{channel}/typing"), &json!({})).await.map(drop)
    }

    async fn download(&self, file: &FileRef) -> Result<Vec<u8>, NetworkError> {
        let refused = |why: &str| NetworkError::Refused(why.to_owned());
        let address: Address = file.id.parse().map_err(|_| refused("its address is not valid"))?;
        let is_theirs = FILE_HOSTS.contains(&address.host()) || self.rest.http.is_at(&address);
        if !is_theirs {
            return Err(refused("its address does not belong to Discord"));
        }
        let fetched = self.rest.http.fetch(&address, self.wait_times.request, LARGEST_FILE).await?;
        if fetched.status != 200 || fetched.is_cut {
            return Err(refused(&format!("it answered {}", fetched.status)));
        }
        Ok(fetched.body)
    }
}

/// Parses an answer of Discord. If it cannot be parsed, nothing in it can be relied on, so that is
/// an error.
fn parse<T: DeserializeOwned>(value: Value) -> Result<T, NetworkError> {
    serde_json::from_value(value).map_err(|error| NetworkError::Failed(format!("Discord: {error}")))
}

/// Parses an event. One that cannot be parsed is left out, and the next ones are still read.
fn understood<T: DeserializeOwned>(value: Value) -> Option<T> {
    match T::deserialize(value) {
        Ok(read) => Some(read),
        Err(error) => {
            tracing::warn!(%error, "an event of Discord could not be parsed");
            None
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
