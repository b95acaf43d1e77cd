//! Which addresses are allowed: the form of a URL, and the ranges that do not belong to the
//! internet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use reqwest::Url;

use crate::EgressError;

/// The longest address that is accepted.
const LONGEST: usize = 8 * 1024;

/// A web address in one spelling: `http` or `https`, with a host, without credentials or fragment.
/// Hosts are read as browsers read them, so `http://0x7f.1` is `http://127.0.0.1/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(Url);

impl Address {
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Resolves a link on the page at this address.
    pub fn join(&self, link: &str) -> Result<Self, EgressError> {
        let url = self.0.join(link).map_err(|error| not_an_address(link, &error.to_string()))?;
        Self::of(url)
    }

    /// The address with the same host and path, and this query.
    #[must_use]
    pub fn asking(&self, pairs: &[(&str, &str)]) -> Self {
        let mut url = self.0.clone();
        url.query_pairs_mut().extend_pairs(pairs);
        Self(url)
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    fn of(mut url: Url) -> Result<Self, EgressError> {
        let refuse = |why: &str| Err(not_an_address(url.as_str(), why));
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("only http and https are allowed");
        }
        if !url.username().is_empty() || url.password().is_some() {
            let host = url.host_str().unwrap_or_default();
            let message = format!("the address of {host} holds credentials, which are not sent");
            return Err(EgressError::Address(message));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return refuse("it has no host");
        }
        url.set_fragment(None);
        Ok(Self(url))
    }
}

impl FromStr for Address {
    type Err = EgressError;

    fn from_str(text: &str) -> Result<Self, EgressError> {
        if text.len() > LONGEST {
            return Err(not_an_address(text, "it is longer than 8 KiB"));
        }
        let url = Url::parse(text).map_err(|error| not_an_address(text, &error.to_string()))?;
        Self::of(url)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn not_an_address(text: &str, why: &str) -> EgressError {
    let shown: String =
        text.split(['?', '#']).next().unwrap_or_default().chars().take(120).collect();
    EgressError::Address(format!("{shown:?} is not an address to fetch: {why}"))
}

/// Whether the address is public, by IANA's registries of special-purpose addresses. An IPv6
/// address that contains an IPv4 address is public if that one is.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    const SPECIAL: &[([u8; 4], u32)] = &[
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // This range covers multicast, reserved and broadcast addresses.
        ([224, 0, 0, 0], 3),
    ];
    let bits = address.to_bits();
    SPECIAL
        .iter()
        .all(|(base, length)| (bits ^ Ipv4Addr::from(*base).to_bits()) >> (32 - length) != 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    /// Special ranges within the global unicast range: protocol assignments including Teredo,
    /// documentation, 6to4.
    const SPECIAL: &[(u128, u32)] =
        &[(0x2001 << 112, 23), (0x2001_0db8 << 96, 32), (0x2002 << 112, 16), (0x3fff << 112, 20)];
    const NAT64: u128 = 0x0064_ff9b << 96;
    let bits = address.to_bits();
    let inner = || Ipv4Addr::from_bits((bits & 0xffff_ffff) as u32);
    if address.to_ipv4_mapped().is_some() || bits >> 32 == NAT64 >> 32 {
        return is_public_v4(inner());
    }
    bits >> 125 == 0b001
        && SPECIAL.iter().all(|(base, length)| (bits ^ base) >> (128 - length) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_range_is_known_by_its_first_and_last_address() {
        for address in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.255",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:53aa:64c::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff:ffff::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn neighbours_of_special_ranges_are_the_internet() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:200::1",
            "2001:db9::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2606:4700::1111",
            "3ffe::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_address_has_one_spelling_and_no_credentials() {
        let spelt = |text: &str| text.parse::<Address>().map(|address| address.to_string()).ok();
        assert_eq!(spelt("HTTP://Example.COM:80/a#b").as_deref(), Some("http://example.com/a"));
        assert_eq!(spelt("http://0x7f.1/").as_deref(), Some("http://127.0.0.1/"));
        assert_eq!(spelt("http://017700000001").as_deref(), Some("http://127.0.0.1/"));
        assert_eq!(spelt("http://2130706433").as_deref(), Some("http://127.0.0.1/"));
        assert_eq!(spelt("http://１２７.0.0.1").as_deref(), Some("http://127.0.0.1/"));
        for text in ["ftp://a/", "file:///etc/passwd", "http://a:b@c/", "http://a@c/", "", "x"] {
            assert_eq!(spelt(text), None, "{text}");
        }
        let told = "http://ada:hunter22@c/?q=hunter22".parse::<Address>().unwrap_err().to_string();
        assert!(!told.contains("hunter22"), "{told}");
    }
}
