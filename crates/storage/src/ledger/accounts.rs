use std::fmt;

use async_trait::async_trait;
use onyx_types::{CredentialId, Grants, Hash, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRow {
    pub person: PersonId,
    pub name: Option<String>,
    pub role: Role,
    pub added_at: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Owner,
    #[default]
    Member,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
        }
    }
}

/// A credential that gives access. It holds the hash of a secret, never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRow {
    pub credential: CredentialId,
    pub kind: CredentialKind,
    /// The people that the credential may speak for; the first is the default.
    pub people: Vec<PersonId>,
    pub name: String,
    pub hash: Hash,
    pub grants: Grants,
    /// The credential with which this one was made; this one ends when its parent does. The parent
    /// need not have a row.
    pub parent: Option<CredentialId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    /// A token for programs, `onyx_sk_…`.
    Token,
    /// The cookie of a browser.
    Session,
    /// A credential with which an SDK gets short-lived tokens.
    Refresh,
}

impl CredentialKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Session => "session",
            Self::Refresh => "refresh",
        }
    }
}

/// A secret in its sealed form, as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret {
    pub id: SecretId,
    /// The name of the key with which the secret is sealed.
    pub key: String,
    pub nonce: Vec<u8>,
    pub sealed: Vec<u8>,
    pub updated_at: Timestamp,
}

/// The id of a secret: the person it belongs to, its provider or purpose, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretId {
    pub person: PersonId,
    pub provider: String,
    pub name: String,
}

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedSecret").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The people who may sign in, and their credentials. The tables are small and are read whole at
/// the start.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Returns a number that grows with every change by any process. Whatever is read after it
    /// contains the changes that it counts. A ledger that only this process changes returns 0.
    async fn changes(&self) -> Result<u64, StoreError>;

    /// Lists the people by name.
    async fn people(&self) -> Result<Vec<PersonRow>, StoreError>;

    /// Adds the person; `Conflict` when there is a person of this name already.
    async fn add_person(&self, row: PersonRow) -> Result<(), StoreError>;

    /// Removes the person with their password and credentials, in one transaction. `NotFound` when
    /// there is no such person.
    async fn remove_person(&self, person: &PersonId) -> Result<(), StoreError>;

    /// Returns the password hash of each person who has a password, as a PHC string.
    async fn passwords(&self) -> Result<Vec<(PersonId, String)>, StoreError>;

    async fn set_password(&self, person: &PersonId, hash: String) -> Result<(), StoreError>;

    async fn remove_password(&self, person: &PersonId) -> Result<(), StoreError>;

    /// Lists the credentials in the order in which they were made.
    async fn credentials(&self) -> Result<Vec<CredentialRow>, StoreError>;

    async fn put_credential(&self, row: CredentialRow) -> Result<(), StoreError>;

    /// Removes all of the credentials or none. Removing a credential that does not exist is no
    /// error.
    async fn remove_credentials(&self, ids: &[CredentialId]) -> Result<(), StoreError>;
}

/// The store of sealed secrets.
#[async_trait]
pub trait SealedSecrets: Send + Sync {
    /// Lists the secrets by person, provider and name.
    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError>;

    /// Writes all of the secrets or none. Each replaces an earlier secret with the same id.
    async fn put_secrets(&self, rows: Vec<SealedSecret>) -> Result<(), StoreError>;

    /// Removes the secret; `NotFound` when there is none with this id.
    async fn remove_secret(&self, id: &SecretId) -> Result<(), StoreError>;
}
