//! Which addresses a run may fetch without asking: those that the person wrote, that a search
//! returned, or that stand word for word in a page it fetched. An address that a model made up
//! could carry anything out in its query, so it is not among them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onyx_egress::Address;

/// Free fetches of one run.
const FREE_FETCHES: usize = 20;

/// More than this many are not remembered: a page of links is no reason to grow without end.
const MOST_ADDRESSES: usize = 5_000;

/// What ends an address in running text.
const DELIMITERS: &[char] = &['<', '>', '"', '`', '|', '\\', '^', '{', '}', '\u{a0}'];

/// What stands after an address rather than in it.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '!', '?', '\'', '*', '_', ']'];

/// Shared by everything that works for one run.
#[derive(Debug, Default)]
pub struct Addresses(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    given: BTreeSet<Address>,
    used: usize,
}

impl Addresses {
    /// The person's own words: also `example.org/page`, as people write it.
    pub fn person_wrote(&self, text: &str) {
        self.remember(written_in(text));
        // Most words hold none, and a run looks through all that was said before it.
        if memchr::memchr(b'.', text.as_bytes()).is_none() {
            return;
        }
        let bare = text.split_whitespace().filter_map(bare_address);
        self.remember(bare.flat_map(|bare| {
            ["https", "http"].map(|scheme| format!("{scheme}://{bare}")).into_iter()
        }));
    }

    /// The text of a page, as the model was shown it.
    pub fn page_says(&self, text: &str) {
        self.remember(written_in(text));
    }

    pub fn search_found<'a>(&self, addresses: impl IntoIterator<Item = &'a str>) {
        self.remember(addresses.into_iter().map(str::to_owned));
    }

    /// Given, and the run has free fetches left.
    pub fn is_free(&self, address: &Address) -> bool {
        let known = self.known();
        known.used < FREE_FETCHES && known.given.contains(address)
    }

    /// Uses up one free fetch; `false` when there is none for this address.
    pub fn take(&self, address: &Address) -> bool {
        let mut known = self.known();
        let is_free = known.used < FREE_FETCHES && known.given.contains(address);
        known.used += usize::from(is_free);
        is_free
    }

    fn remember(&self, addresses: impl IntoIterator<Item = String>) {
        let mut known = self.known();
        for address in addresses {
            if known.given.len() >= MOST_ADDRESSES {
                return;
            }
            // What is no address cannot be fetched, so nobody misses it.
            if let Ok(address) = address.parse() {
                known.given.insert(address);
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every address with its scheme that stands in a text.
fn written_in(text: &str) -> impl Iterator<Item = String> {
    let colons = memchr::memchr_iter(b':', text.as_bytes());
    let starts = colons.filter_map(|colon| {
        let (before, after) = text.as_bytes().split_at(colon);
        let scheme = ["https", "http"].into_iter().find(|scheme| {
            let word = before.len().checked_sub(scheme.len()).map(|start| &before[start..]);
            word.is_some_and(|word| word.eq_ignore_ascii_case(scheme.as_bytes()))
        })?;
        after.starts_with(b"://").then(|| colon - scheme.len())
    });
    starts.map(|at| first_address(&text[at..]).to_owned())
}

/// The address at the start of a text: up to white space or a bracket that it did not open.
fn first_address(text: &str) -> &str {
    let mut open = 0_usize;
    let end = text.char_indices().find(|(_, c)| match c {
        '(' => {
            open += 1;
            false
        }
        ')' if open == 0 => true,
        ')' => {
            open -= 1;
            false
        }
        c => c.is_whitespace() || c.is_control() || DELIMITERS.contains(c),
    });
    text[..end.map_or(text.len(), |(at, _)| at)].trim_end_matches(PUNCTUATION)
}

/// A word such as `example.org/page`; not a number, a file name of one part or a mail address.
fn bare_address(word: &str) -> Option<&str> {
    let word = first_address(word.trim_start_matches(['(', '[', '"', '\'', '*', '_']));
    let host = word.split(['/', '?', '#']).next()?;
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let (_, last) = name.rsplit_once('.')?;
    let is_name = last.len() >= 2 && last.chars().all(char::is_alphabetic);
    (is_name && !word.contains("://") && !host.contains('@')).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_free(addresses: &Addresses, address: &str) -> bool {
        addresses.is_free(&address.parse().unwrap())
    }

    #[test]
    fn what_the_person_wrote_is_free_to_the_letter() {
        let addresses = Addresses::default();
        addresses.person_wrote(
            "Read https://example.org/a?b=1, (http://Wiki.test/X_(y)) and docs.rs/serde. \
             Mail ada@example.net, see 3.14 and [this](https://md.test/p).",
        );
        for address in [
            "https://example.org/a?b=1",
            "https://example.org/a?b=1#part",
            "http://wiki.test/X_(y)",
            "https://docs.rs/serde",
            "http://docs.rs/serde",
            "https://md.test/p",
        ] {
            assert!(is_free(&addresses, address), "{address}");
        }
        for address in [
            "https://example.org/",
            "https://example.org/a",
            "https://example.org/a?b=2",
            "https://example.org/a?b=1&c=2",
            "https://evil.example.org/a?b=1",
            "https://example.net/",
            "https://docs.rs/",
        ] {
            assert!(!is_free(&addresses, address), "{address}");
        }
    }

    #[test]
    fn a_page_gives_only_whole_addresses() {
        let addresses = Addresses::default();
        addresses.page_says("see example.org/x or <https://a.test/b>; HTTPS://A.test/C!");
        assert!(is_free(&addresses, "https://a.test/b"));
        assert!(is_free(&addresses, "https://a.test/C"));
        assert!(!is_free(&addresses, "https://example.org/x"));
    }

    #[test]
    fn twenty_fetches_are_free() {
        let addresses = Addresses::default();
        addresses.search_found(["https://a.test/", "not an address"]);
        let address = "https://a.test/".parse().unwrap();
        let taken = (0..30).filter(|_| addresses.take(&address)).count();
        assert_eq!((taken, addresses.is_free(&address)), (20, false));
        assert!(!addresses.take(&"https://b.test/".parse().unwrap()));
    }

    #[test]
    fn a_page_of_links_is_remembered_up_to_a_bound() {
        let addresses = Addresses::default();
        let page: String = (0..6_000).map(|n| format!("https://a.test/{n}\n")).collect();
        addresses.page_says(&page);
        assert_eq!(addresses.known().given.len(), MOST_ADDRESSES);
    }
}
