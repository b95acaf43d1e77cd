//! How far an account was read. The position holds what a new connection needs to resume where the
//! last one ended, and what must be fetched if Discord does not allow that.

use serde::{Deserialize, Serialize};

/// How many private chats are asked for missed messages after a session was lost; older ones are
/// forgotten.
const MOST_PRIVATE: usize = 100;
/// By how many milliseconds messages of different channels may overtake each other.
const MARGIN_MILLIS: u64 = 60_000;
/// The moment from which Discord's ids count milliseconds; the time is above the lowest 22 bits.
const FIRST_MILLISECOND: u64 = 1_420_070_400_000;
const TIME_SHIFT: u32 = 22;

/// The cursor of a Discord account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    pub(super) session: Option<String>,
    /// The number of the last stored event of the session.
    pub(super) sequence: u64,
    pub(super) resume_url: Option<String>,
    /// The id of the newest stored message.
    pub(super) newest: u64,
    /// The channels of private chats, with the most recently used one at the end.
    pub(super) private: Vec<String>,
    pub(super) missed: Option<MissedMessages>,
}

/// What has to be fetched because a session ended without a resume: the messages after `since`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MissedMessages {
    pub(super) since: u64,
    /// Whether the private chats still have to be asked.
    pub(super) is_private_open: bool,
    /// The servers whose channels still have to be asked.
    pub(super) guilds: Vec<String>,
}

impl Position {
    pub(super) fn read(cursor: Option<&str>) -> Self {
        // A cursor that cannot be parsed belongs to another network, so reading starts from the
        // beginning.
        cursor.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub(super) fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Begins a new session, which does not deliver what an earlier session missed.
    pub(super) fn begin(
        &mut self,
        session: String,
        resume_url: String,
        guilds: Vec<String>,
        now_millis: i64,
    ) {
        let is_first = self.newest == 0;
        if is_first {
            self.newest = id_at(now_millis.unsigned_abs());
        } else {
            let since = self.newest.saturating_sub(MARGIN_MILLIS << TIME_SHIFT);
            // If an earlier loss was not fully fetched, its older start is kept.
            let since = self.missed.as_ref().map_or(since, |missed| missed.since.min(since));
            self.missed = Some(MissedMessages { since, is_private_open: true, guilds });
        }
        self.session = Some(session);
        self.resume_url = Some(resume_url);
        self.sequence = 0;
    }

    pub(super) fn note_message(&mut self, id: &str) {
        self.newest = self.newest.max(id.parse().unwrap_or(0));
    }

    pub(super) fn note_private(&mut self, channel: &str) {
        self.private.retain(|known| known != channel);
        self.private.push(channel.to_owned());
        if self.private.len() > MOST_PRIVATE {
            self.private.remove(0);
        }
    }

    /// The message id to fetch from if this server's channels must still be fetched.
    pub(super) fn owes(&self, guild: &str) -> Option<u64> {
        let missed = self.missed.as_ref()?;
        missed.guilds.iter().any(|open| open == guild).then_some(missed.since)
    }

    pub(super) fn private_is_asked(&mut self) {
        if let Some(missed) = &mut self.missed {
            missed.is_private_open = false;
        }
        self.forget_what_is_done();
    }

    pub(super) fn guild_is_asked(&mut self, guild: &str) {
        if let Some(missed) = &mut self.missed {
            missed.guilds.retain(|open| open != guild);
        }
        self.forget_what_is_done();
    }

    fn forget_what_is_done(&mut self) {
        let is_done = |missed: &MissedMessages| !missed.is_private_open && missed.guilds.is_empty();
        if self.missed.as_ref().is_some_and(is_done) {
            self.missed = None;
        }
    }
}

/// The id that a message of this time would have.
fn id_at(millis: u64) -> u64 {
    millis.saturating_sub(FIRST_MILLISECOND) << TIME_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_session_misses_nothing_and_a_second_one_everything_since_the_newest_message() {
        let mut position = Position::default();
        position.begin(
            "a".to_owned(),
            "wss://x".to_owned(),
            vec!["1".to_owned()],
            1_700_000_000_000,
        );
        assert_eq!(position.missed, None);
        let newest = position.newest + (90_000 << TIME_SHIFT);
        position.note_message(&newest.to_string());
        position.begin("b".to_owned(), "wss://x".to_owned(), vec!["1".to_owned()], 0);
        let since = newest - (MARGIN_MILLIS << TIME_SHIFT);
        assert_eq!(position.owes("1"), Some(since));
        assert_eq!(position.owes("2"), None);
        position.guild_is_asked("1");
        assert!(position.missed.is_some());
        position.private_is_asked();
        assert_eq!(position.missed, None);
        assert_eq!(Position::read(position.written().as_deref()), position);
    }

    #[test]
    fn only_so_many_private_chats_are_kept() {
        let mut position = Position::default();
        (0..300).for_each(|chat: i32| position.note_private(&chat.to_string()));
        position.note_private("250");
        assert_eq!(position.private.len(), MOST_PRIVATE);
        assert_eq!(position.private.last().map(String::as_str), Some("250"));
    }
}
