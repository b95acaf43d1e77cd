//! The addresses that a repository is pulled from and pushed to. An address comes from the
//! repository's own settings, which anyone may have written. Therefore only https and ssh are
//! allowed, and a credential is sent only to the host for which the owner named it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use onyx_egress::{Address, HostPort, PrivateHosts, is_public};
use onyx_types::Fault;
use serde::Deserialize;

use super::config::GitConfig;
use crate::runtime::Network;
use crate::{ToolError, ToolsSettings};

/// The `tools.git` section of the config as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GitSettings {
    /// A secret by host, or host and port: `secret:<name>`. For https the secret is `user:password`
    /// (a token in the place of the password), for ssh a private key.
    pub credentials: BTreeMap<String, String>,
    /// Lines as in ssh's `known_hosts`. Other ssh hosts are refused.
    pub known_hosts: Vec<String>,
}

/// Opens the secret that `secret:<name>` refers to; `None` if there is none.
pub type OpenSecret = Arc<dyn Fn(&str) -> Result<Option<String>, Fault> + Send + Sync>;

/// A setting in `tools.git` that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tools.git.{0}")]
pub struct BadGitSettings(String);

impl GitSettings {
    /// Checks the settings before they take effect.
    pub fn check(&self) -> Result<(), BadGitSettings> {
        for (host, reference) in &self.credentials {
            if reference.strip_prefix(SECRET).is_none_or(str::is_empty) {
                let why = format!("credentials.{host}: must be secret:<name>, from onyx secrets");
                return Err(BadGitSettings(why));
            }
        }
        let broken = |line: &&String| line.contains(['\n', '\r', '\0']);
        match self.known_hosts.iter().find(broken) {
            Some(_) => Err(BadGitSettings("knownHosts: each is one line".to_owned())),
            None => Ok(()),
        }
    }
}

const SECRET: &str = "secret:";

/// The settings for remotes. An edit of the config replaces them.
#[derive(Clone)]
pub struct GitRemotes {
    settings: Arc<RwLock<Settings>>,
    open: OpenSecret,
}

#[derive(Clone, Debug, Default)]
struct Settings {
    git: GitSettings,
    private: PrivateHosts,
}

impl GitRemotes {
    pub fn new(settings: &ToolsSettings, open: OpenSecret) -> Result<Self, BadGitSettings> {
        let remotes = Self { settings: Arc::default(), open };
        remotes.follow(settings)?;
        Ok(remotes)
    }

    /// Replaces the settings after an edit of the config. If they are invalid, nothing changes.
    pub fn follow(&self, settings: &ToolsSettings) -> Result<(), BadGitSettings> {
        settings.git.check()?;
        let private = settings.web.allow_private_hosts.clone();
        let resolved = Settings { git: settings.git.clone(), private };
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = resolved;
        Ok(())
    }

    /// The address of a remote, of which there must be exactly one.
    pub(super) fn address(
        &self,
        config: &GitConfig,
        remote: &str,
        direction: Direction,
    ) -> Result<RemoteAddress, ToolError> {
        let urls = |name: &str| config.all("remote", Some(remote), name);
        let urls = match (direction, urls("pushurl")) {
            (Direction::Push, own) if !own.is_empty() => own,
            (Direction::Push | Direction::Pull, _) => urls("url"),
        };
        match urls.as_slice() {
            [] => Err(ToolError::NotFound(format!("remote {remote} in this repository"))),
            [url] => self.allowed(RemoteAddress::parse(url).map_err(ToolError::Refused)?),
            [_, _, ..] => {
                Err(ToolError::Refused(format!("the remote {remote} has several addresses")))
            }
        }
    }

    /// The address of a web server that a person wrote.
    pub(super) fn web_address(&self, text: &str) -> Result<RemoteAddress, ToolError> {
        let address = RemoteAddress::parse(text).map_err(ToolError::Arguments)?;
        match address.scheme {
            Scheme::Https | Scheme::Http => self.allowed(address),
            Scheme::Ssh => {
                let message = "only https addresses can be brought along".to_owned();
                Err(ToolError::Arguments(message))
            }
        }
    }

    fn allowed(&self, address: RemoteAddress) -> Result<RemoteAddress, ToolError> {
        let settings = self.settings();
        let (host, exact) = (&address.host, address.host_and_port());
        let is_private = settings.private.iter().map(ToString::to_string);
        let is_private = is_private.into_iter().any(|known| known == *host || known == exact);
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_inside = literal.map_or_else(
            |_| host == "localhost" || host.ends_with(".localhost"),
            |literal| !is_public(literal),
        );
        if address.scheme == Scheme::Http && !is_private {
            return Err(ToolError::Refused(format!("{address} is not https")));
        }
        if is_inside && !is_private {
            let why =
                format!("{exact} is not on the internet; tools.web.allowPrivateHosts may name it");
            return Err(ToolError::Refused(why));
        }
        Ok(address)
    }

    /// The secret for exactly this host, if the owner named one.
    pub(super) fn credential(&self, address: &RemoteAddress) -> Result<Option<String>, ToolError> {
        let settings = self.settings();
        let credentials = &settings.git.credentials;
        let of_host = || credentials.get(&address.host).filter(|_| address.has_usual_port());
        let Some(reference) = credentials.get(&address.host_and_port()).or_else(of_host) else {
            return Ok(None);
        };
        let name = reference.strip_prefix(SECRET).unwrap_or(reference);
        match (self.open)(name) {
            Ok(Some(secret)) => Ok(Some(secret)),
            Ok(None) => Err(ToolError::Failed(format!(
                "tools.git.credentials names the secret {name}, which is not in the store"
            ))),
            Err(fault) => Err(ToolError::Failed(fault.message)),
        }
    }

    pub(super) fn known_hosts(&self) -> Vec<String> {
        self.settings().git.known_hosts
    }

    fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Pull,
    Push,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Https,
    /// Plain HTTP, which is used only for hosts that the owner named.
    Http,
    Ssh,
}

/// A checked address with its one host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemoteAddress {
    pub(super) scheme: Scheme,
    pub(super) host: String,
    pub(super) port: u16,
    /// The URL that git gets and people are shown.
    url: String,
}

impl RemoteAddress {
    fn parse(text: &str) -> Result<Self, String> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err("the remote's address holds blanks or control characters".to_owned());
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return Self::web(text);
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            let (place, path) = rest.split_once('/').ok_or("the remote's address has no path")?;
            let (place, port) = match place.rsplit_once(':') {
                Some((place, port)) => (place, port.parse().map_err(|_| "no port".to_owned())?),
                None => (place, Scheme::Ssh.usual_port()),
            };
            return Self::ssh(text, place, port, path);
        }
        let (place, path) = text.split_once(':').unwrap_or((text, ""));
        if place.contains('/') || path.is_empty() || path.starts_with(':') || path.contains("//") {
            return Err(format!(
                "{text:?} is not an https or ssh address; no other kind is allowed"
            ));
        }
        Self::ssh(text, place, Scheme::Ssh.usual_port(), path)
    }

    fn web(text: &str) -> Result<Self, String> {
        let address: Address = text.parse().map_err(|error: onyx_egress::EgressError| {
            format!("the remote's address: {error}; tools.git.credentials is the place for them")
        })?;
        let (_, rest) = text.split_once("://").unwrap_or_default();
        if rest.starts_with(['/', '\\']) {
            return Err(format!("{text:?} names no host"));
        }
        if text.contains(['?', '#']) {
            return Err(format!("{} holds a query", address.host()));
        }
        let scheme = if text.starts_with("https://") { Scheme::Https } else { Scheme::Http };
        let (host, port) = (address.host().to_owned(), address.port());
        Ok(Self { scheme, host, port, url: address.to_string() })
    }

    /// `place` is `host` or `user@host`.
    fn ssh(url: &str, place: &str, port: u16, path: &str) -> Result<Self, String> {
        let (user, host) = match place.split_once('@') {
            Some((user, host)) => (user, host),
            None => ("git", place),
        };
        let is_plain = |word: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !word.is_empty() && !word.starts_with(['-', '.']) && word.chars().all(known)
        };
        let in_path = |c: char| c.is_ascii_alphanumeric() || "-_./~+@".contains(c);
        if !is_plain(user) || !is_plain(host) || path.starts_with('-') || !path.chars().all(in_path)
        {
            return Err(format!("{url:?} is not a plain https or ssh address"));
        }
        let host = host.to_lowercase();
        Ok(Self { scheme: Scheme::Ssh, host, port, url: url.to_owned() })
    }

    pub(super) fn host_and_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.url
    }

    /// Scheme, host and port, for settings that apply to this server only.
    pub(super) fn server(&self) -> String {
        format!("{}://{}/", self.scheme.name(), self.host_and_port())
    }

    fn has_usual_port(&self) -> bool {
        self.port == self.scheme.usual_port()
    }

    /// The network of a command that works with this remote: its server only, through our proxy.
    pub(super) fn network(&self) -> Result<Network, ToolError> {
        let server: HostPort = self
            .host_and_port()
            .parse()
            .map_err(|error| ToolError::Refused(format!("the remote's address: {error}")))?;
        Ok(Network::Servers(vec![server]))
    }
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl Scheme {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
        }
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
            Self::Ssh => 22,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_host_and_port() {
        let of = |text: &str| {
            let address = RemoteAddress::parse(text).unwrap();
            (address.scheme, address.host_and_port())
        };
        assert_eq!(of("https://Ex.org/a/b.git"), (Scheme::Https, "ex.org:443".to_owned()));
        assert_eq!(of("https://ex.org:8443/a"), (Scheme::Https, "ex.org:8443".to_owned()));
        assert_eq!(of("git@Ex.org:a/b.git"), (Scheme::Ssh, "ex.org:22".to_owned()));
        assert_eq!(of("ssh://me@ex.org:2222/~/b"), (Scheme::Ssh, "ex.org:2222".to_owned()));
        assert_eq!(of("http://127.0.0.1:9/x"), (Scheme::Http, "127.0.0.1:9".to_owned()));
    }

    #[test]
    fn nothing_but_plain_https_and_ssh_is_an_address() {
        for text in [
            "",
            ".",
            "/etc",
            "../x",
            "C:\\x",
            "file:///etc",
            "ext::sh -c x",
            "fd::3",
            "foo::https://ex.org/x",
            "git://ex.org/x",
            "ftp://ex.org/x",
            "https://a:b@ex.org/x",
            "https://ex.org/x?a=b",
            "https:///x",
            "ssh://-oProxyCommand=x/y",
            "ssh://ex.org:x/y",
            "ssh://ex.org",
            "-oProxyCommand=x:y",
            "a@-b:c",
            "ex.org:-x",
            "ex.org:a b",
            "ex.org:a'b",
            "ex.org:$(x)",
            "https://ex.org/a\nb",
        ] {
            assert!(RemoteAddress::parse(text).is_err(), "{text:?}");
        }
    }
}
