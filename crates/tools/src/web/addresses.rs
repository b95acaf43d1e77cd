//! The addresses that a run may fetch without approval: those that the person wrote, that a search
//! returned, or that a fetched page holds word for word. An address that a model made up could
//! carry anything out in its query, so it is not among them.
//!
//! The choice among these addresses also tells their owner something. So only a few addresses that
//! the person did not write are free: a page gives only its first links, a site gets few fetches,
//! few links of pages are followed, and all runs that one message starts share one budget.
//! THREAT_MODEL.md says how much can still leak.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_egress::Address;

/// How many fetches are free for a run and all runs that it asks for.
const FREE_FETCHES: usize = 20;

/// How many of these may be links in pages.
const FREE_LINKS: usize = 6;

/// How many of these may go to one site, if the person did not write the address.
const FREE_OF_SITE: usize = 3;

/// How many links of one page are taken.
const LINKS_OF_PAGE: usize = 10;

/// How many addresses are remembered, so that a long conversation does not grow without limit.
const MOST_ADDRESSES: usize = 5_000;

/// Characters that end an address in running text.
const DELIMITERS: &[char] = &['<', '>', '"', '`', '|', '\\', '^', '{', '}', '\u{a0}'];

/// Characters that follow an address rather than belong to it.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '!', '?', '\'', '*', '_', ']'];

/// The known addresses of a run. All its lanes share them.
#[derive(Debug, Default)]
pub struct Addresses {
    given: Mutex<BTreeMap<Address, AddressSource>>,
    budget: Arc<FetchBudget>,
}

/// The source of an address. If there are several, the best one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AddressSource {
    Page,
    Search,
    Person,
}

/// The free fetches that are left to a run and all runs that it asks for.
#[derive(Debug, Default)]
pub struct FetchBudget(Mutex<AddressCounts>);

#[derive(Debug, Default)]
struct AddressCounts {
    all: usize,
    links: usize,
    of_site: BTreeMap<String, usize>,
}

impl AddressCounts {
    fn admits(&self, address: &Address, source: AddressSource) -> bool {
        let of_site = self.of_site.get(&site(address)).copied().unwrap_or_default();
        let is_within = match source {
            AddressSource::Person => true,
            AddressSource::Search => of_site < FREE_OF_SITE,
            AddressSource::Page => of_site < FREE_OF_SITE && self.links < FREE_LINKS,
        };
        is_within && self.all < FREE_FETCHES
    }

    fn count(&mut self, address: &Address, source: AddressSource) {
        self.all += 1;
        self.links += usize::from(source == AddressSource::Page);
        if source != AddressSource::Person {
            *self.of_site.entry(site(address)).or_default() += 1;
        }
    }
}

impl FetchBudget {
    fn used(&self) -> MutexGuard<'_, AddressCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last labels of the host, with its port. The owner of a domain controls all names below it.
fn site(address: &Address) -> String {
    let text = address.to_string();
    let host = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default().to_lowercase();
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
    let labels: Vec<&str> = name.trim_end_matches('.').split('.').collect();
    let is_number = name.starts_with('[') || labels.iter().all(|label| label.parse::<u8>().is_ok());
    // Under `co.uk` and the like everybody can have a name of their own, so one label more is kept.
    let is_shared = labels.len() > 2 && labels[labels.len() - 2].len() <= 3;
    let kept = if is_shared { 3 } else { 2 };
    if is_number || labels.len() <= kept {
        return host;
    }
    labels[labels.len() - kept..].join(".")
}

impl Addresses {
    /// Makes the addresses of a run that shares the budget of the run that asked for it.
    pub fn sharing(budget: Arc<FetchBudget>) -> Self {
        Self { given: Mutex::default(), budget }
    }

    /// The budget, for runs that this run asks for.
    pub fn budget(&self) -> Arc<FetchBudget> {
        Arc::clone(&self.budget)
    }

    /// Adds addresses that the person wrote, including those without a scheme such as
    /// `example.org/page`.
    pub fn person_wrote(&self, text: &str) {
        self.remember(written_in(text), AddressSource::Person);
        // Most texts hold no address, and a run searches the whole conversation, so this test is
        // worth it.
        if memchr::memchr(b'.', text.as_bytes()).is_none() {
            return;
        }
        let bare = text.split_whitespace().filter_map(bare_address);
        let bare = bare.flat_map(|bare| {
            ["https", "http"].map(|scheme| format!("{scheme}://{bare}")).into_iter()
        });
        self.remember(bare, AddressSource::Person);
    }

    /// Adds the addresses in a page as the model was shown it.
    pub fn page_says(&self, text: &str) {
        let mut links = BTreeSet::new();
        let first = written_in(text).filter(|link| links.insert(link.clone()));
        let first: Vec<String> = first.take(LINKS_OF_PAGE).collect();
        self.remember(first, AddressSource::Page);
    }

    pub fn search_found<'a>(&self, addresses: impl IntoIterator<Item = &'a str>) {
        self.remember(addresses.into_iter().map(str::to_owned), AddressSource::Search);
    }

    /// Whether the address was given and there are free fetches left for it.
    pub fn is_free(&self, address: &Address) -> bool {
        let source = self.given().get(address).copied();
        source.is_some_and(|source| self.budget.used().admits(address, source))
    }

    /// Uses one free fetch; `false` if none is left for this address.
    pub fn take(&self, address: &Address) -> bool {
        let Some(source) = self.given().get(address).copied() else { return false };
        let mut used = self.budget.used();
        let is_free = used.admits(address, source);
        if is_free {
            used.count(address, source);
        }
        is_free
    }

    fn remember(&self, addresses: impl IntoIterator<Item = String>, source: AddressSource) {
        let mut given = self.given();
        for address in addresses {
            if given.len() >= MOST_ADDRESSES {
                return;
            }
            // A text that is not an address cannot be fetched, so it is skipped.
            if let Ok(address) = address.parse() {
                let known = given.entry(address).or_insert(source);
                *known = source.max(*known);
            }
        }
    }

    fn given(&self) -> MutexGuard<'_, BTreeMap<Address, AddressSource>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All addresses with a scheme in a text.
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

/// The address at the beginning of a text. It ends at white space or at a closing bracket that it
/// did not open.
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

/// The address in a word such as `example.org/page`; `None` for numbers, plain file names and mail
/// addresses.
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

    fn taken(addresses: &Addresses, all: impl IntoIterator<Item = String>) -> usize {
        all.into_iter().filter(|address| addresses.take(&address.parse().unwrap())).count()
    }

    #[test]
    fn twenty_fetches_are_free_and_what_the_person_wrote_of_any_site() {
        let addresses = Addresses::default();
        addresses.person_wrote("https://a.test/");
        assert_eq!(taken(&addresses, (0..30).map(|_| "https://a.test/".to_owned())), 20);
        assert!(!is_free(&addresses, "https://a.test/"));
        assert!(!addresses.take(&"https://b.test/".parse().unwrap()));
    }

    #[test]
    fn few_fetches_of_a_site_are_free_whatever_its_hosts_are_called() {
        let addresses = Addresses::default();
        let of = |host: &str| (0..8).map(|n| format!("https://{n}.{host}/{n}")).collect::<Vec<_>>();
        let hosts = ["evil.test", "a.bbc.co.uk", "b.guardian.co.uk"].map(of);
        addresses.search_found(hosts.iter().flatten().map(String::as_str));
        for host in hosts {
            assert_eq!(taken(&addresses, host), 3);
        }
        let numbers = Addresses::default();
        numbers.search_found(["http://10.0.0.1:80/", "http://10.0.0.1:81/"]);
        assert_ne!(
            site(&"http://10.0.0.1:8/".parse().unwrap()),
            site(&"http://10.0.0.1:9/".parse().unwrap())
        );
    }

    #[test]
    fn few_links_of_a_page_are_free_and_few_of_all_pages() {
        let addresses = Addresses::default();
        let page = |from: usize| -> Vec<String> {
            (from..from + 100).map(|n| format!("https://h{n}.test/")).collect()
        };
        for from in [0, 1_000] {
            addresses.page_says(&page(from).join(" "));
            let free = page(from).iter().filter(|link| is_free(&addresses, link)).count();
            assert_eq!(free, LINKS_OF_PAGE, "of the page at {from}");
        }
        assert_eq!(taken(&addresses, page(0).into_iter().chain(page(1_000))), FREE_LINKS);
    }

    #[test]
    fn who_is_asked_uses_up_the_fetches_of_who_asks() {
        let (asks, url) = (Addresses::default(), "https://a.test/".to_owned());
        let asked = Addresses::sharing(asks.budget());
        for run in [&asks, &asked] {
            run.search_found([url.as_str()]);
        }
        assert_eq!(taken(&asked, vec![url.clone(); 2]), 2);
        assert_eq!(taken(&asks, vec![url; 5]), 1);
    }

    #[test]
    fn a_long_conversation_is_remembered_up_to_a_bound() {
        let addresses = Addresses::default();
        let words: String = (0..6_000).map(|n| format!("https://a.test/{n}\n")).collect();
        addresses.person_wrote(&words);
        assert_eq!(addresses.given().len(), MOST_ADDRESSES);
    }
}
