//! Authentication of requests. The check runs where a route is registered (see [`crate::Access`]);
//! a handler that needs the caller takes an `AuthContext`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use onyx_identity::{Attempt, Caller, CallerKind, Identity, Proof};
use onyx_types::{Approver, ApproverKind, ErrorCode, Fault};

use super::cookie;
use super::front::Front;
use crate::serve::RequestSender;
use crate::{ApiState, Problem};

/// The header in which a page sends the key that it got when its browser was signed in.
pub(crate) const PAGE_KEY: &str = "x-onyx-page-key";

/// The authenticated caller. Storage keys are built from it; no request field can name a person.
#[derive(Clone, Debug)]
pub struct AuthContext(Caller);

impl Deref for AuthContext {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.0
    }
}

impl AuthContext {
    /// The caller as an approver; an error where the credential may not approve.
    pub(crate) fn approver(&self) -> Result<Approver, Problem> {
        Ok(Approver::new(&self.person, self.approver_kind(), self.grants())?)
    }

    fn approver_kind(&self) -> ApproverKind {
        if self.is_owner { ApproverKind::Owner } else { ApproverKind::Member }
    }
}

impl From<Caller> for AuthContext {
    fn from(caller: Caller) -> Self {
        Self(caller)
    }
}

/// Reads the credentials of requests and finds out who sent them.
#[derive(Debug)]
pub struct Authenticator {
    identity: Arc<Identity>,
    front: RwLock<Arc<Front>>,
    /// The address at which a browser on this machine reaches the server.
    address: OnceLock<SocketAddr>,
}

impl Authenticator {
    pub fn new(identity: Arc<Identity>) -> Self {
        Self { identity, front: RwLock::default(), address: OnceLock::new() }
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Replaces the settings about host names, public address and proxies.
    pub fn set_front(&self, front: Front) {
        *self.front.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(front);
    }

    /// Records the address that the server listens on. Only a loopback address (or all addresses)
    /// can be reached by a browser that signs in with a link.
    pub fn listens_at(&self, address: SocketAddr) {
        let ip = match address.ip() {
            ip if ip.is_loopback() => ip,
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            _ => return,
        };
        // The server listens only once, so a second address is ignored.
        let _ = self.address.set(SocketAddr::new(ip, address.port()));
    }

    /// A link that signs the owner in once; `None` where no browser on this machine can reach the
    /// server.
    pub async fn create_link(&self, maker: &Caller) -> Result<Option<String>, Fault> {
        let Some(address) = self.address.get() else { return Ok(None) };
        let code = self.identity.create_link(maker).await?;
        Ok(Some(format!("http://{address}/auth/link?code={}", code.reveal())))
    }

    /// The address at which a browser on this machine reaches the server, if there is one.
    pub(crate) fn local_address(&self) -> Option<String> {
        self.address.get().map(|address| format!("http://{address}"))
    }

    pub(crate) fn front(&self) -> Arc<Front> {
        Arc::clone(&self.front.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Authenticates a credential that came in a frame instead of a header. A wrong credential
    /// counts as a failure like any other.
    pub(crate) async fn by_proof(
        &self,
        proof: Proof<'_>,
        from: Option<IpAddr>,
    ) -> Result<AuthContext, Problem> {
        let attempt = Attempt { proof, from, speaks_for: None };
        Ok(self.identity.caller(attempt).await?.into())
    }

    /// Authenticates a request. `None` when it carries no credential at all.
    pub(crate) async fn authenticate(&self, parts: &Parts) -> Result<Option<AuthContext>, Problem> {
        let sender = parts.extensions.get::<RequestSender>();
        let sent = match sender {
            Some(RequestSender::LocalUser) => Some(PresentedCredential::LocalUser),
            Some(RequestSender::Network { .. }) | None => PresentedCredential::of(&parts.headers)?,
        };
        let Some(sent) = sent else { return Ok(None) };
        let attempt = Attempt {
            proof: sent.proof(),
            from: address_of(sender),
            speaks_for: named_person(&parts.headers)?,
        };
        let caller = self.identity.caller(attempt).await?;
        if caller.kind == CallerKind::Session {
            came_from_our_own_page(parts)?;
        }
        Ok(Some(caller.into()))
    }
}

/// The address under which failures are counted; `None` is the home's own socket.
pub(crate) fn address_of(sender: Option<&RequestSender>) -> Option<IpAddr> {
    match sender {
        Some(RequestSender::Network { from, .. }) => Some(from.ip()),
        Some(RequestSender::LocalUser) | None => None,
    }
}

/// A credential as a request carries it.
enum PresentedCredential {
    LocalUser,
    Bearer(String),
    Session { cookie: String, page_key: Option<String> },
    Basic { person: String, password: String },
}

impl PresentedCredential {
    /// A credential that was sent on purpose takes precedence over the browser's cookie; two
    /// different ones are refused.
    fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let mut explicit = headers
            .get_all(header::AUTHORIZATION)
            .iter()
            .map(|value| authorization(value.to_str().ok()?))
            // This is the header of Anthropic's clients.
            .chain(headers.get_all("x-api-key").iter().map(|value| bearer(value.to_str().ok()?)));
        match (explicit.next(), explicit.next()) {
            (None, _) => Ok(cookie::session(headers)
                .map(|cookie| Self::Session { cookie, page_key: page_key(headers) })),
            (Some(Some(sent)), None) => Ok(Some(sent)),
            (Some(Some(one)), Some(Some(other))) if one.is_same(&other) => Ok(Some(one)),
            _ => Err(Problem::new(
                ErrorCode::Unauthenticated,
                "send one credential: `Bearer <token>` or `Basic <name and password>`",
            )),
        }
    }

    /// Some SDKs send the same token in both headers.
    fn is_same(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Bearer(one), Self::Bearer(other)) if one == other)
    }

    fn proof(&self) -> Proof<'_> {
        match self {
            Self::LocalUser => Proof::LocalUser,
            Self::Bearer(token) => Proof::Bearer(token),
            Self::Session { cookie, page_key } => {
                Proof::Session { cookie, page_key: page_key.as_deref() }
            }
            Self::Basic { person, password } => Proof::Password { person, password },
        }
    }
}

/// The scheme of the header is compared without regard to case, as HTTP demands.
fn authorization(value: &str) -> Option<PresentedCredential> {
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return bearer(rest);
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64.decode(rest.trim()).ok()?).ok()?;
    let (person, password) = decoded.split_once(':')?;
    Some(PresentedCredential::Basic { person: person.to_owned(), password: password.to_owned() })
}

fn bearer(token: &str) -> Option<PresentedCredential> {
    Some(PresentedCredential::Bearer(token.trim().to_owned()))
}

/// The page key. Only a page of our own origin can read it and send it: a page on another port
/// cannot.
fn page_key(headers: &HeaderMap) -> Option<String> {
    let mut sent = headers.get_all(PAGE_KEY).iter();
    match (sent.next(), sent.next()) {
        (Some(key), None) => key.to_str().ok().map(str::to_owned),
        _ => None,
    }
}

fn named_person(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut named = headers.get_all("x-notes-person").iter();
    match (named.next().map(|value| value.to_str()), named.next()) {
        (None, _) => Ok(None),
        (Some(Ok(name)), None) => Ok(Some(name)),
        _ => Err(Problem::new(ErrorCode::Forbidden, "`X-Notes-Person` must hold exactly one name")),
    }
}

/// A browser sends its cookie with every request that any page makes: only our own page can set the
/// header and has our Origin. (That a given Origin is ours was checked before.)
fn came_from_our_own_page(parts: &Parts) -> Result<(), Problem> {
    if matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let marked = parts.headers.get("x-onyx-request").is_some_and(|value| value == "1");
    if marked && parts.headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::Forbidden,
        "a request with a cookie that changes something needs `X-Onyx-Request: 1` and an `Origin`",
    )
    .with_hint("Send them, or use a token.")
    .into())
}

pub(crate) fn nobody() -> Problem {
    Problem::new(ErrorCode::Unauthenticated, "no credential was sent")
}

impl FromRequestParts<ApiState> for AuthContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, Problem> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Problem::new(ErrorCode::Internal, "a public route asked for its caller"))
    }
}

/// Used by routes that let a caller in before it has shown a credential (`Access::FirstFrame`).
impl OptionalFromRequestParts<ApiState> for AuthContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Option<Self>, Problem> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
