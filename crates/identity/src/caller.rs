use onyx_types::{Cancel, CredentialId, Grants, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// Somebody who has shown who they are.
#[derive(Clone, Debug)]
pub struct Caller {
    pub person: PersonId,
    pub is_owner: bool,
    pub kind: CallerKind,
    /// What they came with, where it can be named: what is made with it ends with it.
    pub credential: Option<CredentialId>,
    pub(crate) grants: Grants,
    pub expires_at: Option<Timestamp>,
    /// Told when the credential is revoked.
    pub revoked: Cancel,
}

impl Caller {
    /// What the credential is good for. Read only: whoever could change it could make any other.
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
