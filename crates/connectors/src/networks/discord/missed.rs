//! Fetches messages that were sent while no session was open: each channel is asked for messages
//! after the newest stored one. A message that is found twice is stored once.

use super::gateway::Gateway;
use super::incoming::{self, is_for_us};
use super::wire::{Channel, Guild, Message, User};
use super::{Discord, parse, place};
use crate::connector::{NetworkError, Update};

const PAGE: usize = 100;
/// How many pages are read of one channel; together they hold a thousand messages.
const MOST_PAGES: usize = 10;

/// Fetches the missed messages of private chats.
pub(super) async fn private(
    discord: &Discord,
    gateway: &mut Gateway,
    me: &User,
) -> Result<Vec<Update>, NetworkError> {
    let since = gateway.position.missed.as_ref().map_or(0, |missed| missed.since);
    let channels = gateway.position.private.clone();
    let found = gateway
        .meanwhile(async {
            let mut found = Vec::new();
            for channel in &channels {
                found.extend(messages(discord, channel, since).await?);
            }
            Ok::<_, NetworkError>(found)
        })
        .await?;
    let mut updates = Vec::new();
    for message in found {
        gateway.position.note_message(&message.id);
        if is_for_us(&message, me, true) {
            discord.remember(&message.author.id, &message.channel_id);
            updates.push(incoming::message_update(&message, me, None));
        }
    }
    Ok(updates)
}

/// Fetches the missed messages of a server's channels and threads that have newer ones.
pub(super) async fn guild(
    discord: &Discord,
    gateway: &mut Gateway,
    me: &User,
    guild: Guild,
    since: u64,
) -> Result<Vec<Update>, NetworkError> {
    let is_newer = |channel: &Channel| {
        let last = channel.last_message_id.as_deref().and_then(|id| id.parse::<u64>().ok());
        last.is_some_and(|last| last > since)
    };
    let channels: Vec<Channel> =
        guild.channels.into_iter().chain(guild.threads).filter(is_newer).collect();
    let found = gateway
        .meanwhile(async {
            let mut found = Vec::new();
            for channel in channels {
                let messages = messages(discord, &channel.id, since).await?;
                found.push((channel, messages));
            }
            Ok::<_, NetworkError>(found)
        })
        .await?;
    let mut updates = Vec::new();
    for (channel, messages) in found {
        let place = place(&channel, guild.id.clone());
        for message in messages {
            gateway.position.note_message(&message.id);
            if is_for_us(&message, me, false) {
                updates.push(incoming::message_update(&message, me, Some(place.clone())));
            }
        }
    }
    Ok(updates)
}

/// The messages of a channel after a message id, oldest first.
async fn messages(
    discord: &Discord,
    channel: &str,
    since: u64,
) -> Result<Vec<Message>, NetworkError> {
    let (mut after, mut found) = (since, Vec::new());
    for _ in 0..MOST_PAGES {
        let path = format!("/channels/{channel}/messages?after={after}&limit={PAGE}");
        let page: Vec<Message> = match discord.rest.get(&path).await {
            Ok(page) => parse(page)?,
            // The channel was deleted or the bot may not read it, so it has no messages for the
            // bot.
            Err(NetworkError::Refused(_) | NetworkError::NoThread(_)) => break,
            Err(NetworkError::TooFast(wait)) => {
                tokio::time::sleep(wait).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        let (count, newest) = (page.len(), page.iter().map(number).max());
        found.extend(page);
        match newest {
            Some(newest) if count == PAGE => after = newest,
            Some(_) | None => break,
        }
    }
    found.sort_by_key(number);
    Ok(found)
}

fn number(message: &Message) -> u64 {
    message.id.parse().unwrap_or(0)
}
