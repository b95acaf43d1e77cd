//! Counts failures. A password can be guessed, so guesses are limited: for one name from one
//! network, for one name from everywhere, and for all names from one network. Failures for one name
//! never lock out another person. A token or a link is random and cannot be guessed: a valid one
//! always passes, and only failures have to wait.

mod limits;

use std::collections::HashMap;
use std::hash::Hash as Key;
use std::net::IpAddr;
use std::time::Duration;

use onyx_types::{Clock, ErrorCode, Fault, Hash};

use crate::network::Network;

pub(crate) use limits::Limits;

/// A rate of allowed failures: `burst` at once, and one more every `every`.
#[derive(Clone, Copy)]
struct Rate {
    burst: u32,
    every: Duration,
}

const NAME_FROM_NETWORK: Rate = Rate { burst: 10, every: Duration::from_secs(6) };
const NAME_FROM_EVERYWHERE: Rate = Rate { burst: 100, every: Duration::from_secs(3) };
const NETWORK: Rate = Rate { burst: 100, every: Duration::from_secs(3) };
const PAIRINGS: Rate = Rate { burst: 20, every: Duration::from_secs(6) };
const FAILURES: Rate = Rate { burst: 120, every: Duration::from_millis(500) };

/// How many names, networks and addresses are remembered; those with the fewest failures are
/// forgotten first.
const MAX_REMEMBERED: usize = 10_000;
/// How many networks are remembered from which a person has signed in: failures elsewhere do not
/// lock the person out there.
const MAX_KNOWN_NETWORKS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Limiter {
    names_from_networks: Buckets<(Hash, Network)>,
    names: Buckets<Hash>,
    networks: Buckets<Network>,
    pairings: Buckets<Network>,
    failures: Buckets<IpAddr>,
    /// The networks of people whose password was right; there are no more entries than accounts.
    known: HashMap<Hash, Vec<Network>>,
}

/// A guess at the password of a name, from one network.
#[derive(Clone, Copy)]
pub(crate) struct Guess {
    name: Hash,
    network: Network,
}

/// Whether there is room for a guess, and how it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Free,
    /// Too many guesses at other names came from the same network. A person's own password is still
    /// checked, and every wrong guess gets the same answer after the same time, so that the answers
    /// do not reveal which names exist.
    Crowded,
}

impl Guess {
    pub(crate) fn new(name: &str, from: IpAddr) -> Self {
        // The hash has a fixed size, even for a very long name.
        Self { name: Hash::of(name.as_bytes()), network: Network::of(from) }
    }
}

impl Limiter {
    /// Counts a guess before it is checked, so that many guesses at once do not count as one.
    pub(crate) fn guess(&mut self, guess: Guess, clock: &dyn Clock) -> Result<Admission, Fault> {
        let now = clock.now().mono;
        let own = (guess.name, guess.network);
        let known = self.known.get(&guess.name).is_some_and(|all| all.contains(&guess.network));
        if self.names_from_networks.is_full(own, NAME_FROM_NETWORK, now)
            || !known && self.names.is_full(guess.name, NAME_FROM_EVERYWHERE, now)
        {
            return Err(too_many());
        }
        self.names_from_networks.add(own, NAME_FROM_NETWORK, now);
        self.names.add(guess.name, NAME_FROM_EVERYWHERE, now);
        if self.networks.is_full(guess.network, NETWORK, now) {
            return Ok(Admission::Crowded);
        }
        self.networks.add(guess.network, NETWORK, now);
        Ok(Admission::Free)
    }

    /// Takes back the count of a guess that was right. Failures of others stay counted.
    pub(crate) fn guessed_right(&mut self, guess: Guess) {
        self.names_from_networks.take_back((guess.name, guess.network), NAME_FROM_NETWORK);
        self.names.take_back(guess.name, NAME_FROM_EVERYWHERE);
        self.networks.take_back(guess.network, NETWORK);
        let known = self.known.entry(guess.name).or_default();
        known.retain(|network| *network != guess.network);
        known.push(guess.network);
        if known.len() > MAX_KNOWN_NETWORKS {
            known.remove(0);
        }
    }

    /// Counts a pairing request: with each one the owner might approve the wrong device.
    pub(crate) fn pairing(&mut self, from: IpAddr, clock: &dyn Clock) -> Result<(), Fault> {
        let (network, now) = (Network::of(from), clock.now().mono);
        if self.pairings.is_full(network, PAIRINGS, now) {
            return Err(too_many());
        }
        self.pairings.add(network, PAIRINGS, now);
        Ok(())
    }

    /// Counts an unknown token; `Err` if there were too many. Tokens are counted by address,
    /// because this only slows down programs that keep asking and protects nothing that can be
    /// guessed.
    pub(crate) fn failed(&mut self, from: IpAddr, clock: &dyn Clock) -> Result<(), Fault> {
        let (address, now) = (from.to_canonical(), clock.now().mono);
        if self.failures.is_full(address, FAILURES, now) {
            return Err(too_many());
        }
        self.failures.add(address, FAILURES, now);
        Ok(())
    }
}

/// For each key, the time until which its failures so far count.
#[derive(Debug)]
struct Buckets<K>(HashMap<K, Duration>);

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Key + Eq + Copy> Buckets<K> {
    fn is_full(&self, key: K, rate: Rate, now: Duration) -> bool {
        let until = self.0.get(&key).copied().unwrap_or_default();
        until.saturating_sub(now) >= rate.every * rate.burst
    }

    fn add(&mut self, key: K, rate: Rate, now: Duration) {
        self.make_room(now);
        let until = self.0.entry(key).or_default();
        *until = (*until).max(now) + rate.every;
    }

    fn take_back(&mut self, key: K, rate: Rate) {
        if let Some(until) = self.0.get_mut(&key) {
            *until = until.saturating_sub(rate.every);
        }
    }

    /// Forgets half of the entries at once, so that a flood causes a search through all of them
    /// only once in thousands of entries.
    fn make_room(&mut self, now: Duration) {
        if self.0.len() < MAX_REMEMBERED {
            return;
        }
        let mut all: Vec<Duration> = self.0.values().copied().collect();
        let (_, middle, _) = all.select_nth_unstable(MAX_REMEMBERED / 2);
        let kept_after = now.max(*middle);
        self.0.retain(|_, until| *until > kept_after);
    }
}

pub(crate) fn too_many() -> Fault {
    Fault::new(ErrorCode::RateLimited, "too many failed attempts")
        .with_hint("Wait a minute, then try again, or sign in by a link, a token or a pairing.")
}

#[cfg(test)]
mod tests {
    use onyx_test_support::ManualClock;

    use super::*;

    #[test]
    fn however_many_names_and_networks_guess_only_so_many_are_remembered() {
        let (mut limiter, clock) = (Limiter::default(), ManualClock::new());
        let from = |number: usize| IpAddr::from(u32::try_from(number << 8).unwrap().to_be_bytes());
        let held = Guess::new("anna", from(0));
        for _ in 0..10 {
            assert_eq!(limiter.guess(held, &clock), Ok(Admission::Free));
        }
        for number in 1..3 * MAX_REMEMBERED {
            clock.advance(Duration::from_micros(1));
            let guess = Guess::new(&format!("name {number}"), from(number));
            assert_eq!(limiter.guess(guess, &clock), Ok(Admission::Free));
            let _ = limiter.failed(from(number), &clock);
            let _ = limiter.pairing(from(number), &clock);
        }
        let sizes = [
            limiter.names_from_networks.0.len(),
            limiter.names.0.len(),
            limiter.networks.0.len(),
            limiter.pairings.0.len(),
            limiter.failures.0.len(),
        ];
        assert!(sizes.into_iter().all(|size| size <= MAX_REMEMBERED), "{sizes:?}");
        assert!(limiter.known.is_empty());
        // The largest count is kept rather than smaller ones: time has passed, so there is room for
        // exactly one more guess.
        assert_eq!(limiter.guess(held, &clock), Ok(Admission::Free));
        assert_eq!(limiter.guess(held, &clock), Err(too_many()));
    }
}
