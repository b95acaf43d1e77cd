//! Converts Discord's messages, buttons and slash commands into incoming messages.

use onyx_storage::PeerKind;

use super::wire::{Attachment, Interaction, Message, User};
use crate::connector::{Author, FileKind, FileRef, Incoming, Press, Quote, Update};

/// The kinds of messages that people write: ordinary ones and replies. All others are notices of
/// Discord.
const WRITTEN: [u8; 2] = [0, 19];
const COMMAND: u8 = 2;
const BUTTON: u8 = 3;

/// The channel of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiscordChannel {
    /// The server of the channel; `None` in a private chat.
    pub(super) guild: Option<String>,
    /// The name of the channel, as people see it.
    pub(super) name: String,
    /// The id of the channel that people see.
    pub(super) channel: String,
    /// The id of the thread in the channel; empty if there is none.
    pub(super) thread: String,
}

/// Whether a message is for the bot. The channel is looked up only if it is.
pub(super) fn is_for_us(message: &Message, me: &User, is_private: bool) -> bool {
    let is_person = !message.author.bot && message.webhook_id.is_none();
    is_person && WRITTEN.contains(&message.kind) && (is_private || addresses(message, me))
}

fn addresses(message: &Message, me: &User) -> bool {
    let is_reply =
        message.referenced_message.as_ref().is_some_and(|replied| replied.author.id == me.id);
    is_reply || message.mentions.iter().any(|user| user.id == me.id)
}

pub(super) fn message_update(
    message: &Message,
    me: &User,
    place: Option<DiscordChannel>,
) -> Update {
    let author = Author { id: message.author.id.clone(), name: message.author.name() };
    let quoted = message
        .referenced_message
        .as_deref()
        .map(|replied| Quote { author: replied.author.name(), text: readable(replied, me) });
    let incoming = at(place, author, format!("m{}", message.id));
    let incoming = Incoming {
        text: readable(message, me),
        quoted: quoted.filter(|quote| !quote.text.is_empty()),
        files: message.attachments.iter().map(file).collect(),
        ..incoming
    };
    Update { id: format!("m{}", message.id), incoming }
}

/// Converts a pressed button or a slash command.
pub(super) fn interacted(
    interaction: &Interaction,
    place: Option<DiscordChannel>,
) -> Option<Update> {
    let user = interaction.member.as_ref().map(|member| &member.user);
    let user = user.or(interaction.user.as_ref())?;
    let author = Author { id: user.id.clone(), name: user.name() };
    let id = format!("i{}", interaction.id);
    let incoming = at(place, author, id.clone());
    let incoming = match interaction.kind {
        BUTTON => {
            let press = Press {
                id: format!("{}:{}", interaction.application_id, interaction.token),
                data: interaction.data.custom_id.clone()?,
            };
            Incoming { press: Some(press), ..incoming }
        }
        COMMAND => {
            let mut text = format!("/{}", interaction.data.name.as_deref()?);
            for option in &interaction.data.options {
                let value = match option.value.as_str() {
                    Some(words) => words.to_owned(),
                    None => option.value.to_string(),
                };
                text = format!("{text} {value}");
            }
            Incoming { text, ..incoming }
        }
        _ => return None,
    };
    Some(Update { id, incoming })
}

/// Builds an incoming message without text. The peer of a private chat is its person, so that
/// `allow` and pairing name people; each channel of a server is a separate peer.
fn at(place: Option<DiscordChannel>, author: Author, message: String) -> Incoming {
    let (kind, peer, peer_name, thread, guild) = match place {
        Some(place) => (PeerKind::Group, place.channel, place.name, place.thread, place.guild),
        None => (PeerKind::Person, author.id.clone(), author.name.clone(), String::new(), None),
    };
    Incoming {
        peer,
        kind,
        peer_name,
        thread,
        guild,
        message,
        author,
        text: String::new(),
        is_addressed: true,
        quoted: None,
        files: Vec::new(),
        press: None,
    }
}

/// The text with names instead of Discord's numeric mentions. A mention of the bot at the beginning
/// is left out.
fn readable(message: &Message, me: &User) -> String {
    let mut text = message.content.clone();
    for form in [format!("<@{}>", me.id), format!("<@!{}>", me.id)] {
        if let Some(rest) = text.trim_start().strip_prefix(&form) {
            text = rest.trim_start_matches([' ', ',', ':']).to_owned();
        }
    }
    for user in message.mentions.iter().chain([me]) {
        let name = format!("@{}", user.name());
        for form in [format!("<@{}>", user.id), format!("<@!{}>", user.id)] {
            text = text.replace(&form, &name);
        }
    }
    text
}

fn file(attachment: &Attachment) -> FileRef {
    let media_type = attachment.content_type.as_deref().unwrap_or("application/octet-stream");
    // A character set may follow the media type after a semicolon, so it is cut off.
    let media_type = media_type.split(';').next().unwrap_or(media_type).trim().to_owned();
    let kind = if media_type.starts_with("image/") {
        FileKind::Picture
    } else if media_type.starts_with("audio/") {
        FileKind::Voice
    } else {
        FileKind::Document
    };
    let name = attachment.filename.clone();
    FileRef { id: attachment.url.clone(), name, media_type, bytes: attachment.size, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn me() -> User {
        serde_json::from_value(json!({"id": "42", "username": "onyx"})).unwrap()
    }

    fn message(more: &Value) -> Message {
        let mut message = json!({"id": "9", "channel_id": "5", "content": "hello",
            "author": {"id": "7", "username": "anna", "global_name": "Anna"}});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn a_server_speaks_to_us_by_name_or_by_reply_and_robots_never_do() {
        let mention = json!({"mentions": [{"id": "42"}]});
        let reply = json!({"type": 19, "referenced_message":
            {"id": "1", "channel_id": "5", "author": {"id": "42", "username": "onyx"}}});
        assert!(!is_for_us(&message(&json!({})), &me(), false));
        assert!(is_for_us(&message(&json!({})), &me(), true));
        assert!(is_for_us(&message(&mention), &me(), false));
        assert!(is_for_us(&message(&reply), &me(), false));
        for robot in [
            json!({"webhook_id": "3"}),
            json!({"type": 7}),
            json!({"author": {"id": "8", "bot": true}}),
        ] {
            assert!(!is_for_us(&message(&robot), &me(), true));
        }
    }

    #[test]
    fn names_stand_where_numbers_stood() {
        let text = message(&json!({"content": "<@42>, ask <@7> and <@!8>",
            "mentions": [{"id": "42"}, {"id": "7", "username": "anna"}, {"id": "8", "username": "bo"}]}));
        assert_eq!(readable(&text, &me()), "ask @anna and @bo");
    }

    #[test]
    fn a_slash_command_is_the_same_as_its_words() {
        let event: Interaction = serde_json::from_value(json!({"id": "1", "type": 2, "token": "t",
            "user": {"id": "7", "username": "anna"},
            "data": {"name": "approve", "options": [{"name": "number", "value": 3}]}}))
        .unwrap();
        let update = interacted(&event, None).unwrap();
        assert_eq!(
            (update.incoming.text.as_str(), update.incoming.peer.as_str()),
            ("/approve 3", "7")
        );
    }
}
