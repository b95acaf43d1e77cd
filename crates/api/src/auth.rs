//! Who is asking. One extractor; a route that takes no `AuthContext` is public and says so.

use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use onyx_types::{ErrorCode, PersonId};
use subtle::ConstantTimeEq;

use crate::serve::Peer;
use crate::{ApiState, Problem, Token};

/// The authenticated caller. Storage keys are built from it; no request field can name a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthContext {
    pub person: PersonId,
    pub credential: Credential,
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
    token: RwLock<Arc<Token>>,
}

impl Authenticator {
    pub fn new(owner: PersonId, token: Token) -> Self {
        Self { owner, token: RwLock::new(Arc::new(token)) }
    }

    /// From now on only this token opens.
    pub fn set_token(&self, token: Token) {
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(token);
    }

    fn authenticate(
        &self,
        peer: Option<Peer>,
        headers: &HeaderMap,
    ) -> Result<AuthContext, Problem> {
        if peer == Some(Peer::LocalUser) {
            return Ok(self.owner_by(Credential::LocalUser));
        }
        let Some(sent) = bearer(headers) else {
            return Err(Problem::new(
                ErrorCode::Unauthenticated,
                "no `Authorization: Bearer` header was sent",
            ));
        };
        let token = Arc::clone(&self.token.read().unwrap_or_else(PoisonError::into_inner));
        if bool::from(sent.as_bytes().ct_eq(token.as_str().as_bytes())) {
            Ok(self.owner_by(Credential::OwnerToken))
        } else {
            Err(Problem::new(ErrorCode::Unauthenticated, "the token is not known here"))
        }
    }

    fn owner_by(&self, credential: Credential) -> AuthContext {
        AuthContext { person: self.owner.clone(), credential }
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

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<Peer>().copied();
        state.auth.authenticate(peer, &parts.headers)
    }
}
