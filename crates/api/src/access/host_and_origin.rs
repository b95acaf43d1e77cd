//! Checks Host and Origin of every request before anything else. A page of a foreign site must not
//! reach this server through a browser on the same machine, even with a host name that resolves to
//! this machine.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use onyx_types::{ErrorCode, Fault};

use super::cors;
use super::front::{Front, Scheme};
use crate::serve::RequestSender;
use crate::{ApiState, Problem};

pub(crate) async fn check_host_and_origin(
    state: &ApiState,
    mut request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let at = match request.extensions().get::<RequestSender>() {
        // No browser uses the home's socket, and its requests have no meaningful Host.
        Some(RequestSender::LocalUser) => {
            request.extensions_mut().insert(Scheme::Http);
            return next(request).await;
        }
        Some(RequestSender::Network { at, .. }) => Some(at.ip().to_canonical()),
        None => None,
    };
    let front = state.auth.front();
    let guest = guest(&front, request.headers()).or_else(|| widget_guest(state, &request));
    let is_guest = guest.is_some();
    let mut response = match verify(request.uri(), request.headers(), at, &front, is_guest) {
        Ok(()) if guest.is_some() && cors::is_preflight(&request) => cors::preflight(&request),
        Ok(()) => {
            if guest.is_some() {
                // A page of another site must use a token; the browser's cookie is not its own.
                request.headers_mut().remove(header::COOKIE);
            }
            know_the_client(&front, &mut request);
            next(request).await
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(origin) = guest {
        cors::open(&mut response, origin);
    }
    // A browser must not guess another content type than the declared one.
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    // A browser must not resolve host names ahead that stand in text which a model wrote.
    let off = HeaderValue::from_static("off");
    response.headers_mut().insert(header::X_DNS_PREFETCH_CONTROL, off);
    response
}

/// The Origin of another site whose pages are allowed.
fn guest(front: &Front, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    front.is_open_to(origin.to_str().ok()?).then(|| origin.clone())
}

/// The site whose page shows a widget, on the paths of that widget only.
fn widget_guest(state: &ApiState, request: &Request) -> Option<HeaderValue> {
    let origin = request.headers().get(header::ORIGIN)?;
    let mut pieces = request.uri().path().strip_prefix("/widget/")?.split('/');
    let (account, "messages", None) = (pieces.next()?, pieces.next()?, pieces.next()) else {
        return None;
    };
    let is_shown = state.connectors.shows_widget(account, origin.to_str().ok()?);
    is_shown.then(|| origin.clone())
}

/// Replaces the sender and the scheme by those that a trusted proxy reports.
fn know_the_client(front: &Front, request: &mut Request) {
    let sender = request.extensions().get::<RequestSender>();
    let host = host_of(request.uri(), request.headers());
    let scheme = front.scheme(sender, host, request.headers());
    let client = sender.and_then(|sender| front.client(sender, request.headers()));
    request.extensions_mut().insert(scheme);
    if let Some(client) = client {
        request.extensions_mut().insert(client);
    }
}

fn verify(
    uri: &Uri,
    headers: &HeaderMap,
    at: Option<IpAddr>,
    front: &Front,
    is_guest: bool,
) -> Result<(), Problem> {
    let known = |host: &&str| {
        name_of(host).is_some_and(|name| {
            // A page cannot choose the connection's address, so a Host that names it is accepted.
            is_this_machine(&name)
                || name.parse().is_ok_and(|named: IpAddr| Some(named.to_canonical()) == at)
                || front.hosts().contains(&name)
        })
    };
    let Some(host) = host_of(uri, headers).filter(known) else {
        let hint = "Open Onyx as http://127.0.0.1:<port>, or add the name to `gateway.hosts`.";
        return Err(refused("Host", "does not name this machine", hint));
    };
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => Ok(()),
        (Some(origin), None) if is_same_origin(origin.as_bytes(), host) => Ok(()),
        (Some(_), None) if is_guest => Ok(()),
        _ => {
            let hint =
                "To let pages of that site in with a token, add it to `gateway.cors.origins`.";
            Err(refused("Origin", "is another site than this server's own", hint))
        }
    }
}

/// Runs the check alone, for a server on this machine without a proxy in front of it.
pub fn check_local(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    verify(uri, headers, None, &Front::default(), false)
}

/// Whether a program on this machine calls directly, without a proxy. Such a program already knows
/// what this machine's user knows.
pub(crate) fn is_on_this_machine(
    sender: Option<&RequestSender>,
    uri: &Uri,
    headers: &HeaderMap,
) -> bool {
    let loopback = matches!(sender, Some(RequestSender::Network { from, at })
        if from.ip().to_canonical().is_loopback() && at.ip().to_canonical().is_loopback());
    let host = host_of(uri, headers).and_then(name_of);
    loopback
        && host.is_some_and(|name| is_this_machine(&name))
        && !headers.keys().any(|name| is_forwarding(name.as_str()))
}

/// Headers with which proxies name the client.
fn is_forwarding(header: &str) -> bool {
    const NAMES: &[&str] = &[
        "forwarded",
        "via",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-original-host",
        "x-original-forwarded-for",
        "true-client-ip",
        "cf-connecting-ip",
        "cf-ray",
        "fastly-client-ip",
        "x-envoy-external-address",
        "tailscale-user-login",
    ];
    header.starts_with("x-forwarded") || NAMES.contains(&header)
}

fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next(), uri.authority()) {
        (Some(host), None, _) => host.to_str().ok(),
        (None, None, Some(authority)) => Some(authority.as_str()),
        _ => None,
    }
}

fn is_same_origin(origin: &[u8], host: &str) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    matches!(scheme, "http" | "https") && authority.eq_ignore_ascii_case(host)
}

/// The name or address of a Host, in lower case, without its port.
fn name_of(host: &str) -> Option<String> {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if is_port(port) => name,
            _ => return None,
        },
        None => match host.find(':') {
            Some(at) if is_port(&host[at..]) => &host[..at],
            Some(_) => return None,
            None => host,
        },
    };
    Some(name.to_ascii_lowercase())
}

/// `localhost`, a name under it, or a loopback address.
fn is_this_machine(name: &str) -> bool {
    name == "localhost"
        || name.strip_suffix(".localhost").is_some_and(|label| !label.is_empty())
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

fn refused(header: &str, why: &str, hint: &str) -> Problem {
    Fault::new(ErrorCode::Forbidden, format!("the `{header}` header {why}")).with_hint(hint).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_this_machine(host: &str) -> bool {
        name_of(host).is_some_and(|name| is_this_machine(&name))
    }

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
            assert!(names_this_machine(host), "{host}");
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
            assert!(!names_this_machine(host), "{host}");
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
