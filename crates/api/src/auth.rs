//! Who is asking. The check runs where a route is registered (see [`crate::Access`]); a handler
//! that wants to know takes an `AuthContext`.

use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use onyx_types::{Cancel, ErrorCode, PersonId};
use subtle::ConstantTimeEq;

use crate::serve::Peer;
use crate::{ApiState, Problem, Token};

/// The authenticated caller. Storage keys are built from it; no request field can name a person.
#[derive(Clone, Debug)]
pub struct AuthContext {
    pub person: PersonId,
    pub credential: Credential,
    pub is_owner: bool,
    /// Told when the credential is revoked. Answers over HTTP end by themselves; what lives
    /// longer than its request (a WebSocket) must watch it.
    pub revoked: Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The owner's token, sent as Bearer.
    OwnerToken,
    /// The home's own socket: the kernel says that it is the same user.
    LocalUser,
}

/// Knows the credentials. Shared, because a config edit changes them while requests come in.
#[derive(Debug)]
pub struct Authenticator {
    owner: PersonId,
    token: RwLock<Arc<OwnerToken>>,
}

#[derive(Debug)]
struct OwnerToken {
    token: Token,
    revoked: Cancel,
}

impl OwnerToken {
    fn new(token: Token) -> Arc<Self> {
        Arc::new(Self { token, revoked: Cancel::new() })
    }
}

impl Authenticator {
    pub fn new(owner: PersonId, token: Token) -> Self {
        Self { owner, token: RwLock::new(OwnerToken::new(token)) }
    }

    /// From now on only this token opens; what the one before had opened is closed.
    pub fn set_token(&self, token: Token) {
        let mut held = self.token.write().unwrap_or_else(PoisonError::into_inner);
        if held.token != token {
            std::mem::replace(&mut *held, OwnerToken::new(token)).revoked.cancel();
        }
    }

    pub(crate) fn authenticate(&self, request: &Request) -> Result<AuthContext, Problem> {
        if request.extensions().get::<Peer>() == Some(&Peer::LocalUser) {
            return Ok(self.owner_by(Credential::LocalUser, Cancel::new()));
        }
        let Some(sent) = bearer(request.headers()) else {
            return Err(Problem::new(
                ErrorCode::Unauthenticated,
                "no `Authorization: Bearer` header was sent",
            ));
        };
        let held = Arc::clone(&self.token.read().unwrap_or_else(PoisonError::into_inner));
        if bool::from(sent.as_bytes().ct_eq(held.token.as_str().as_bytes())) {
            Ok(self.owner_by(Credential::OwnerToken, held.revoked.clone()))
        } else {
            Err(Problem::new(ErrorCode::Unauthenticated, "the token is not known here"))
        }
    }

    fn owner_by(&self, credential: Credential, revoked: Cancel) -> AuthContext {
        AuthContext { person: self.owner.clone(), credential, is_owner: true, revoked }
    }
}

/// The token of `Authorization: Bearer <token>`; the scheme's case does not matter.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl FromRequestParts<ApiState> for AuthContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            Problem::new(ErrorCode::Internal, "a route that is public asks for its caller")
        })
    }
}
