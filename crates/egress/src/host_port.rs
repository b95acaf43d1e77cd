use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Address;
use crate::private::NotAHost;

/// A server by host and port, spelled as in addresses: `code.example:443`, `[fd00::1]:22`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// The server of an address.
    pub fn of(address: &Address) -> Self {
        Self { host: address.host().to_owned(), port: address.port() }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host as an IP address, if it is not a name.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        self.host.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }
}

impl FromStr for HostPort {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        let wrong = || NotAHost(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_number && *port != 0).ok_or_else(wrong)?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        if host.contains(['/', '?', '#', '@', '\\']) || (host.contains(':') && !is_bracketed) {
            return Err(wrong());
        }
        let address: Address = format!("https://{host}/").parse().map_err(|_| wrong())?;
        Ok(Self { host: address.host().to_owned(), port })
    }
}

impl TryFrom<String> for HostPort {
    type Error = NotAHost;

    fn try_from(text: String) -> Result<Self, NotAHost> {
        text.parse()
    }
}

impl From<HostPort> for String {
    fn from(place: HostPort) -> Self {
        place.to_string()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_host_and_a_port_in_one_spelling() {
        for (text, place) in [
            ("Code.Example:443", "code.example:443"),
            ("0x7f.1:22", "127.0.0.1:22"),
            ("[FD00:0::1]:22", "[fd00::1]:22"),
            ("münchen.example:80", "xn--mnchen-3ya.example:80"),
        ] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), place);
        }
        for text in [
            "",
            "host",
            "host:",
            ":22",
            "host:0",
            "host:65536",
            "host:+22",
            "a:b:22",
            "a:1:22",
            "u@h:22",
            "h/x:22",
            "h x:22",
            "fd00::1:22",
            "h?:22",
        ] {
            assert!(text.parse::<HostPort>().is_err(), "{text}");
        }
    }
}
