//! People's own LinkedIn accounts, as their routes show them.

use futures::future::BoxFuture;
use onyx_types::{Fault, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LoginBegun, LoginView};

pub trait LinkedInAccounts: Send + Sync {
    fn account(&self, person: &PersonId) -> LinkedInAccount;

    /// Begins a sign-in and returns the address to open; the browser returns to `page`. A
    /// second caller gets the same sign-in.
    fn begin<'a>(
        &'a self,
        person: &'a PersonId,
        page: &'a str,
    ) -> BoxFuture<'a, Result<LoginBegun, Fault>>;

    /// Finishes the sign-in with what the browser brought back. Only the person who began it can
    /// finish it.
    fn finish(&self, person: &PersonId, fields: &[(&str, &str)]) -> Result<(), Fault>;

    /// Asks LinkedIn for the account; `account` shows the result.
    fn check<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, ()>;

    /// Deletes the tokens here and revokes them at LinkedIn; the inner `Err` says why LinkedIn did
    /// not confirm it.
    fn revoke<'a>(
        &'a self,
        person: &'a PersonId,
    ) -> BoxFuture<'a, Result<Result<(), String>, Fault>>;
}

/// A person's account, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkedInAccount {
    /// Whether the owner has configured a LinkedIn application.
    pub configured: bool,
    /// What the owner has to correct before anyone can connect.
    pub trouble: Option<String>,
    pub login: LoginView,
    /// When LinkedIn last accepted the account's token, since the server started.
    pub last_validated_at: Option<Timestamp>,
    /// Why LinkedIn refused the last request; null after one that succeeded.
    pub last_error: Option<String>,
}
