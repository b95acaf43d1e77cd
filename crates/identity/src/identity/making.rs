//! Creates credentials: tokens, browser sessions, access and refresh tokens, pairings.

use std::net::IpAddr;
use std::time::Duration;

use onyx_storage::{CredentialKind, CredentialRow};
use onyx_types::{CredentialId, ErrorCode, Fault, Grants, Hash, PersonId, Timestamp};

use super::{Identity, lock, session_hash};
use crate::caller::Caller;
use crate::credentials::{Lifetime, NewToken};
use crate::grant_codes::{AgreedGrant, GrantProof, GrantRequest};
use crate::issuing::{CredentialDetails, IssuedCredential, Permit};
use crate::jwt::Claims;
use crate::network::Network;
use crate::pairing::{Decision, Pairing, PairingFor, PairingOutcome, PairingState};
use crate::random::Secret;

const SESSION_LASTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const REFRESH_LASTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const ACCESS_LASTS: Duration = Duration::from_secs(15 * 60);
const LONGEST_NAME: usize = 100;
const REFRESH_MARK: &str = "onyx_rt_";

/// The tokens of an SDK.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: Secret,
    pub refresh: Secret,
    pub expires_in: Duration,
}

/// The credentials of a signed-in browser. The browser sends the cookie automatically, to every
/// port of the machine. The key is in the storage of the server's own origin, and only pages of
/// that origin send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    pub cookie: Secret,
    pub page_key: Secret,
}

/// The credential that an approved device receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceCredential {
    Browser(BrowserSession),
    Device(Secret),
}

/// The properties of a new credential.
struct Making {
    permit: Permit,
    kind: CredentialKind,
    name: String,
    parent: Option<CredentialId>,
    expires_at: Option<Timestamp>,
}

impl Identity {
    /// Creates a token for programs with no more rights than its maker's credential. The text is
    /// returned once and cannot be read again.
    pub async fn create_token(
        &self,
        maker: &Caller,
        new: NewToken,
    ) -> Result<(CredentialRow, Secret), Fault> {
        if let Some(stranger) = new.people.iter().find(|person| !self.read().is_person(person)) {
            return Err(no_person(stranger));
        }
        if new.people.is_empty() || new.grants.is_empty() {
            let message = "a token needs a person and at least one scope";
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        let name = new.name.trim();
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            let message = format!("name: it must have 1 to {LONGEST_NAME} bytes on one line");
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        let expires_at = match new.lifetime {
            Lifetime::UntilRevoked => None,
            Lifetime::For(time) => Some(self.clock.wall().saturating_add(time)),
        };
        let permit = Permit::new(maker, new.people, new.grants)?;
        self.token(permit, name, expires_at).await
    }

    async fn token(
        &self,
        permit: Permit,
        name: &str,
        expires_at: Option<Timestamp>,
    ) -> Result<(CredentialRow, Secret), Fault> {
        let secret = Secret::fresh("onyx_sk_")?;
        let (kind, name) = (CredentialKind::Token, name.to_owned());
        let making = Making { permit, kind, name, parent: None, expires_at };
        Ok((self.make(making, self.new_id(), secret.hash()).await?, secret))
    }

    /// Signs a browser in. The session ends together with the credential that signed it in.
    pub async fn create_session(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<BrowserSession, Fault> {
        let permit = Permit::new(caller, vec![caller.person.clone()], caller.grants)?;
        self.session(permit, caller.credential, name).await
    }

    /// Signs in the browser that opens a link printed by this server, as the owner.
    pub async fn redeem_link(&self, code: &str, from: IpAddr) -> Result<BrowserSession, Fault> {
        let permit = self.links.redeem(code).await?;
        let Some(permit) = permit else {
            self.limits.failed(from)?;
            return Err(Fault::new(
                ErrorCode::Unauthenticated,
                "this link was already used, or it has expired",
            )
            .with_hint("Run `onyx` again: it prints a new one."));
        };
        self.session(permit, None, "link").await
    }

    /// Creates the code of a link that signs the owner in once, with all of the owner's rights.
    pub async fn create_link(&self, maker: &Caller) -> Result<Secret, Fault> {
        let permit = Permit::new(maker, vec![self.owner()?], Grants::all())?;
        self.links.make(&permit).await
    }

    /// Creates a short-lived and a refresh token with no more rights than the caller's credential.
    pub async fn create_tokens(&self, caller: &Caller) -> Result<Tokens, Fault> {
        let usual = self.clock.wall().saturating_add(REFRESH_LASTS);
        let making = Making {
            permit: Permit::new(caller, vec![caller.person.clone()], caller.grants)?,
            kind: CredentialKind::Refresh,
            name: "sdk".to_owned(),
            parent: caller.credential,
            expires_at: Some(caller.expires_at.map_or(usual, |at| at.min(usual))),
        };
        let id = self.new_id();
        let refresh = refresh_secret(id)?;
        let row = self.make(making, id, refresh.hash()).await?;
        self.access(&row, refresh)
    }

    /// Gives a program access: with its code it fetches tokens, once. They have the rights that the
    /// caller agreed to, and are valid after the caller's browser session has ended.
    pub async fn grant_access(
        &self,
        caller: &Caller,
        request: GrantRequest,
        grants: Grants,
        name: String,
    ) -> Result<Secret, Fault> {
        let grants = grants.within(caller.grants);
        if grants.is_empty() {
            let message = "you cannot grant the requested access";
            return Err(Fault::new(ErrorCode::Forbidden, message));
        }
        let permit = Permit::new(caller, vec![caller.person.clone()], grants)?;
        self.grant_codes.make(&caller.person, &AgreedGrant { request, permit, name }).await
    }

    /// The tokens for a code, with their rights; `None` if the code is not good.
    pub async fn redeem_grant(
        &self,
        proof: &GrantProof<'_>,
    ) -> Result<Option<(Tokens, Grants)>, Fault> {
        let Some(agreed) = self.grant_codes.redeem(proof).await? else { return Ok(None) };
        let AgreedGrant { permit, name, .. } = agreed;
        let stranger = permit.people().iter().find(|person| !self.read().is_person(person));
        if let Some(stranger) = stranger {
            return Err(no_person(stranger));
        }
        let making = Making {
            permit,
            kind: CredentialKind::Refresh,
            name: name.chars().take(LONGEST_NAME / 4).collect(),
            parent: None,
            expires_at: Some(self.clock.wall().saturating_add(REFRESH_LASTS)),
        };
        let id = self.new_id();
        let refresh = refresh_secret(id)?;
        let row = self.make(making, id, refresh.hash()).await?;
        Ok(Some((self.access(&row, refresh)?, row.grants)))
    }

    /// Exchanges a refresh token, which is valid once: the answer holds the next one.
    pub async fn refresh(&self, text: &str, from: Option<IpAddr>) -> Result<Tokens, Fault> {
        let hash = Hash::of(text.as_bytes());
        let known = self.read().find(hash, CredentialKind::Refresh, self.clock.wall());
        // A token that another gateway issued must not be mistaken for one that was used before.
        if known.is_none() {
            self.catch_up().await?;
        }
        let _order = self.changing.lock().await;
        let now = self.clock.wall();
        let found = self.read().find(hash, CredentialKind::Refresh, now);
        let found = found.filter(|held| held.row.people.iter().all(|id| self.read().is_person(id)));
        let Some(held) = found else {
            self.end_if_used_before(text).await?;
            if let Some(from) = from {
                self.limits.failed(from)?;
            }
            let message = "the refresh token is not known, or it has expired";
            return Err(Fault::new(ErrorCode::Unauthenticated, message));
        };
        let refresh = refresh_secret(held.row.credential)?;
        let issued = IssuedCredential::renewed(held, refresh.hash());
        let row = issued.row().clone();
        self.hold(issued).await?;
        self.access(&row, refresh)
    }

    /// A refresh token that is used a second time was copied. The server cannot know which of the
    /// two users is the right one, so both are signed out.
    async fn end_if_used_before(&self, text: &str) -> Result<(), Fault> {
        let Some(family) = family_of(text) else { return Ok(()) };
        let held = self.read().by_id(family, self.clock.wall());
        if held.is_none_or(|held| held.row.kind != CredentialKind::Refresh) {
            return Ok(());
        }
        tracing::warn!(credential = %family, "a refresh token was used twice; its access was revoked");
        self.change(|register| register.drop_credentials(&[family])).await
    }

    pub async fn begin_pairing(
        &self,
        name: &str,
        client: PairingFor,
        from: Option<IpAddr>,
    ) -> Result<(Secret, Pairing), Fault> {
        if let Some(from) = from {
            self.limits.pairing(from).await?;
        }
        self.pairings.begin(name, client, from.map(Network::of)).await
    }

    pub async fn pairings(&self) -> Result<Vec<Pairing>, Fault> {
        self.pairings.waiting().await
    }

    /// Approves a device. A browser gets all rights of the person, and another device those that
    /// people need for themselves; neither gets more than its approver has.
    pub async fn approve_pairing(
        &self,
        maker: &Caller,
        code: &str,
        person: &PersonId,
    ) -> Result<(), Fault> {
        if !self.read().is_person(person) {
            return Err(no_person(person));
        }
        let grants = match self.pairings.wanted(code).await? {
            PairingFor::Browser => self.all_grants_of(person),
            PairingFor::Device => Grants::personal(),
        };
        let permit = Permit::new(maker, vec![person.clone()], grants)?;
        self.pairings.decide(code, Decision::Approved(permit)).await
    }

    /// The most rights that a credential of this person can have.
    pub(super) fn all_grants_of(&self, person: &PersonId) -> Grants {
        if self.read().owner() == Some(person) { Grants::all() } else { Grants::personal() }
    }

    pub async fn reject_pairing(&self, code: &str) -> Result<(), Fault> {
        self.pairings.decide(code, Decision::Rejected).await
    }

    /// The state of a pairing. If it was approved, its credential is returned once.
    pub async fn pick_up_pairing(
        &self,
        id: &str,
    ) -> Result<(PairingState, Option<DeviceCredential>), Fault> {
        let found = self.pairings.pick_up(id).await?;
        let (permit, name, client) = match found {
            PairingOutcome::Pending => return Ok((PairingState::Pending, None)),
            PairingOutcome::Rejected => return Ok((PairingState::Rejected, None)),
            PairingOutcome::Approved { permit, name, client } => (permit, name, client),
        };
        let stranger = permit.people().iter().find(|person| !self.read().is_person(person));
        if let Some(stranger) = stranger {
            return Err(no_person(stranger));
        }
        let picked_up = match client {
            PairingFor::Browser => {
                DeviceCredential::Browser(self.session(permit, None, &name).await?)
            }
            PairingFor::Device => {
                let name = if name.is_empty() { "paired device" } else { &name };
                DeviceCredential::Device(self.token(permit, name, None).await?.1)
            }
        };
        Ok((PairingState::Approved, Some(picked_up)))
    }

    async fn session(
        &self,
        permit: Permit,
        parent: Option<CredentialId>,
        name: &str,
    ) -> Result<BrowserSession, Fault> {
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let expires_at = Some(self.clock.wall().saturating_add(SESSION_LASTS));
        let (cookie, page_key) = (Secret::fresh("onyx_cs_")?, Secret::fresh("onyx_pk_")?);
        let hash = session_hash(cookie.reveal(), page_key.reveal());
        let kind = CredentialKind::Session;
        let making = Making { permit, kind, name, parent, expires_at };
        self.make(making, self.new_id(), hash).await?;
        Ok(BrowserSession { cookie, page_key })
    }

    fn new_id(&self) -> CredentialId {
        lock(&self.issue).credential(self.clock.wall())
    }

    fn access(&self, row: &CredentialRow, refresh: Secret) -> Result<Tokens, Fault> {
        let Some(sub) = row.people.first().cloned() else {
            return Err(Fault::new(ErrorCode::Internal, "a credential without a person"));
        };
        let seconds = |at: Timestamp| at.as_millis() / 1000;
        let now = self.clock.wall();
        let end = now.saturating_add(ACCESS_LASTS);
        let end = row.expires_at.map_or(end, |at| at.min(end));
        let claims = Claims { sub, cid: row.credential, iat: seconds(now), exp: seconds(end) };
        let access = Secret::new(self.signer.sign(&claims)?);
        let left = u64::try_from(claims.exp - claims.iat).unwrap_or(0);
        Ok(Tokens { access, refresh, expires_in: Duration::from_secs(left) })
    }

    async fn make(
        &self,
        making: Making,
        credential: CredentialId,
        hash: Hash,
    ) -> Result<CredentialRow, Fault> {
        let _order = self.changing.lock().await;
        let issued = making.permit.issue(CredentialDetails {
            credential,
            kind: making.kind,
            name: making.name,
            hash,
            parent: making.parent,
            created_at: self.clock.wall(),
            expires_at: making.expires_at,
        });
        let row = issued.row().clone();
        self.hold(issued).await?;
        Ok(row)
    }

    /// Stores the credential in the ledger first: a credential that was given out must exist after
    /// a crash.
    async fn hold(&self, issued: IssuedCredential) -> Result<(), Fault> {
        self.accounts.put_credential(issued.row().clone()).await?;
        let now = self.clock.wall();
        self.change(|register| {
            register.hold(issued);
            let mut over = register.over(now);
            over.extend(register.surplus());
            // This also removes credentials whose maker's credential ended in the meantime.
            register.drop_credentials(&over)
        })
        .await
    }
}

/// A new secret of a refresh token. It names its credential, so that an older secret of the same
/// credential is recognised.
fn refresh_secret(credential: CredentialId) -> Result<Secret, Fault> {
    Secret::fresh(&format!("{REFRESH_MARK}{credential}_"))
}

fn family_of(text: &str) -> Option<CredentialId> {
    text.strip_prefix(REFRESH_MARK)?.split_once('_')?.0.parse().ok()
}

pub(super) fn no_person(id: &PersonId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("there is no person `{id}`"))
        .with_hint("`onyx people list` shows the people.")
}
