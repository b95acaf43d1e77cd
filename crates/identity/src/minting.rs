//! Who may make which credential, decided here and nowhere else. Whatever opens a door (a password,
//! a token, a browser's session, a link, an approved pairing, an SDK's tokens) is made from a
//! [`Permit`] or renewed from one that exists, and neither can be had without passing through this
//! file. Nothing here asks the network or the ledger.

use onyx_storage::{CredentialKind, CredentialRow};
use onyx_types::{CredentialId, ErrorCode, Fault, Grant, Grants, Hash, PersonId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::credentials::KnownCredential;

/// What a new credential may be: for whom, and good for what. It is written down only where this server keeps what waits
/// to be picked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Permit {
    people: Vec<PersonId>,
    grants: Grants,
}

/// What is new about a credential, beside whom it is for and what it is good for.
pub(crate) struct Particulars {
    pub(crate) credential: CredentialId,
    pub(crate) kind: CredentialKind,
    pub(crate) name: String,
    pub(crate) hash: Hash,
    pub(crate) parent: Option<CredentialId>,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
}

/// A credential that was permitted and can be written down.
#[derive(Clone, Debug)]
pub(crate) struct Minted(CredentialRow);

impl Permit {
    /// The rule: nobody hands out a right that their own credential lacks, and only the owner, by a
    /// credential that is good for administration, makes one for somebody else.
    pub(crate) fn new(
        maker: &Caller,
        people: Vec<PersonId>,
        grants: Grants,
    ) -> Result<Self, Fault> {
        let for_others = people.iter().any(|person| *person != maker.person);
        if for_others && !(maker.is_owner && maker.grants.has(Grant::Admin)) {
            let message = "only the owner makes credentials for other people";
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
            "No credential makes one that is good for more than itself. Use one with these scopes, \
             or `onyx` on the machine that it runs on.",
        ))
    }

    pub(crate) fn written(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|error| unreadable(&error))
    }

    /// One that this server wrote down.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        serde_json::from_str(text).map_err(|error| unreadable(&error))
    }

    pub(crate) fn people(&self) -> &[PersonId] {
        &self.people
    }

    pub(crate) fn mint(self, made: Particulars) -> Minted {
        Minted(CredentialRow {
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

impl Minted {
    /// The same credential, good for the same, under a new secret.
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
