//! Passwords are hashed with argon2id, a few at a time, and never on a thread that serves requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use onyx_types::{CredentialId, ErrorCode, Fault, PersonId};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use crate::random;

/// How many are hashed at once. Each hash takes 19 MiB and a core for tens of milliseconds.
const AT_ONCE: usize = 2;

const SHORTEST: usize = 8;
/// The longest password. Hashing longer texts would only cost time.
const LONGEST: usize = 1024;

/// The hash with which the password of an unknown person is compared, so that the answer takes as
/// long as for others. Salt and hash are zeros, which no password gives.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA\
    $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

pub(crate) struct Passwords {
    places: Arc<Semaphore>,
    /// The verified passwords, so that Basic authentication does not cost a hash for every request.
    /// They are stored under a key of this process and are worthless outside it.
    verified: Mutex<HashMap<PersonId, (CredentialId, [u8; 32])>>,
    key: [u8; 32],
}

impl Passwords {
    pub(crate) fn new() -> Result<Self, Fault> {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Ok(Self { places, verified: Mutex::default(), key: random::bytes()? })
    }

    pub(crate) async fn hash(&self, password: &str) -> Result<String, Fault> {
        if !(SHORTEST..=LONGEST).contains(&password.len()) {
            let message = format!("password: it must have {SHORTEST} to {LONGEST} bytes");
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        let password = password.to_owned();
        self.work(move || hash(&password)).await?
    }

    /// Whether the password matches this PHC string. `None` stands for a person who has no
    /// password.
    pub(crate) async fn verify(
        &self,
        known: Option<(&PersonId, CredentialId, &str)>,
        password: &str,
    ) -> Result<bool, Fault> {
        if password.len() > LONGEST {
            return Ok(false);
        }
        let tag = *blake3::keyed_hash(&self.key, password.as_bytes()).as_bytes();
        if let Some((person, id, _)) = known
            && let Some((verified, expected)) = self.remembered(person)
            && verified == id
        {
            return Ok(bool::from(tag.ct_eq(&expected)));
        }
        let phc = known.map_or(NOBODY, |(_, _, phc)| phc).to_owned();
        let password = password.to_owned();
        let matches = self.work(move || matches(&phc, &password)).await??;
        if let Some((person, id, _)) = known.filter(|_| matches) {
            let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
            verified.insert(person.clone(), (id, tag));
        }
        Ok(matches && known.is_some())
    }

    fn remembered(&self, person: &PersonId) -> Option<(CredentialId, [u8; 32])> {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(person).copied()
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let failed = |_| Fault::new(ErrorCode::Internal, "the password could not be checked");
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| failed(()))?;
        let result = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        result.await.map_err(|_| failed(()))
    }
}

fn hash(password: &str) -> Result<String, Fault> {
    let salt: [u8; 16] = random::bytes()?;
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|error| broken(&error))
}

fn matches(phc: &str, password: &str) -> Result<bool, Fault> {
    use argon2::password_hash::Error;
    let known = PasswordHash::new(phc).map_err(|error| {
        Fault::new(ErrorCode::Internal, format!("a stored password hash: {error}"))
    })?;
    match Argon2::default().verify_password(password.as_bytes(), &known) {
        Ok(()) => Ok(true),
        Err(Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(broken(&error)),
    }
}

fn broken(error: &argon2::password_hash::Error) -> Fault {
    Fault::new(ErrorCode::Internal, format!("a password could not be hashed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobodys_password_costs_as_much_as_anybodys_and_is_never_right() {
        let parameters = |phc: &str| phc.rsplitn(3, '$').nth(2).map(str::to_owned);
        assert_eq!(parameters(NOBODY), parameters(&hash("correct horse").unwrap()));
        assert_eq!(matches(NOBODY, "a password that nobody has"), Ok(false));
    }
}
