//! The parts of Discord's objects that Onyx reads. Everything else is ignored.

use serde::Deserialize;
use serde_json::Value;

/// One message of the gateway.
#[derive(Deserialize)]
pub(super) struct GatewayEvent {
    pub(super) op: u8,
    /// The number of an event within its session.
    #[serde(default)]
    pub(super) s: Option<u64>,
    #[serde(default)]
    pub(super) t: Option<String>,
    #[serde(default)]
    pub(super) d: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: String,
    #[serde(default)]
    pub(super) username: String,
    #[serde(default)]
    pub(super) global_name: Option<String>,
    #[serde(default)]
    pub(super) bot: bool,
}

impl User {
    pub(super) fn name(&self) -> String {
        self.global_name.clone().unwrap_or_else(|| self.username.clone())
    }
}

#[derive(Deserialize)]
pub(super) struct Ready {
    pub(super) session_id: String,
    pub(super) resume_gateway_url: String,
    #[serde(default)]
    pub(super) guilds: Vec<GuildId>,
}

#[derive(Deserialize)]
pub(super) struct GuildId {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct Guild {
    pub(super) id: String,
    #[serde(default)]
    pub(super) channels: Vec<Channel>,
    #[serde(default)]
    pub(super) threads: Vec<Channel>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Channel {
    pub(super) id: String,
    #[serde(rename = "type", default)]
    pub(super) kind: u8,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) parent_id: Option<String>,
    #[serde(default)]
    pub(super) guild_id: Option<String>,
    #[serde(default)]
    pub(super) last_message_id: Option<String>,
}

impl Channel {
    /// Whether the channel is a thread, which Discord represents as a channel with a parent
    /// channel.
    pub(super) fn is_thread(&self) -> bool {
        matches!(self.kind, 10..=12)
    }
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) channel_id: String,
    #[serde(default)]
    pub(super) guild_id: Option<String>,
    pub(super) author: User,
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) mentions: Vec<User>,
    #[serde(default)]
    pub(super) referenced_message: Option<Box<Message>>,
    #[serde(default)]
    pub(super) attachments: Vec<Attachment>,
    #[serde(default)]
    pub(super) webhook_id: Option<String>,
    #[serde(rename = "type", default)]
    pub(super) kind: u8,
}

#[derive(Deserialize)]
pub(super) struct Attachment {
    #[serde(default)]
    pub(super) filename: String,
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) size: u64,
    pub(super) url: String,
}

#[derive(Deserialize)]
pub(super) struct Interaction {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: u8,
    pub(super) token: String,
    #[serde(default)]
    pub(super) application_id: String,
    #[serde(default)]
    pub(super) channel_id: Option<String>,
    #[serde(default)]
    pub(super) guild_id: Option<String>,
    #[serde(default)]
    pub(super) member: Option<Member>,
    #[serde(default)]
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) data: InteractionData,
}

#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionData {
    pub(super) custom_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) options: Vec<CommandOption>,
}

#[derive(Deserialize)]
pub(super) struct CommandOption {
    #[serde(default)]
    pub(super) value: Value,
}
