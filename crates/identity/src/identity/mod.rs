//! The one place that decides who a caller is. Everything that it knows is in memory; what must
//! outlive the process is written to the ledger before the caller gets an answer.

mod making;
mod manage;
mod shared;

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use onyx_storage::{
    Accounts, CredentialKind, LocalShortLived, PersonRow, Role, ShortLived, StoreError,
};
use onyx_types::{
    Cancel, Clock, CredentialId, ErrorCode, Fault, Grants, Hash, IdGenerator, PersonId, Timestamp,
};

use crate::attempt::{Attempt, Proof};
use crate::caller::{Caller, CallerKind};
use crate::credentials::{KnownCredential, Password, Register};
use crate::grant_codes::GrantCodes;
use crate::jwt::{self, Signer};
use crate::limiter::{Admission, Guess, Limits, too_many};
use crate::links::Links;
use crate::pairing::Pairings;
use crate::passwords::Passwords;
use crate::people::OWNER;
use crate::random;
use crate::settings::DeclaredPeople;

pub use making::{BrowserSession, DeviceCredential, Tokens};
pub use shared::SharedAuthentication;
use shared::SharedLedger;

/// How long an answer takes while guesses flood in; it is longer than the check of a password.
const CROWDED_ANSWER: Duration = Duration::from_secs(1);

pub struct Identity {
    accounts: Arc<dyn Accounts>,
    clock: Arc<dyn Clock>,
    register: RwLock<Register>,
    /// This lock is held while the ledger and the register are changed together, so that both see
    /// changes in one order.
    changing: tokio::sync::Mutex<()>,
    limits: Limits,
    links: Links,
    pairings: Pairings,
    grant_codes: GrantCodes,
    issue: Mutex<IdGenerator>,
    passwords: Passwords,
    signer: Signer,
    /// `None` if no other gateway changes the ledger.
    shared: Option<SharedLedger>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// A valid credential, before it is decided which person it speaks for.
struct ValidCredential {
    kind: CallerKind,
    people: Vec<PersonId>,
    credential: Option<CredentialId>,
    grants: Grants,
    expires_at: Option<Timestamp>,
    revoked: Cancel,
}

impl Identity {
    /// Reads the people and credentials. The first start creates an owner.
    pub async fn open(
        accounts: Arc<dyn Accounts>,
        clock: Arc<dyn Clock>,
        declared: DeclaredPeople,
    ) -> Result<Self, Fault> {
        let mut people = accounts.people().await?;
        if declared.owner.is_none() && people.iter().all(|row| row.role != Role::Owner) {
            let added_at = clock.wall();
            let person = OWNER.parse()?;
            let owner = PersonRow { person, name: None, role: Role::Owner, added_at };
            match accounts.add_person(owner.clone()).await {
                // Another gateway that starts at the same moment created the owner.
                Ok(()) | Err(StoreError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
            people.push(owner);
        }
        let passwords = accounts.passwords().await?;
        let rows = accounts.credentials().await?;
        let mut register = Register::new(declared, people, passwords, rows);
        // These credentials expired while the server was not running.
        let over = register.over(clock.wall());
        let gone = register.drop_credentials(&over);
        accounts.remove_credentials(&gone).await?;
        let waiting: Arc<dyn ShortLived> = Arc::new(LocalShortLived::new(Arc::clone(&clock)));
        Ok(Self {
            accounts,
            limits: Limits::of_one_process(Arc::clone(&clock)),
            clock,
            register: RwLock::new(register),
            changing: tokio::sync::Mutex::default(),
            links: Links::new(Arc::clone(&waiting)),
            pairings: Pairings::new(Arc::clone(&waiting)),
            grant_codes: GrantCodes::new(waiting),
            issue: Mutex::new(IdGenerator::new(u64::from_le_bytes(random::bytes()?))),
            passwords: Passwords::new()?,
            signer: Signer::new()?,
            shared: None,
        })
    }

    /// Identifies the caller. Fails with `Unauthenticated`, `SignInAgain`, `Forbidden` (the
    /// credential may not speak for that person) or `RateLimited`.
    pub async fn caller(&self, attempt: Attempt<'_>) -> Result<Caller, Fault> {
        let opened = match self.opened(attempt).await? {
            // A password is compared once: each comparison counts as a guess.
            None if !is_password(attempt) && self.catch_up().await? => self.opened(attempt).await?,
            opened => opened,
        };
        let Some(opened) = opened else { return Err(self.unknown(attempt)) };
        self.speaking(opened, attempt.speaks_for)
    }

    /// The valid credential of an attempt; `None` if it is not valid here.
    async fn opened(&self, attempt: Attempt<'_>) -> Result<Option<ValidCredential>, Fault> {
        Ok(match attempt.proof {
            Proof::LocalUser => Some(self.by_local_user()?),
            Proof::Bearer(text) if jwt::is_jwt(text) => self.by_access_token(text),
            Proof::Bearer(text) => self.by_token(text)?,
            // The browser signed in before pages had a key, or the sender has only the cookie.
            Proof::Session { page_key: None, .. } => {
                return Err(Fault::plain(ErrorCode::SignInAgain));
            }
            Proof::Session { cookie, page_key: Some(page_key) } => {
                self.by_hash(session_hash(cookie, page_key), CredentialKind::Session)
            }
            Proof::Password { person, password } => {
                self.by_password(person, password, attempt.from).await?
            }
        })
    }

    /// The user who runs the server, for whom the server itself acts when it prints their link.
    pub fn local_user(&self) -> Result<Caller, Fault> {
        self.speaking(self.by_local_user()?, None)
    }

    fn unknown(&self, attempt: Attempt<'_>) -> Fault {
        let what = match attempt.proof {
            Proof::Password { .. } => "the name or the password is wrong",
            Proof::Session { .. } => "the browser is no longer signed in",
            Proof::Bearer(_) | Proof::LocalUser => "the token is not known, or it has expired",
        };
        let counted = match (attempt.from, attempt.proof) {
            // A guess at a password was counted when it was checked.
            (_, Proof::Password { .. }) | (None, _) => Ok(()),
            (Some(from), _) => self.limits.failed(from),
        };
        counted.err().unwrap_or_else(|| Fault::new(ErrorCode::Unauthenticated, what))
    }

    /// The person of a credential: its own person, or the one of its people who was named.
    fn speaking(&self, opened: ValidCredential, named: Option<&str>) -> Result<Caller, Fault> {
        let register = self.read();
        let person = match named {
            Some(name) => opened.people.iter().find(|person| person.as_str() == name),
            None => opened.people.first(),
        };
        let person = person.filter(|person| register.is_person(person)).cloned();
        let person = person.ok_or_else(|| match named {
            Some(_) => Fault::new(
                ErrorCode::Forbidden,
                "this credential does not speak for the person in `X-Notes-Person`",
            ),
            None => Fault::new(ErrorCode::Unauthenticated, "its person has no account here"),
        })?;
        let is_owner = register.owner() == Some(&person);
        // A scope that only the owner may use has no effect in a member's credential.
        let grants =
            if is_owner { opened.grants } else { opened.grants.within(Grants::personal()) };
        Ok(Caller {
            is_owner,
            person,
            kind: opened.kind,
            credential: opened.credential,
            grants,
            expires_at: opened.expires_at,
            revoked: opened.revoked,
        })
    }

    fn by_local_user(&self) -> Result<ValidCredential, Fault> {
        self.owner_by(CallerKind::LocalUser, None, Cancel::new())
    }

    fn owner_by(
        &self,
        kind: CallerKind,
        credential: Option<CredentialId>,
        revoked: Cancel,
    ) -> Result<ValidCredential, Fault> {
        let owner = self.owner()?;
        let (people, grants) = (vec![owner], Grants::all());
        Ok(ValidCredential { kind, people, credential, grants, expires_at: None, revoked })
    }

    fn by_token(&self, text: &str) -> Result<Option<ValidCredential>, Fault> {
        let root = self.read().owner_token(text);
        match root {
            Some(root) => {
                self.owner_by(CallerKind::OwnerToken, Some(root.id), root.revoked).map(Some)
            }
            None => Ok(self.by_hash(Hash::of(text.as_bytes()), CredentialKind::Token)),
        }
    }

    fn by_hash(&self, hash: Hash, kind: CredentialKind) -> Option<ValidCredential> {
        self.read().find(hash, kind, self.clock.wall()).map(ValidCredential::of)
    }

    fn by_access_token(&self, text: &str) -> Option<ValidCredential> {
        let now = self.clock.wall();
        let claims = self.signer.verify(text, now)?;
        let held = self.read().by_id(claims.cid, now)?;
        let is_its_person = held.row.people == [claims.sub];
        is_its_person
            .then(|| ValidCredential { kind: CallerKind::Access, ..ValidCredential::of(held) })
    }

    async fn by_password(
        &self,
        person: &str,
        password: &str,
        from: Option<IpAddr>,
    ) -> Result<Option<ValidCredential>, Fault> {
        let Some(from) = from else { return self.compare(person, password).await };
        let guess = Guess::new(person, from);
        let room = self.limits.guess(guess).await?;
        let opened = match room {
            Admission::Free => self.compare(person, password).await?,
            Admission::Crowded => self.compare_in_a_crowd(person, password).await?,
        };
        if opened.is_some() {
            self.limits.guessed_right(guess).await?;
        }
        Ok(opened)
    }

    async fn compare(
        &self,
        person: &str,
        password: &str,
    ) -> Result<Option<ValidCredential>, Fault> {
        let known = self.known_password(person);
        let compared = known.as_ref().map(|(known, id)| (id, known.root.id, known.phc.as_str()));
        let is_right = self.passwords.verify(compared, password).await?;
        Ok(known.filter(|_| is_right).map(|(known, id)| ValidCredential {
            kind: CallerKind::Password,
            people: vec![id],
            credential: Some(known.root.id),
            grants: Grants::all(),
            expires_at: None,
            revoked: known.root.revoked,
        }))
    }

    /// Checks a guess while guesses flood in from the same network. Names that do not exist cost no
    /// hash, and every wrong guess gets the same answer after the same time, whether or not the
    /// person exists.
    async fn compare_in_a_crowd(
        &self,
        person: &str,
        password: &str,
    ) -> Result<Option<ValidCredential>, Fault> {
        let answered = tokio::time::Instant::now() + CROWDED_ANSWER;
        if self.known_password(person).is_some()
            && let Some(opened) = self.compare(person, password).await?
        {
            return Ok(Some(opened));
        }
        tokio::time::sleep_until(answered).await;
        Err(too_many())
    }

    fn known_password(&self, person: &str) -> Option<(Password, PersonId)> {
        let id: PersonId = person.parse().ok()?;
        Some((self.read().password(&id)?, id))
    }

    fn read(&self) -> RwLockReadGuard<'_, Register> {
        self.register.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state in memory, and deletes the credentials that ended with the change from the
    /// ledger.
    async fn change(
        &self,
        change: impl FnOnce(&mut Register) -> Vec<CredentialId>,
    ) -> Result<(), Fault> {
        let (gone, ending) = {
            let mut register = self.register.write().unwrap_or_else(PoisonError::into_inner);
            (change(&mut register), register.take_ending())
        };
        let removed = match gone.as_slice() {
            [] => Ok(()),
            gone => self.accounts.remove_credentials(gone).await,
        };
        for revoked in ending {
            revoked.cancel();
        }
        Ok(removed?)
    }
}

impl ValidCredential {
    fn of(held: KnownCredential) -> Self {
        Self {
            kind: match held.row.kind {
                CredentialKind::Token => CallerKind::Token,
                CredentialKind::Session => CallerKind::Session,
                CredentialKind::Refresh => CallerKind::Access,
            },
            people: held.row.people,
            credential: Some(held.row.credential),
            grants: held.row.grants,
            expires_at: held.row.expires_at,
            revoked: held.revoked,
        }
    }
}

fn is_password(attempt: Attempt<'_>) -> bool {
    matches!(attempt.proof, Proof::Password { .. })
}

/// The hash by which the ledger knows a browser's session: both of its halves in one.
fn session_hash(cookie: &str, page_key: &str) -> Hash {
    Hash::of_parts([b"session".as_slice(), cookie.as_bytes(), page_key.as_bytes()])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
