//! Decides who may create which credential; no other code does. Every credential (a password, a
//! token, a browser's session, a link, an approved pairing, an SDK's tokens) is created from a
//! [`Permit`] or renewed from an existing one, and both are only made in this file. Nothing here
//! asks the network or the ledger.

use onyx_storage::{CredentialKind, CredentialRow};
use onyx_types::{CredentialId, ErrorCode, Fault, Grant, Grants, Hash, PersonId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::credentials::KnownCredential;

/// The people and rights that a new credential may have. A permit is stored only where the server
/// keeps a credential that waits to be picked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Permit {
    people: Vec<PersonId>,
    grants: Grants,
}

/// The properties of a new credential beside its people and its rights.
pub(crate) struct CredentialDetails {
    pub(crate) credential: CredentialId,
    pub(crate) kind: CredentialKind,
    pub(crate) name: String,
    pub(crate) hash: Hash,
    pub(crate) parent: Option<CredentialId>,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
}

/// A permitted credential that can be stored.
#[derive(Clone, Debug)]
pub(crate) struct IssuedCredential(CredentialRow);

impl Permit {
    /// Applies the rule: no one gives a right that their own credential lacks, and only the owner,
    /// with a credential for administration, creates a credential for another person.
    pub(crate) fn new(
        maker: &Caller,
        people: Vec<PersonId>,
        grants: Grants,
    ) -> Result<Self, Fault> {
        let for_others = people.iter().any(|person| *person != maker.person);
        if for_others && !(maker.is_owner && maker.grants.has(Grant::Admin)) {
            let message = "only the owner can create credentials for other people";
            return Err(Fault::new(ErrorCode::Forbidden, message));
        }
        let missing = grants.without(maker.grants);
        if missing.is_empty() {
            return Ok(Self { people, grants });
        }
        let message = format!(
            "this credential lacks the scope `{}` that the new one would have",
            missing.iter().map(Grant::as_str).collect::<Vec<_>>().join("`, `")
        );
        Err(Fault::new(ErrorCode::Forbidden, message).with_hint(
            "A credential can only create credentials with its own scopes. Use one with these scopes, \
             or `onyx` on the machine that it runs on.",
        ))
    }

    pub(crate) fn written(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|error| unreadable(&error))
    }

    /// Reads a permit that this server stored.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        serde_json::from_str(text).map_err(|error| unreadable(&error))
    }

    pub(crate) fn people(&self) -> &[PersonId] {
        &self.people
    }

    pub(crate) fn issue(self, made: CredentialDetails) -> IssuedCredential {
        IssuedCredential(CredentialRow {
            credential: made.credential,
            kind: made.kind,
            people: self.people,
            name: made.name,
            hash: made.hash,
            grants: self.grants,
            parent: made.parent,
            created_at: made.created_at,
            expires_at: made.expires_at,
        })
    }
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(ErrorCode::Internal, format!("a permit that waits is not understood: {error}"))
}

impl IssuedCredential {
    /// The same credential with the same rights and a new secret.
    pub(crate) fn renewed(held: KnownCredential, hash: Hash) -> Self {
        Self(CredentialRow { hash, ..held.row })
    }

    pub(crate) fn row(&self) -> &CredentialRow {
        &self.0
    }

    pub(crate) fn into_row(self) -> CredentialRow {
        self.0
    }
}
