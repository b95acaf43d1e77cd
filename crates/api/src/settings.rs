use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;

use onyx_identity::Token;
use onyx_types::{ErrorCode, Fault};
use serde::Deserialize;

use crate::access::Front;
use crate::serve::{ConnectionLimits, ConnectionSettings};

/// The port that Onyx listens on by default.
pub const DEFAULT_PORT: u16 = 18_790;

/// The default number of runs at a time: twice as many as two cores can stream well.
const DEFAULT_MAX_RUNS: usize = 4_096;

/// The `gateway` section of `onyx.json` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewaySettings {
    /// `loopback`, or an address.
    pub bind: Option<String>,
    pub port: Option<u16>,
    /// The most runs at a time; beyond it a request is answered with a time to retry.
    pub max_runs: Option<NonZeroUsize>,
    /// Host names beside those of the loopback, such as that of a reverse proxy.
    pub hosts: Vec<String>,
    /// The address that people type, such as `https://onyx.example.org`. Its name counts as one of
    /// `hosts`.
    pub public_url: Option<String>,
    /// Addresses of reverse proxies that are trusted to name the client.
    pub trusted_proxies: Vec<IpAddr>,
    /// Sites whose pages may call this server, with a token and never with a cookie.
    pub cors: CorsSettings,
    pub auth: AuthSettings,
    pub connections: ConnectionSettings,
    /// In server mode: the unique name of this gateway.
    pub id: Option<String>,
    /// In server mode: the address at which the other gateways reach this one, such as
    /// `http://10.0.0.5:18790`.
    pub advertise: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AuthSettings {
    pub mode: AuthMode,
    /// The owner's token; absent: the one in the home's token file.
    pub token: Option<Token>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CorsSettings {
    /// Each origin as a browser sends it, such as `https://app.example.org`.
    pub origins: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    #[default]
    Token,
}

/// Whether the owner has set a credential that protects the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// A password or a token was set.
    Guarded,
    Unguarded,
}

impl GatewaySettings {
    /// The address to listen on. Other machines are served only where the owner has set a
    /// credential: the token file alone was created automatically.
    pub fn address(&self, exposure: Exposure) -> Result<SocketAddr, Fault> {
        let address = match self.bind.as_deref() {
            None | Some("loopback" | "localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(text) => text.parse().map_err(|_| {
                bad_bind(format!("gateway.bind: {text:?} is neither `loopback` nor an IP address"))
            })?,
        };
        let guarded = exposure == Exposure::Guarded || self.auth.token.is_some();
        if !address.is_loopback() && !guarded {
            return Err(bad_bind(format!(
                "gateway.bind: {address} is not a loopback address, and no credential is set"
            )));
        }
        Ok(SocketAddr::new(address, self.port.unwrap_or(DEFAULT_PORT)))
    }

    pub fn front(&self) -> Result<Front, Fault> {
        let front = Front::new(&self.hosts, self.public_url.as_deref(), &self.trusted_proxies)?;
        front.open_to(&self.cors.origins)
    }

    pub fn max_runs(&self) -> usize {
        self.max_runs.map_or(DEFAULT_MAX_RUNS, NonZeroUsize::get)
    }

    /// The connection limits on a system that allows this many open files.
    pub fn connection_limits(&self, open_files: u64) -> Result<ConnectionLimits, Fault> {
        self.connections.limits(open_files)
    }

    /// The configured token, if there is one.
    pub fn token(&self) -> Result<Option<&Token>, Fault> {
        match &self.auth.token {
            Some(token) if token.as_str().trim().is_empty() => Err(Fault::new(
                ErrorCode::InvalidRequest,
                "gateway.auth.token: an empty token would let anyone in",
            )
            .with_hint("Set a token, or remove the key to use the token file.")),
            token => Ok(token.as_ref()),
        }
    }
}

fn bad_bind(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("Set `gateway.auth.token` or a password (`onyx people password owner`), or use `loopback` and an SSH tunnel.")
}
