use onyx_types::{Cancel, CredentialId, Grants, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// A person or a program of theirs whose identity is proven.
#[derive(Clone, Debug)]
pub struct Caller {
    pub person: PersonId,
    pub is_owner: bool,
    pub kind: CallerKind,
    /// The caller's own credential, if it has an id: credentials made with it end with it.
    pub credential: Option<CredentialId>,
    pub(crate) grants: Grants,
    pub expires_at: Option<Timestamp>,
    /// Cancelled when the credential is revoked.
    pub revoked: Cancel,
}

impl Caller {
    /// What the credential is good for. Read only: code that could change it could create any other
    /// credential.
    pub fn grants(&self) -> Grants {
        self.grants
    }
}

/// How a caller came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerKind {
    /// The home's own socket: the kernel says that it is the same user.
    LocalUser,
    /// The owner's token of the config or the token file.
    OwnerToken,
    Token,
    Session,
    Password,
    /// A short-lived token that a refresh token was exchanged for.
    Access,
}
