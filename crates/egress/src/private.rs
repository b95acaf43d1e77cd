use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::{Address, HostPort};

/// A host outside the internet that the owner lets tools reach: `nas.lan`, `192.168.1.5:8080`,
/// `[fd00::1]:80`. Without a port, every port of the host is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateHost {
    /// The host as it is spelled in addresses.
    host: String,
    port: Option<u16>,
}

/// The hosts that tools may reach although they are not on the internet.
pub type PrivateHosts = Vec<PrivateHost>;

impl PrivateHost {
    /// Allows exactly the server of an address.
    pub fn of(address: &Address) -> Self {
        Self { host: address.host().to_owned(), port: Some(address.port()) }
    }

    pub(crate) fn covers(&self, server: &HostPort) -> bool {
        self.host == server.host() && self.port.is_none_or(|port| port == server.port())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host or host:port")]
pub struct NotAHost(pub(crate) String);

impl FromStr for PrivateHost {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        let wrong = || NotAHost(text.to_owned());
        if text.contains(['/', '?', '#', '@']) {
            return Err(wrong());
        }
        let address: Address = format!("http://{text}").parse().map_err(|_| wrong())?;
        // The spelling leaves out a port that the scheme implies, so the original text is checked
        // for one.
        let has_port = text.rsplit_once(':').is_some_and(|(_, end)| end.parse::<u16>().is_ok())
            && !text.ends_with(']');
        Ok(Self { host: address.host().to_owned(), port: has_port.then(|| address.port()) })
    }
}

impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

impl<'de> Deserialize<'de> for PrivateHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_covers_its_ports_and_nothing_else() {
        let covers = |rule: &str, address: &str| {
            let address: Address = address.parse().unwrap();
            rule.parse::<PrivateHost>().unwrap().covers(&HostPort::of(&address))
        };
        assert!(covers("nas.lan", "http://NAS.lan:8080/x"));
        assert!(covers("nas.lan:80", "http://nas.lan/x"));
        assert!(!covers("nas.lan:80", "https://nas.lan/x"));
        assert!(covers("[fd00::1]:80", "http://[fd00::1]/"));
        assert!(covers("[fd00::1]", "http://[fd00:0::1]:9/"));
        assert!(covers("127.0.0.1:9", "http://0x7f.1:9/"));
        assert!(!covers("nas.lan", "http://evil.nas.lan/"));
        assert!(!covers("nas.lan", "http://nas.lan.evil/"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "a/b", "u@h", "http://a", "a b", "h:99999"] {
            assert!(text.parse::<PrivateHost>().is_err(), "{text}");
        }
    }
}
