//! Host and Origin, checked before anything else on every route: a page of a stranger's site must
//! not reach this server through a browser on the same machine, whatever name it made point here.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use onyx_types::{ErrorCode, Fault};

use crate::Problem;
use crate::serve::Peer;

pub(crate) async fn check_host_and_origin(request: Request, next: Next) -> Response {
    // No browser speaks over the home's socket, and its requests have no meaningful Host.
    if request.extensions().get::<Peer>() == Some(&Peer::LocalUser) {
        return next.run(request).await;
    }
    match verify(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn verify(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next(), uri.authority()) {
        (Some(host), None, _) => host.to_str().ok(),
        (None, None, Some(authority)) => Some(authority.as_str()),
        _ => None,
    };
    let Some(host) = host.filter(|host| is_this_machine(host)) else {
        return Err(refused("Host", "names another machine than this one"));
    };
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => Ok(()),
        (Some(origin), None) if is_same_origin(origin.as_bytes(), host) => Ok(()),
        _ => Err(refused("Origin", "is another site than this server")),
    }
}

fn is_same_origin(origin: &[u8], host: &str) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    matches!(scheme, "http" | "https") && authority.eq_ignore_ascii_case(host)
}

/// `localhost`, a name under it, or a loopback address, with or without a port.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if is_port(port) => name,
            _ => return false,
        },
        None => match host.find(':') {
            Some(at) if is_port(&host[at..]) => &host[..at],
            Some(_) => return false,
            None => host,
        },
    };
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.strip_suffix(".localhost").is_some_and(|label| !label.is_empty())
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

fn refused(header: &str, why: &str) -> Problem {
    Fault::new(ErrorCode::Forbidden, format!("the `{header}` header {why}"))
        .with_hint("Open Onyx as http://127.0.0.1:<port> or http://localhost:<port>.")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_of_the_loopback_are_this_machine() {
        for host in [
            "localhost",
            "LOCALHOST:18790",
            "127.0.0.1",
            "127.8.9.1:80",
            "[::1]",
            "[::1]:18790",
            "a.localhost",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "evil.example:18790",
            "192.168.1.2",
            "0.0.0.0",
            "[::]",
            "[::1]x",
            "[::1",
            "::1:80:90",
            "localhost:port",
            "localhost:99999",
            ".localhost",
            "localhost.",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn an_origin_must_be_the_host_itself() {
        for (origin, same) in [
            ("http://localhost:18790", true),
            ("http://LOCALHOST:18790", true),
            ("http://localhost:3000", false),
            ("http://127.0.0.1:18790", false),
            ("https://evil.example", false),
            ("file://localhost:18790", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(is_same_origin(origin.as_bytes(), "localhost:18790"), same, "{origin}");
        }
    }
}
