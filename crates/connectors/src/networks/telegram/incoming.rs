//! Converts Telegram's updates into incoming messages.

use onyx_storage::PeerKind;
use serde::Deserialize as _;
use serde_json::Value;

use super::wire::{Bot, CallbackQuery, Entity, Message, TelegramFile, TelegramUpdate};
use crate::connector::{Author, Batch, FileKind, FileRef, Incoming, Press, Quote, Update};

/// Converts a batch of updates. Those that are not messages are left out, but the cursor moves past
/// them too.
pub(super) fn batch(updates: &Value, me: &Bot) -> Batch {
    let mut batch = Batch::default();
    let mut last = None;
    for update in updates.as_array().into_iter().flatten() {
        let Some(id) = update["update_id"].as_i64() else { continue };
        last = last.max(Some(id));
        match TelegramUpdate::deserialize(update) {
            Ok(read) => {
                let incoming = incoming(read, me);
                batch
                    .updates
                    .extend(incoming.map(|incoming| Update { id: id.to_string(), incoming }));
            }
            Err(error) => {
                tracing::warn!(update = id, %error, "an update of Telegram could not be parsed")
            }
        }
    }
    // Updates are handled in the order of their numbers, even if Telegram listed them differently.
    batch.updates.sort_by_key(|update| update.id.parse::<i64>().unwrap_or(i64::MAX));
    batch.cursor = last.map(|last| (last + 1).to_string());
    batch
}

fn incoming(update: TelegramUpdate, me: &Bot) -> Option<Incoming> {
    match (update.message, update.callback_query) {
        (Some(message), _) => incoming_message(&message, me),
        (None, Some(query)) => pressed(query),
        (None, None) => None,
    }
}

fn incoming_message(message: &Message, me: &Bot) -> Option<Incoming> {
    let from = message.from.as_ref()?;
    let kind = peer_kind(message)?;
    let text = message.text.clone().or_else(|| message.caption.clone()).unwrap_or_default();
    let entities =
        if message.text.is_some() { &message.entities } else { &message.caption_entities };
    let mentions = mentions(&text, entities, me);
    let is_reply = message
        .reply_to_message
        .as_ref()
        .and_then(|replied| replied.from.as_ref())
        .is_some_and(|user| user.id == me.id);
    let is_addressed = kind == PeerKind::Person || is_reply || mentions;
    let name = me.username.as_deref().unwrap_or_default();
    Some(Incoming {
        peer: message.chat.id.to_string(),
        kind,
        peer_name: peer_name(message),
        thread: thread(message),
        guild: None,
        message: message.message_id.to_string(),
        author: Author { id: from.id.to_string(), name: from.name() },
        text: without_mention(&text, name),
        is_addressed,
        quoted: message.reply_to_message.as_deref().and_then(quote),
        files: files(message),
        press: None,
    })
}

fn pressed(query: CallbackQuery) -> Option<Incoming> {
    let message = query.message?;
    Some(Incoming {
        peer: message.chat.id.to_string(),
        kind: peer_kind(&message)?,
        peer_name: peer_name(&message),
        thread: thread(&message),
        guild: None,
        message: format!("press:{}", query.id),
        author: Author { id: query.from.id.to_string(), name: query.from.name() },
        text: String::new(),
        is_addressed: true,
        quoted: None,
        files: Vec::new(),
        press: Some(Press { id: query.id, data: query.data? }),
    })
}

fn peer_kind(message: &Message) -> Option<PeerKind> {
    match message.chat.kind.as_str() {
        "private" => Some(PeerKind::Person),
        "group" | "supergroup" => Some(PeerKind::Group),
        // Other chats are broadcast channels, which expect no answers.
        _ => None,
    }
}

fn peer_name(message: &Message) -> String {
    let chat = &message.chat;
    let name = chat.title.clone().or_else(|| chat.first_name.clone());
    name.unwrap_or_else(|| chat.id.to_string())
}

fn thread(message: &Message) -> String {
    match message.message_thread_id {
        Some(thread) if message.is_topic_message => thread.to_string(),
        Some(_) | None => String::new(),
    }
}

fn quote(replied: &Message) -> Option<Quote> {
    let text = replied.text.clone().or_else(|| replied.caption.clone())?;
    let author = replied.from.as_ref().map(super::wire::User::name).unwrap_or_default();
    Some(Quote { author, text })
}

fn mentions(text: &str, entities: &[Entity], me: &Bot) -> bool {
    let name = me.username.as_deref().unwrap_or_default().to_lowercase();
    let units: Vec<u16> = text.encode_utf16().collect();
    entities.iter().any(|entity| {
        let end = entity.offset.saturating_add(entity.length).min(units.len());
        let piece = units.get(entity.offset..end).map(String::from_utf16_lossy).unwrap_or_default();
        match entity.kind.as_str() {
            "mention" => !name.is_empty() && piece.to_lowercase() == format!("@{name}"),
            "bot_command" => piece.to_lowercase().ends_with(&format!("@{name}")),
            "text_mention" => entity.user.as_ref().is_some_and(|user| user.id == me.id),
            _ => false,
        }
    })
}

fn without_mention(text: &str, name: &str) -> String {
    if name.is_empty() {
        return text.to_owned();
    }
    let mention = format!("@{name}");
    let rest = text.trim_start();
    match rest.get(..mention.len()) {
        Some(first) if first.eq_ignore_ascii_case(&mention) => {
            rest[mention.len()..].trim_start_matches([' ', ',', ':']).to_owned()
        }
        _ => text.to_owned(),
    }
}

fn files(message: &Message) -> Vec<FileRef> {
    let mut files = Vec::new();
    // Telegram lists the same picture in several sizes, with the largest at the end.
    if let Some(photo) = message.photo.last() {
        files.push(file(photo, FileKind::Picture, "picture.jpg", "image/jpeg"));
    }
    for voice in message.voice.iter().chain(&message.audio) {
        files.push(file(voice, FileKind::Voice, "voice.ogg", "audio/ogg"));
    }
    if let Some(document) = &message.document {
        let is_picture =
            document.mime_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
        let kind = if is_picture { FileKind::Picture } else { FileKind::Document };
        files.push(file(document, kind, "file", "application/octet-stream"));
    }
    files
}

fn file(file: &TelegramFile, kind: FileKind, name: &str, media_type: &str) -> FileRef {
    FileRef {
        id: file.file_id.clone(),
        name: file.file_name.clone().unwrap_or_else(|| name.to_owned()),
        media_type: file.mime_type.clone().unwrap_or_else(|| media_type.to_owned()),
        bytes: file.file_size,
        kind,
    }
}
