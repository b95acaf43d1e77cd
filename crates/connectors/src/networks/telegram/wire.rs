//! The parts of the Bot API's objects that Onyx reads. Everything else is ignored.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Bot {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) first_name: String,
    #[serde(default)]
    pub(super) username: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct TelegramUpdate {
    #[serde(default)]
    pub(super) message: Option<Message>,
    #[serde(default)]
    pub(super) callback_query: Option<CallbackQuery>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    #[serde(default)]
    pub(super) from: Option<User>,
    pub(super) chat: Chat,
    #[serde(default)]
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) caption: Option<String>,
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
    #[serde(default)]
    pub(super) caption_entities: Vec<Entity>,
    #[serde(default)]
    pub(super) reply_to_message: Option<Box<Message>>,
    #[serde(default)]
    pub(super) photo: Vec<TelegramFile>,
    #[serde(default)]
    pub(super) voice: Option<TelegramFile>,
    #[serde(default)]
    pub(super) audio: Option<TelegramFile>,
    #[serde(default)]
    pub(super) document: Option<TelegramFile>,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) first_name: String,
    #[serde(default)]
    pub(super) last_name: Option<String>,
}

impl User {
    pub(super) fn name(&self) -> String {
        match &self.last_name {
            Some(last) => format!("{} {last}", self.first_name),
            None => self.first_name.clone(),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) first_name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The offset in UTF-16 units.
    #[serde(default)]
    pub(super) offset: usize,
    #[serde(default)]
    pub(super) length: usize,
    #[serde(default)]
    pub(super) user: Option<User>,
}

#[derive(Deserialize)]
pub(super) struct TelegramFile {
    pub(super) file_id: String,
    #[serde(default)]
    pub(super) file_size: u64,
    #[serde(default)]
    pub(super) file_name: Option<String>,
    #[serde(default)]
    pub(super) mime_type: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct CallbackQuery {
    pub(super) id: String,
    pub(super) from: User,
    #[serde(default)]
    pub(super) message: Option<Box<Message>>,
    #[serde(default)]
    pub(super) data: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct FileInfo {
    pub(super) file_path: String,
}
