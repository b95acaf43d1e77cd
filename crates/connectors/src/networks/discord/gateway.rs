//! The open connection to Discord's gateway. It is used only as long as everything that came over
//! it was stored. After any failure a new connection is opened from the stored position, and
//! Discord sends again what came after it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::oneshot;
use tokio::time::Instant;
use twilight_gateway::error::ReceiveMessageErrorType;
use twilight_gateway::queue::Queue;
use twilight_gateway::{ConfigBuilder, Intents, Message, Session, Shard, ShardId};

use super::position::Position;
use super::wire::GatewayEvent;
use crate::connector::NetworkError;
use crate::settings::Secret;

/// How many messages are kept while a request to Discord is under way.
const MOST_WAITING: usize = 1_000;

const RECONNECT: u8 = 7;
const INVALID_SESSION: u8 = 9;

/// The next item from the gateway.
type Item = Option<Result<Message, twilight_gateway::error::ReceiveMessageError>>;

pub(super) struct Gateway {
    shard: Shard<IdentifyQueue>,
    waiting: VecDeque<Item>,
    /// Whether the session works, so that a close is nothing unusual.
    is_active: bool,
    is_over: bool,
    /// Whether Discord asked for a new connection or session and is about to close this one.
    is_leaving: bool,
    pub(super) position: Position,
    /// The position that is stored in the ledger.
    pub(super) stored: Option<String>,
}

impl Gateway {
    pub(super) fn open(
        address: String,
        token: &Secret,
        cursor: Option<&str>,
        use_resume_url: bool,
        queue: IdentifyQueue,
    ) -> Self {
        let position = Position::read(cursor);
        // Discord includes the text of private chats and mentions without a privileged intent.
        let intents = Intents::GUILDS | Intents::GUILD_MESSAGES | Intents::DIRECT_MESSAGES;
        let mut config =
            ConfigBuilder::new(token.reveal().to_owned(), intents).proxy_url(address).queue(queue);
        if let Some(session) = &position.session {
            config = config.session(Session::new(position.sequence, session.clone()));
        }
        if let Some(url) = position.resume_url.clone().filter(|_| use_resume_url) {
            config = config.resume_url(url);
        }
        Self {
            shard: Shard::with_config(ShardId::ONE, config.build()),
            waiting: VecDeque::new(),
            is_active: false,
            is_over: false,
            is_leaving: false,
            position,
            stored: cursor.map(str::to_owned),
        }
    }

    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> Result<GatewayEvent, NetworkError> {
        loop {
            let item = match self.waiting.pop_front() {
                Some(item) => item,
                None => self.shard.next().await,
            };
            if let Some(event) = self.read(item)? {
                return Ok(event);
            }
        }
    }

    /// Returns the next event if one has already arrived.
    pub(super) fn next_ready(&mut self) -> Result<Option<GatewayEvent>, NetworkError> {
        loop {
            let item = match self.waiting.pop_front() {
                Some(item) => item,
                None => match self.shard.next().now_or_never() {
                    Some(item) => item,
                    None => return Ok(None),
                },
            };
            if let Some(event) = self.read(item)? {
                return Ok(Some(event));
            }
        }
    }

    /// Carries out a longer piece of work, and keeps the connection alive meanwhile.
    pub(super) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            let may_listen = !self.is_over && self.waiting.len() < MOST_WAITING;
            tokio::select! {
                biased;
                done = &mut work => return done,
                item = self.shard.next(), if may_listen => {
                    self.is_over = item.is_none();
                    self.waiting.push_back(item);
                }
            }
        }
    }

    fn read(&mut self, item: Item) -> Result<Option<GatewayEvent>, NetworkError> {
        match item {
            Some(Ok(Message::Text(text))) => match serde_json::from_str::<GatewayEvent>(&text) {
                Ok(event) => {
                    let named = event.t.as_deref();
                    self.is_active |= matches!(named, Some("READY" | "RESUMED"));
                    self.is_leaving |= matches!(event.op, RECONNECT | INVALID_SESSION);
                    Ok(Some(event))
                }
                Err(error) => {
                    tracing::warn!(%error, "an event of Discord could not be parsed");
                    Ok(None)
                }
            },
            Some(Ok(Message::Close(frame))) => {
                let code = frame.map_or(1_006, |frame| frame.code);
                let was_active = std::mem::take(&mut self.is_active);
                let is_leaving = std::mem::take(&mut self.is_leaving);
                closed(code, was_active || is_leaving).map(|()| None)
            }
            Some(Err(error)) => match error.kind() {
                ReceiveMessageErrorType::Reconnect => Err(NetworkError::Unreachable(
                    "Discord's gateway could not be reached".to_owned(),
                )),
                // The error's text could contain the message, so it is not logged.
                _ => {
                    tracing::warn!("a message of Discord's gateway could not be parsed");
                    Ok(None)
                }
            },
            None => Err(NetworkError::Failed("Discord closed the gateway for good".to_owned())),
        }
    }
}

/// Decides what a close means. A session that worked is resumed at once; one that never began is
/// tried again later.
fn closed(code: u16, is_usual: bool) -> Result<(), NetworkError> {
    match code {
        4_004 => Err(NetworkError::Unauthorized("Discord rejects the token".to_owned())),
        4_010..=4_014 => {
            let why = format!("Discord refuses the events that this bot asks for ({code})");
            Err(NetworkError::Refused(why))
        }
        _ if is_usual => Ok(()),
        _ => Err(NetworkError::Unreachable(format!("Discord closed the gateway ({code})"))),
    }
}

/// Spaces new sessions, because Discord allows one in five seconds and a thousand a day.
#[derive(Clone, Debug)]
pub(super) struct IdentifyQueue {
    next: Arc<Mutex<Option<Instant>>>,
    gap: Duration,
}

impl IdentifyQueue {
    pub(super) fn new(gap: Duration) -> Self {
        Self { next: Arc::default(), gap }
    }
}

impl Queue for IdentifyQueue {
    fn enqueue(&self, _: u32) -> oneshot::Receiver<()> {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = next.map_or(now, |next| next.max(now));
        *next = Some(turn + self.gap);
        let (go, wait) = oneshot::channel();
        tokio::spawn(async move {
            tokio::time::sleep_until(turn).await;
            // Sending fails if the waiting task has ended, which does no harm.
            let _ = go.send(());
        });
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_is_told_by_its_number_and_by_whether_the_session_had_begun() {
        assert_eq!(closed(1_006, true), Ok(()));
        assert_eq!(closed(4_009, true), Ok(()));
        assert!(matches!(closed(1_006, false), Err(NetworkError::Unreachable(_))));
        assert!(matches!(closed(4_004, false), Err(NetworkError::Unauthorized(_))));
        assert!(matches!(closed(4_014, true), Err(NetworkError::Refused(_))));
    }
}
