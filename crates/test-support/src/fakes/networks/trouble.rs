//! The kinds of trouble, and how often each happens.

use std::time::Duration;

use crate::Dice;

/// How often each kind of trouble happens: once in this many requests; 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    pub seed: u64,
    /// The connection is closed before the request is carried out.
    pub lost_before: u64,
    /// The request is carried out, and the connection is closed without an answer.
    pub lost_after: u64,
    /// The request is carried out, but answered only after the caller gave up.
    pub late: u64,
    /// The request is carried out, and the answer breaks off.
    pub half_closed: u64,
    pub too_fast: u64,
    pub failed: u64,
    /// Updates that were read before come again.
    pub redelivers: u64,
    /// Updates come in another order.
    pub reorders: u64,
    /// How long a late answer takes.
    pub lateness: Duration,
    pub retry_after: u64,
    /// Whether only sends and edits have trouble.
    pub only_writes: bool,
    /// An open connection is cut at an event.
    pub cut: u64,
    /// An open connection stays open and sends nothing more.
    pub silenced: u64,
    /// The other side asks to reconnect.
    pub moved: u64,
    /// The session ends and cannot be resumed.
    pub session_lost: u64,
}

/// The outcome of one request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Well,
    LostBefore,
    LostAfter,
    Late,
    HalfClosed,
    TooFast,
    Failed,
}

impl Trouble {
    pub(super) fn fate(&self, dice: &mut Dice, is_write: bool) -> Fate {
        if self.only_writes && !is_write {
            return Fate::Well;
        }
        let kinds = [
            (self.lost_before, Fate::LostBefore),
            (self.lost_after, Fate::LostAfter),
            (self.late, Fate::Late),
            (self.half_closed, Fate::HalfClosed),
            (self.failed, Fate::Failed),
            (if is_write { self.too_fast } else { 0 }, Fate::TooFast),
        ];
        for (chance, fate) in kinds {
            if strikes(dice, chance) {
                return fate;
            }
        }
        Fate::Well
    }
}

/// Whether an event happens that has a chance of one in `chance`; 0 is never.
pub(super) fn strikes(dice: &mut Dice, chance: u64) -> bool {
    chance > 0 && dice.below(usize::try_from(chance).unwrap_or(usize::MAX)) == 0
}
