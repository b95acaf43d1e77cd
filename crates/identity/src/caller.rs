use onyx_types::{Cancel, CredentialId, Grants, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// A person or a program of theirs whose identity is proven.
#[derive(Clone, Debug)]
pub struct Caller {
    pub person: PersonId,
    pub is_owner: bool,
    pub kind: CallerKind,
    /// The caller's own credential, if it has an id. Credentials that were made with it end with
    /// it.
    pub credential: Option<CredentialId>,
    pub(crate) grants: Grants,
    pub expires_at: Option<Timestamp>,
    /// Cancelled when the credential is revoked.
    pub revoked: Cancel,
}

impl Caller {
    /// The rights of the credential. They are read-only, because code that could change them could
    /// create any other credential.
    pub fn grants(&self) -> Grants {
        self.grants
    }
}

/// How a caller proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerKind {
    /// The home's own socket: the kernel reports that the caller is the user who runs the server.
    LocalUser,
    /// The owner's token, from the config or the token file.
    OwnerToken,
    Token,
    Session,
    Password,
    /// A short-lived token, which a refresh token was exchanged for.
    Access,
}
