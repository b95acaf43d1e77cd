//! Which connections may stay. Connections without sign-in are *guests*: their number is limited,
//! in all and per network, and when there is no room for one more, the guest that has been silent
//! longest is closed. Where all of them are busy, a new one takes a place in a small reserve, in
//! which one request is read (see [`super::reserve`]). Connections of people who have signed in
//! take none of these places.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::network::Network;
use super::slot::{ConnectionSlot, CountedAs, OpenSlot};
use super::{ConnectionLimits, RequestSender};

/// How long a guest's answer may take once its request has arrived: to compute it, and to read it.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How long a request may take to arrive on a connection of the reserve.
const RESERVE_LIMIT: Duration = Duration::from_secs(2);
/// How long a new guest is given to send its request. During this time its network may have more
/// guests than its share, as long as there is room in all, because a client may open many
/// connections at once and then sign in on each of them.
const GRACE: Duration = Duration::from_secs(1);
/// Connections that were accepted but not examined yet, or closed but still open. A burst is
/// accepted only as fast as it can be examined: otherwise clients that have sent their request
/// would count as silent.
const MOST_UNSETTLED: usize = 128;
/// How long accepting waits at most, so that a blocked thread cannot stop it.
const SETTLE_LIMIT: Duration = Duration::from_millis(100);

/// Counts connections and closes those without room.
#[derive(Debug)]
pub struct Admission {
    limits: RwLock<ConnectionLimits>,
    state: Mutex<State>,
    /// Notified when one more connection was examined, or is gone.
    settled: Notify,
    closed: AtomicU64,
}

/// Counts of connections for `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionFigures {
    pub(crate) signed_in: usize,
    pub(crate) unauthenticated: usize,
    /// Guests that were closed since the start, because of their number or their slowness.
    pub(crate) closed: u64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    sequence: u64,
    pub(super) signed_in: usize,
    /// The guests in the order in which each began its current phase.
    guests: BTreeMap<u64, Guest>,
    /// Guests outside the reserve.
    ordinary: usize,
    per_network: HashMap<Network, usize>,
    pub(super) unsettled: usize,
}

#[derive(Debug)]
pub(super) struct Guest {
    slot: Arc<ConnectionSlot>,
    network: Network,
    place: SlotKind,
    phase: Phase,
    since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotKind {
    Ordinary,
    Reserve,
}

/// What a guest is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The guest has to send a request, the rest of one, or the first frame of a WebSocket.
    Waiting,
    Answering,
}

impl Guest {
    /// Whether closing the connection would lose nothing: its client has not sent a request, and
    /// has read its last answer.
    fn is_silent(&self) -> bool {
        self.phase == Phase::Waiting && !self.slot.is_writing()
    }

    fn is_young(&self) -> bool {
        self.since.elapsed() < GRACE
    }

    fn is_ordinary_of(&self, network: Network) -> bool {
        self.network == network && self.place == SlotKind::Ordinary
    }

    fn patience(&self, limits: &ConnectionLimits) -> Duration {
        match (self.is_silent(), self.place) {
            (true, SlotKind::Ordinary) => limits.head,
            (true, SlotKind::Reserve) => limits.head.min(RESERVE_LIMIT),
            (false, _) => ANSWER_LIMIT,
        }
    }
}

impl Admission {
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            limits: RwLock::new(limits),
            state: Mutex::default(),
            settled: Notify::new(),
            closed: AtomicU64::new(0),
        })
    }

    /// Replaces the limits. They hold for new connections; open ones stay.
    pub fn set_limits(&self, limits: ConnectionLimits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    pub(crate) fn limits(&self) -> ConnectionLimits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn figures(&self) -> ConnectionFigures {
        let state = self.state();
        ConnectionFigures {
            signed_in: state.signed_in,
            unauthenticated: state.guests.len(),
            closed: self.closed.load(Ordering::Relaxed),
        }
    }

    /// Gives a new connection a slot. There always is one, because another guest may be closed for
    /// it.
    pub(crate) fn admit(self: &Arc<Self>, sender: &RequestSender) -> OpenSlot {
        let slot = Arc::new(ConnectionSlot::new(Arc::clone(self)));
        let mut state = self.state();
        state.unsettled += 1;
        match sender {
            RequestSender::LocalUser => slot.stand(CountedAs::LocalUser),
            RequestSender::Network { from, .. } => {
                let network = Network::of(from.ip());
                let place = self.room(&mut state, network);
                state.enter(&slot, network, place);
            }
        }
        drop(state);
        OpenSlot::new(slot)
    }

    /// Waits until most of the accepted connections were examined.
    pub(crate) async fn settle(&self) {
        let settled = async {
            loop {
                let one_more = self.settled.notified();
                if self.state().unsettled < MOST_UNSETTLED {
                    return;
                }
                one_more.await;
            }
        };
        // On a timeout accepting continues, and silent guests are closed as needed.
        let _ = timeout(SETTLE_LIMIT, settled).await;
    }

    /// Closes guests whose time is over.
    pub(crate) fn close_overdue(&self, now: Instant) {
        let limits = self.limits();
        let mut state = self.state();
        let overdue = state.guests.iter().filter(|(_, guest)| {
            now.saturating_duration_since(guest.since) > guest.patience(&limits)
        });
        let overdue: Vec<u64> = overdue.map(|(key, _)| *key).collect();
        for key in overdue {
            self.close(&mut state, key);
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn one_more_settled(&self, state: &mut State) {
        state.unsettled = state.unsettled.saturating_sub(1);
        self.settled.notify_one();
    }

    fn room(&self, state: &mut State, network: Network) -> SlotKind {
        let limits = self.limits();
        let is_crowded = state.guests_of(network) >= limits.per_address;
        let is_full = state.ordinary >= limits.unauthenticated;
        if !is_crowded && !is_full {
            return SlotKind::Ordinary;
        }
        let silent = if is_crowded { state.silent_of(network) } else { None };
        if let Some(key) = silent.or_else(|| state.silent_in_a_crowd().filter(|_| is_full)) {
            self.close(state, key);
            return SlotKind::Ordinary;
        }
        if !is_full && state.has_young(network) {
            return SlotKind::Ordinary;
        }
        let reserved = state.guests.len() - state.ordinary;
        if reserved >= limits.reserve()
            && let Some(key) = state.oldest(|guest| guest.place == SlotKind::Reserve)
        {
            self.close(state, key);
        }
        SlotKind::Reserve
    }

    fn close(&self, state: &mut State, key: u64) {
        let Some(guest) = state.leave(key) else { return };
        state.unsettled += 1;
        guest.slot.stand(CountedAs::Closed);
        guest.slot.close();
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

impl State {
    fn guests_of(&self, network: Network) -> usize {
        self.per_network.get(&network).copied().unwrap_or_default()
    }

    fn oldest(&self, is_meant: impl Fn(&Guest) -> bool) -> Option<u64> {
        self.guests.iter().find(|(_, guest)| is_meant(guest)).map(|(key, _)| *key)
    }

    /// The oldest guest of a network that has been silent for a while.
    fn silent_of(&self, network: Network) -> Option<u64> {
        self.oldest(|guest| guest.is_ordinary_of(network) && guest.is_silent() && !guest.is_young())
    }

    /// Whether a guest of this network is about to send a request.
    fn has_young(&self, network: Network) -> bool {
        let mut guests = self.guests.values();
        guests.any(|guest| guest.is_ordinary_of(network) && guest.is_silent() && guest.is_young())
    }

    /// The oldest silent guest of the network that has the most guests.
    fn silent_in_a_crowd(&self) -> Option<u64> {
        let silent = self
            .guests
            .iter()
            .filter(|(_, guest)| guest.place == SlotKind::Ordinary && guest.is_silent());
        silent
            .max_by_key(|(key, guest)| (self.guests_of(guest.network), Reverse(**key)))
            .map(|(key, _)| *key)
    }

    fn enter(&mut self, slot: &Arc<ConnectionSlot>, network: Network, place: SlotKind) {
        if place == SlotKind::Ordinary {
            self.ordinary += 1;
            *self.per_network.entry(network).or_default() += 1;
        }
        let (slot, since) = (Arc::clone(slot), Instant::now());
        self.put(Guest { slot, network, place, phase: Phase::Waiting, since });
    }

    fn put(&mut self, guest: Guest) {
        self.sequence += 1;
        guest.slot.stand(CountedAs::Guest { key: self.sequence, place: guest.place });
        self.guests.insert(self.sequence, guest);
    }

    /// The guest enters another phase and counts as the youngest again.
    pub(super) fn turn_to(&mut self, key: u64, phase: Phase) {
        if let Some(guest) = self.guests.remove(&key) {
            self.put(Guest { phase, since: Instant::now(), ..guest });
        }
    }

    pub(super) fn leave(&mut self, key: u64) -> Option<Guest> {
        let guest = self.guests.remove(&key)?;
        if guest.place == SlotKind::Ordinary {
            self.ordinary -= 1;
            if let Some(count) = self.per_network.get_mut(&guest.network) {
                *count -= 1;
                if *count == 0 {
                    self.per_network.remove(&guest.network);
                }
            }
        }
        Some(guest)
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn admission(unauthenticated: usize, per_address: usize) -> Arc<Admission> {
        let second = Duration::from_secs(1);
        let (head, body, sign_in) = (second, second, second);
        Admission::new(ConnectionLimits {
            max: 64,
            unauthenticated,
            per_address,
            head,
            body,
            sign_in,
        })
    }

    fn from(address: &str) -> RequestSender {
        let from = format!("{address}:1").parse().unwrap();
        RequestSender::Network { from, at: "192.0.2.9:2".parse().unwrap() }
    }

    fn is_closed(slot: &OpenSlot) -> bool {
        slot.poll_closed(&Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn the_network_with_most_guests_makes_room_for_others() {
        let admission = admission(4, 4);
        let other = admission.admit(&from("192.0.2.1"));
        let crowd: Vec<OpenSlot> = (0..3).map(|_| admission.admit(&from("192.0.2.2"))).collect();
        let newcomer = admission.admit(&from("192.0.2.3"));
        let closed: Vec<bool> = crowd.iter().map(is_closed).collect();
        assert_eq!(closed, [true, false, false]);
        assert!(!is_closed(&other) && !is_closed(&newcomer) && !newcomer.is_in_reserve());
        drop(crowd);
        assert_eq!(admission.figures().unauthenticated, 2);
    }

    #[test]
    fn guests_that_came_a_moment_ago_may_be_more_than_their_share_but_not_more_than_all() {
        let admission = admission(4, 2);
        let crowd: Vec<OpenSlot> = (0..4).map(|_| admission.admit(&from("127.0.0.1"))).collect();
        assert!(crowd.iter().all(|slot| !is_closed(slot) && !slot.is_in_reserve()));
        let one_more = admission.admit(&from("127.0.0.2"));
        assert!(is_closed(&crowd[0]) && !is_closed(&one_more));
    }

    #[test]
    fn who_signs_in_leaves_the_place_of_a_guest_and_is_closed_for_nobody() {
        let admission = admission(2, 2);
        let known = admission.admit(&from("127.0.0.1"));
        known.sign_in().unwrap();
        let guests: Vec<OpenSlot> = (0..8).map(|_| admission.admit(&from("127.0.0.1"))).collect();
        admission.close_overdue(Instant::now() + ANSWER_LIMIT * 2);
        assert!(!is_closed(&known) && guests.iter().all(is_closed));
        let figures = admission.figures();
        assert_eq!((figures.signed_in, figures.unauthenticated, figures.closed), (1, 0, 8));
        drop((known, guests));
        assert_eq!((admission.figures().signed_in, admission.state().unsettled), (0, 0));
    }

    #[test]
    fn busy_guests_are_closed_for_nobody_and_the_reserve_is_kept_small() {
        let admission = admission(2, 2);
        let busy: Vec<OpenSlot> = (0..2).map(|_| admission.admit(&from("127.0.0.1"))).collect();
        busy.iter().for_each(|slot| slot.answering());
        let reserve = admission.limits().reserve();
        let late: Vec<OpenSlot> =
            (0..=reserve).map(|_| admission.admit(&from("127.0.0.1"))).collect();
        assert!(late.iter().all(|slot| slot.is_in_reserve() || is_closed(slot)));
        assert!(busy.iter().all(|slot| !is_closed(slot)));
        assert_eq!(late.iter().filter(|slot| is_closed(slot)).count(), 1);
    }
}
