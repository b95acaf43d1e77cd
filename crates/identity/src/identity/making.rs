//! Credentials that are made: tokens, browser sessions, access and refresh tokens, pairings.

use std::net::IpAddr;
use std::time::Duration;

use onyx_storage::{CredentialKind, CredentialRow};
use onyx_types::{CredentialId, ErrorCode, Fault, Grants, Hash, PersonId, Timestamp};

use super::{Identity, lock};
use crate::caller::Caller;
use crate::credentials::{Lifetime, NewToken};
use crate::jwt::Claims;
use crate::pairing::{Decision, Found, Pairing, PairingFor, PairingState};
use crate::random::Secret;

const SESSION_LASTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const REFRESH_LASTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const ACCESS_LASTS: Duration = Duration::from_secs(15 * 60);
const LONGEST_NAME: usize = 100;
const REFRESH_MARK: &str = "onyx_rt_";

/// What an SDK works with.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: Secret,
    pub refresh: Secret,
    pub expires_in: Duration,
}

/// What a new credential is made of.
struct Making {
    kind: CredentialKind,
    mark: &'static str,
    people: Vec<PersonId>,
    name: String,
    grants: Grants,
    parent: Option<CredentialId>,
    expires_at: Option<Timestamp>,
}

impl Identity {
    /// A token for programs. The text is told here and never again.
    pub async fn create_token(&self, new: NewToken) -> Result<(CredentialRow, Secret), Fault> {
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
        self.make(Making {
            kind: CredentialKind::Token,
            mark: "onyx_sk_",
            people: new.people,
            name: name.to_owned(),
            grants: new.grants,
            parent: None,
            expires_at,
        })
        .await
    }

    /// Signs a browser in. The session ends with what it was signed in by.
    pub async fn create_session(&self, caller: &Caller, name: &str) -> Result<Secret, Fault> {
        self.session(caller.person.clone(), caller.grants, caller.credential, name).await
    }

    /// For whoever opens a link that this server printed: the owner.
    pub async fn redeem_link(&self, code: &str, from: IpAddr) -> Result<Secret, Fault> {
        lock(&self.limiter).guess(from, &*self.clock)?;
        if !lock(&self.links).redeem(code, &*self.clock) {
            return Err(Fault::new(
                ErrorCode::Unauthenticated,
                "this link was used already, or its time is over",
            )
            .with_hint("Run `onyx` again: it prints a new one."));
        }
        lock(&self.limiter).guessed_right(from);
        self.session(self.owner()?, Grants::all(), None, "link").await
    }

    /// The code of a link that signs the owner in, once.
    pub fn create_link(&self) -> Result<Secret, Fault> {
        lock(&self.links).make(&*self.clock)
    }

    /// Short-lived and refresh token, good for no more than what they are asked with.
    pub async fn create_tokens(&self, caller: &Caller) -> Result<Tokens, Fault> {
        let usual = self.clock.wall().saturating_add(REFRESH_LASTS);
        let (row, refresh) = self
            .make(Making {
                kind: CredentialKind::Refresh,
                mark: REFRESH_MARK,
                people: vec![caller.person.clone()],
                name: "sdk".to_owned(),
                grants: caller.grants,
                parent: caller.credential,
                expires_at: Some(caller.expires_at.map_or(usual, |at| at.min(usual))),
            })
            .await?;
        self.access(&row, refresh)
    }

    /// A refresh token is good once: what comes back holds the next.
    pub async fn refresh(&self, text: &str, from: Option<IpAddr>) -> Result<Tokens, Fault> {
        let _order = self.changing.lock().await;
        let now = self.clock.wall();
        let hash = Hash::of(text.as_bytes());
        let found = self.read().find(hash, CredentialKind::Refresh, now);
        let found = found.filter(|held| held.row.people.iter().all(|id| self.read().is_person(id)));
        let Some(held) = found else {
            self.end_if_used_before(text).await?;
            if let Some(from) = from {
                lock(&self.limiter).failed(from, &*self.clock)?;
            }
            let message = "the refresh token is not known here, or its time is over";
            return Err(Fault::new(ErrorCode::Unauthenticated, message));
        };
        let refresh = refresh_secret(held.row.credential)?;
        let row = CredentialRow { hash: refresh.hash(), ..held.row };
        self.hold(row.clone()).await?;
        self.access(&row, refresh)
    }

    /// A refresh token that was exchanged and comes again was copied by somebody: nobody can tell
    /// who of the two is which, so both are out.
    async fn end_if_used_before(&self, text: &str) -> Result<(), Fault> {
        let Some(family) = family_of(text) else { return Ok(()) };
        let held = self.read().by_id(family, self.clock.wall());
        if held.is_none_or(|held| held.row.kind != CredentialKind::Refresh) {
            return Ok(());
        }
        tracing::warn!(credential = %family, "a refresh token was used twice; what it opened is closed");
        self.change(|register| register.drop_credentials(&[family])).await
    }

    pub fn begin_pairing(
        &self,
        name: &str,
        client: PairingFor,
        from: Option<IpAddr>,
    ) -> Result<(Secret, Pairing), Fault> {
        if let Some(from) = from {
            // Each is a chance that the owner approves the wrong device.
            lock(&self.limiter).guess(from, &*self.clock)?;
        }
        lock(&self.pairings).begin(name, client, &*self.clock)
    }

    pub fn pairings(&self) -> Vec<Pairing> {
        lock(&self.pairings).waiting(&*self.clock)
    }

    pub fn approve_pairing(&self, code: &str, person: &PersonId) -> Result<(), Fault> {
        if !self.read().is_person(person) {
            return Err(no_person(person));
        }
        lock(&self.pairings).decide(code, Decision::Approved(person.clone()), &*self.clock)
    }

    pub fn reject_pairing(&self, code: &str) -> Result<(), Fault> {
        lock(&self.pairings).decide(code, Decision::Rejected, &*self.clock)
    }

    /// What became of a pairing; the credential once, when it was approved.
    pub async fn pick_up_pairing(
        &self,
        id: &str,
    ) -> Result<(PairingState, Option<(PairingFor, Secret)>), Fault> {
        let found = lock(&self.pairings).pick_up(id, &*self.clock)?;
        let (person, name, client) = match found {
            Found::Pending => return Ok((PairingState::Pending, None)),
            Found::Rejected => return Ok((PairingState::Rejected, None)),
            Found::Approved { person, name, client } => (person, name, client),
        };
        let grants = Grants::personal();
        let secret = match client {
            PairingFor::Browser => self.session(person, Grants::all(), None, &name).await?,
            PairingFor::Device => {
                let name = if name.is_empty() { "paired device".to_owned() } else { name };
                let lifetime = Lifetime::UntilRevoked;
                let new = NewToken { people: vec![person], name, grants, lifetime };
                self.create_token(new).await?.1
            }
        };
        Ok((PairingState::Approved, Some((client, secret))))
    }

    async fn session(
        &self,
        person: PersonId,
        grants: Grants,
        parent: Option<CredentialId>,
        name: &str,
    ) -> Result<Secret, Fault> {
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let expires_at = Some(self.clock.wall().saturating_add(SESSION_LASTS));
        let (kind, mark, people) = (CredentialKind::Session, "onyx_cs_", vec![person]);
        let making = Making { kind, mark, people, name, grants, parent, expires_at };
        Ok(self.make(making).await?.1)
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

    async fn make(&self, making: Making) -> Result<(CredentialRow, Secret), Fault> {
        let _order = self.changing.lock().await;
        let created_at = self.clock.wall();
        let credential = lock(&self.mint).credential(created_at);
        let secret = match making.kind {
            CredentialKind::Refresh => refresh_secret(credential)?,
            CredentialKind::Token | CredentialKind::Session => Secret::fresh(making.mark)?,
        };
        let row = CredentialRow {
            credential,
            kind: making.kind,
            people: making.people,
            name: making.name,
            hash: secret.hash(),
            grants: making.grants,
            parent: making.parent,
            created_at,
            expires_at: making.expires_at,
        };
        self.hold(row.clone()).await?;
        Ok((row, secret))
    }

    /// To the ledger first: what is told to somebody must be there after a crash.
    async fn hold(&self, row: CredentialRow) -> Result<(), Fault> {
        self.accounts.put_credential(row.clone()).await?;
        let now = self.clock.wall();
        self.change(|register| {
            register.hold(row);
            let mut over = register.over(now);
            over.extend(register.surplus());
            // Also takes what was made with something that ended in the meantime.
            register.drop_credentials(&over)
        })
        .await
    }
}

/// Names the credential that it is the newest secret of, so that an older one gives itself away.
fn refresh_secret(credential: CredentialId) -> Result<Secret, Fault> {
    Secret::fresh(&format!("{REFRESH_MARK}{credential}_"))
}

fn family_of(text: &str) -> Option<CredentialId> {
    text.strip_prefix(REFRESH_MARK)?.split_once('_')?.0.parse().ok()
}

pub(super) fn no_person(id: &PersonId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("there is no person `{id}`"))
        .with_hint("`onyx people list` shows who there is.")
}
