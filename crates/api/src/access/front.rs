//! Settings about how browsers reach the server: its host names, the address that people type, and
//! the proxies that are trusted to report the client's address and scheme.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri};
use onyx_types::{ErrorCode, Fault};

use crate::serve::RequestSender;

/// `hosts`, `publicUrl` and `trustedProxies` of `gateway`, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Front {
    /// Host names of this server beside those of the loopback, in lower case.
    hosts: Vec<String>,
    /// Host and port of a public address that begins with `https://`, as browsers send them.
    https: Option<String>,
    trusted_proxies: Vec<IpAddr>,
    /// Other sites whose pages may call this server, in lower case.
    origins: Vec<String>,
    public_url: Option<String>,
}

/// The scheme by which the browser reached the server, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Front {
    pub fn new(
        hosts: &[String],
        public_url: Option<&str>,
        trusted_proxies: &[IpAddr],
    ) -> Result<Self, Fault> {
        let mut hosts: Vec<_> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let mut https = None;
        if let Some(url) = public_url {
            let (scheme, authority) = public_authority(url).ok_or_else(|| bad_public_url(url))?;
            hosts.push(authority.split(':').next().unwrap_or_default().to_owned());
            https =
                (scheme == Scheme::Https).then(|| authority.trim_end_matches(":443").to_owned());
        }
        let trusted_proxies = trusted_proxies.iter().map(IpAddr::to_canonical).collect();
        let public_url = public_url.map(|url| url.trim_end_matches('/').to_owned());
        Ok(Self { hosts, https, trusted_proxies, origins: Vec::new(), public_url })
    }

    /// Allows pages of these sites.
    pub fn open_to(mut self, origins: &[String]) -> Result<Self, Fault> {
        for (index, origin) in origins.iter().enumerate() {
            let origin = origin.trim_end_matches('/').to_ascii_lowercase();
            let authority = origin.split_once("://").filter(|(scheme, authority)| {
                matches!(*scheme, "http" | "https")
                    && !authority.is_empty()
                    && !authority.contains(['/', '*', '@', '?', '#', ' '])
            });
            if authority.is_none() {
                let why = format!("gateway.cors.origins[{index}]: `{origin}` is not an origin");
                return Err(Fault::new(ErrorCode::InvalidRequest, why).with_hint(
                    "Write each site as the browser names it: https://app.example.org",
                ));
            }
            self.origins.push(origin);
        }
        Ok(self)
    }

    /// The address at which people open the app from other machines.
    pub(crate) fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    /// Whether pages of this site are allowed.
    pub(crate) fn is_open_to(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The scheme by which the browser reached the server. A page's requests show it in their
    /// Origin; for requests without an Origin, such as an opened link, the public address or a
    /// trusted proxy shows it.
    pub(crate) fn scheme(
        &self,
        sender: Option<&RequestSender>,
        host: Option<&str>,
        headers: &HeaderMap,
    ) -> Scheme {
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let by_origin = value("origin").is_some_and(|origin| origin.starts_with("https://"));
        let by_proxy = self.trusts(sender) && value("x-forwarded-proto") == Some("https");
        let is_public = self.https.as_deref().is_some_and(|public| {
            host.is_some_and(|host| host.trim_end_matches(":443").eq_ignore_ascii_case(public))
        });
        if by_origin || by_proxy || is_public { Scheme::Https } else { Scheme::Http }
    }

    /// The client for which a trusted proxy forwards: the last address on its list that is not
    /// itself a trusted proxy.
    pub(crate) fn client(
        &self,
        sender: &RequestSender,
        headers: &HeaderMap,
    ) -> Option<RequestSender> {
        let RequestSender::Network { at, .. } = sender else { return None };
        if !self.trusts(Some(sender)) {
            return None;
        }
        let lines = headers.get_all("x-forwarded-for").iter();
        let lines: Vec<&str> = lines.filter_map(|value| value.to_str().ok()).collect();
        let mut forwarded = lines.iter().flat_map(|line| line.split(',')).rev().map(str::trim);
        let client = forwarded.find_map(|text| {
            let address = text.parse::<IpAddr>().ok()?.to_canonical();
            (!self.trusted_proxies.contains(&address)).then_some(address)
        })?;
        Some(RequestSender::Network { from: SocketAddr::new(client, 0), at: *at })
    }

    fn trusts(&self, sender: Option<&RequestSender>) -> bool {
        matches!(sender, Some(RequestSender::Network { from, .. })
            if self.trusted_proxies.contains(&from.ip().to_canonical()))
    }
}

fn public_authority(url: &str) -> Option<(Scheme, String)> {
    let (scheme, rest) = match url.split_once("://")? {
        ("https", rest) => (Scheme::Https, rest),
        ("http", rest) => (Scheme::Http, rest),
        _ => return None,
    };
    let uri: Uri = format!("http://{}", rest.trim_end_matches('/')).parse().ok()?;
    let authority = uri.authority()?.as_str();
    let plain = uri.path() == "/" && uri.query().is_none() && !authority.contains(['@', '[']);
    plain.then(|| (scheme, authority.to_ascii_lowercase()))
}

fn bad_public_url(url: &str) -> Fault {
    let message = format!("gateway.publicUrl: {url:?} is not `https://<name>` or `http://<name>`");
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("Name and port only, as people type it: https://onyx.example.org")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(from: &str) -> RequestSender {
        let socket = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 1);
        RequestSender::Network { from: socket(from), at: socket("127.0.0.1") }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_a_trusted_proxy_says_whom_it_speaks_for_and_how_it_was_asked() {
        let front = Front::new(&[], None, &["127.0.0.1".parse().unwrap()]).unwrap();
        let forwarded = headers(&[
            ("x-forwarded-for", "203.0.113.9, 198.51.100.4, 127.0.0.1"),
            ("x-forwarded-proto", "https"),
        ]);
        let client = |from: &str| match front.client(&network(from), &forwarded) {
            Some(RequestSender::Network { from, .. }) => Some(from.ip().to_string()),
            Some(RequestSender::LocalUser) | None => None,
        };
        assert_eq!(client("127.0.0.1").as_deref(), Some("198.51.100.4"));
        assert_eq!(client("127.0.0.2"), None);
        let scheme = |from: &str| front.scheme(Some(&network(from)), Some("localhost"), &forwarded);
        assert_eq!((scheme("127.0.0.1"), scheme("127.0.0.2")), (Scheme::Https, Scheme::Http));
    }

    #[test]
    fn a_public_address_is_a_name_and_says_its_scheme() {
        let front = |url| Front::new(&[], Some(url), &[]);
        for bad in
            ["", "onyx.example", "ftp://onyx.example", "https://", "https://a/b", "https://u@a"]
        {
            assert!(front(bad).is_err(), "{bad}");
        }
        let known = front("https://Onyx.Example:443/").unwrap();
        assert_eq!(known.hosts(), ["onyx.example"]);
        let none = HeaderMap::new();
        let scheme = |front: &Front, host: &str| front.scheme(None, Some(host), &none);
        assert_eq!(scheme(&known, "onyx.example"), Scheme::Https);
        assert_eq!(scheme(&known, "127.0.0.1:18790"), Scheme::Http);
        assert_eq!(scheme(&front("http://onyx.example").unwrap(), "onyx.example"), Scheme::Http);
    }
}
