//! The era of a request. A request without a handshake names its era in its body and repeats it in
//! its headers, so that proxies can route by headers alone.

use serde_json::{Value, json};

use super::message::{HEADER_MISMATCH, INVALID_PARAMS, Refusal, UNSUPPORTED_VERSION};
use crate::wire::{HANDSHAKE, OLDER, STATELESS};

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The values of the headers that the protocol defines.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    pub(super) version: Option<String>,
    method: Option<String>,
    name: Option<String>,
    pub(super) session: Option<String>,
    /// Whether the client reads server-sent events.
    pub(super) takes_events: bool,
}

impl Headers {
    pub fn read<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Self {
        let own = |name: &str| header(name).map(str::to_owned);
        Self {
            version: own("mcp-protocol-version"),
            method: own("mcp-method"),
            name: own("mcp-name"),
            session: own("mcp-session-id"),
            takes_events: header("accept").is_some_and(|kinds| kinds.contains("text/event-stream")),
        }
    }
}

/// The era that the caller speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Handshake,
    Stateless,
}

pub(super) fn of(headers: &Headers, method: &str, params: &Value) -> Result<Era, Refusal> {
    let header = headers.version.as_deref();
    let meta = &params["_meta"];
    let Some(named) = meta[META_VERSION].as_str() else {
        return match header {
            Some(STATELESS) => {
                Err(Refusal::new(INVALID_PARAMS, format!("_meta must name {META_VERSION}")))
            }
            Some(other) if !is_handshake(other) => Err(unsupported(other, &all_versions())),
            Some(_) | None => Ok(Era::Handshake),
        };
    };
    let name = params["name"].as_str().or_else(|| params["uri"].as_str());
    let fits = |header: Option<&str>, body: Option<&str>| header.is_none() || header == body;
    if !fits(header, Some(named))
        || !fits(headers.method.as_deref(), Some(method))
        || !fits(headers.name.as_deref(), name)
    {
        let message = "the headers say something else than the body";
        return Err(Refusal::new(HEADER_MISMATCH, message));
    }
    if named != STATELESS {
        return Err(unsupported(named, &[STATELESS]));
    }
    if !meta[META_CAPABILITIES].is_object() {
        return Err(Refusal::new(INVALID_PARAMS, format!("_meta must name {META_CAPABILITIES}")));
    }
    Ok(Era::Stateless)
}

/// The capabilities of the client of a request without a handshake.
pub(super) fn capabilities(params: &Value) -> Value {
    params["_meta"][META_CAPABILITIES].clone()
}

fn is_handshake(version: &str) -> bool {
    version == HANDSHAKE || OLDER.contains(&version)
}

/// The version for a handshake: the one that the client asks for, if it is supported.
pub(super) fn negotiated(params: &Value) -> &str {
    let requested = params["protocolVersion"].as_str();
    requested.filter(|version| is_handshake(version)).unwrap_or(HANDSHAKE)
}

fn all_versions() -> Vec<&'static str> {
    [STATELESS, HANDSHAKE].into_iter().chain(OLDER).collect()
}

fn unsupported(version: &str, supported: &[&str]) -> Refusal {
    let shown: String = version.chars().take(40).collect();
    let message = format!("the version {shown:?} is not spoken here");
    Refusal::new(UNSUPPORTED_VERSION, message)
        .with(json!({"supported": supported, "requested": shown}))
}
