//! Decides when the next message may be sent. Each chat gets one message at a time with a gap after
//! it, the whole account has a gap of its own, and nothing is sent for as long as the network asked
//! for silence.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::PeerKind;

use crate::connector::PaceLimits;

/// If more chats than this are known, those that may be written to again are forgotten.
const MOST_CHATS: usize = 4096;

/// The pace of one account. Times are monotonic.
#[derive(Debug)]
pub(crate) struct Pace {
    limits: PaceLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time before which the account sends nothing.
    account_free: Duration,
    chats: HashMap<String, Chat>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Chat {
    free: Duration,
    is_busy: bool,
}

impl Pace {
    /// Starts with one gap in which nothing is sent, because an earlier process may have sent a
    /// message just before.
    pub(crate) fn new(limits: PaceLimits, now: Duration) -> Self {
        let account_free = now + limits.chat_gap;
        Self { limits, state: Mutex::new(State { account_free, ..State::default() }) }
    }

    /// Takes the right to write to a chat now. The error is the time at which to ask again; if a
    /// message to the chat is under way, the caller may also ask when that message is done.
    pub(crate) fn take(&self, chat: &str, now: Duration) -> Result<(), Duration> {
        let mut state = self.state();
        if state.account_free > now {
            return Err(state.account_free);
        }
        let known = state.chats.get(chat).copied().unwrap_or_default();
        if known.is_busy {
            return Err(now + self.limits.chat_gap);
        }
        if known.free > now {
            return Err(known.free);
        }
        state.account_free = now + self.limits.account_gap;
        state.chats.insert(chat.to_owned(), Chat { free: known.free, is_busy: true });
        Ok(())
    }

    /// Ends a send, whether the network answered or not. The gap counts from here, so that the
    /// network never sees two messages within the gap, however long one was under way.
    pub(crate) fn done(&self, chat: &str, kind: PeerKind, now: Duration) {
        let gap = match kind {
            PeerKind::Person => self.limits.chat_gap,
            PeerKind::Group => self.limits.group_gap,
        };
        let mut state = self.state();
        let free = state.chats.get(chat).map_or(now, |chat| chat.free).max(now + gap);
        state.chats.insert(chat.to_owned(), Chat { free, is_busy: false });
        if state.chats.len() > MOST_CHATS {
            state.chats.retain(|_, chat| chat.is_busy || chat.free > now);
        }
    }

    /// Holds messages back, because the network asked for silence.
    pub(crate) fn hold(&self, chat: &str, now: Duration, wait: Duration) {
        let mut state = self.state();
        state.account_free = state.account_free.max(now + wait);
        let known = state.chats.entry(chat.to_owned()).or_default();
        known.free = known.free.max(now + wait);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: PaceLimits = PaceLimits {
        chat_gap: Duration::from_millis(1_000),
        group_gap: Duration::from_millis(3_000),
        account_gap: Duration::from_millis(40),
    };

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_chat_waits_for_its_message_then_for_its_gap_and_others_do_not() {
        let pace = Pace::new(LIMITS, ms(0));
        assert_eq!(pace.take("a", ms(999)), Err(ms(1_000)));
        assert_eq!(pace.take("a", ms(1_000)), Ok(()));
        assert!(pace.take("a", ms(1_050)).is_err());
        assert_eq!(pace.take("b", ms(1_010)), Err(ms(1_040)));
        assert_eq!(pace.take("b", ms(1_040)), Ok(()));
        pace.done("a", PeerKind::Person, ms(1_500));
        assert_eq!(pace.take("a", ms(2_400)), Err(ms(2_500)));
        assert_eq!(pace.take("a", ms(2_500)), Ok(()));
        pace.done("b", PeerKind::Group, ms(1_100));
        assert_eq!(pace.take("b", ms(3_000)), Err(ms(4_100)));
    }

    #[test]
    fn silence_that_was_asked_for_holds_the_whole_account() {
        let pace = Pace::new(LIMITS, ms(0));
        assert_eq!(pace.take("a", ms(1_000)), Ok(()));
        pace.hold("a", ms(1_100), ms(5_000));
        pace.done("a", PeerKind::Person, ms(1_100));
        assert_eq!(pace.take("b", ms(6_000)), Err(ms(6_100)));
        assert_eq!(pace.take("a", ms(6_100)), Ok(()));
    }

    proptest! {
        /// For any requests and any sending times, no chat sees two messages within its gap, and
        /// the account never sends two within its gap.
        #[test]
        fn no_limit_is_ever_broken(steps in prop::collection::vec((0_u64..4, 0_u64..400, 0_u64..900), 1..200)) {
            let pace = Pace::new(LIMITS, ms(0));
            let (mut now, mut sent) = (0, Vec::new());
            let mut under_way: Vec<(u64, u64)> = Vec::new();
            for (chat, step, takes) in steps {
                now += step;
                under_way.retain(|(chat, end)| {
                    let is_over = *end <= now;
                    if is_over {
                        pace.done(&chat.to_string(), PeerKind::Person, ms(*end));
                    }
                    !is_over
                });
                if pace.take(&chat.to_string(), ms(now)).is_ok() {
                    sent.push((chat, now));
                    under_way.push((chat, now + takes));
                }
            }
            for (index, (chat, at)) in sent.iter().enumerate() {
                for (other, before) in &sent[..index] {
                    prop_assert!(at - before >= 40);
                    prop_assert!(chat != other || at - before >= 1_000);
                }
            }
        }
    }
}
