//! People's own accounts at LinkedIn, as their routes show them.

use futures::future::BoxFuture;
use onyx_types::{Fault, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LoginBegun, LoginView};

pub trait LinkedInAccounts: Send + Sync {
    fn account(&self, person: &PersonId) -> LinkedInAccount;

    /// Where to send the browser, which comes back to this page; who comes second gets the same.
    fn begin<'a>(
        &'a self,
        person: &'a PersonId,
        page: &'a str,
    ) -> BoxFuture<'a, Result<LoginBegun, Fault>>;

    /// With what the browser brought back. Only the person who began it can end it.
    fn finish(&self, person: &PersonId, fields: &[(&str, &str)]) -> Result<(), Fault>;

    /// Asks LinkedIn whose account it is; the account tells what came of it.
    fn check<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, ()>;

    /// Forgets the tokens here and gives them back there; the inner `Err` says why nobody there
    /// confirmed it.
    fn revoke<'a>(
        &'a self,
        person: &'a PersonId,
    ) -> BoxFuture<'a, Result<Result<(), String>, Fault>>;
}

/// A person's account, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkedInAccount {
    /// Whether the owner named an application of LinkedIn's in the config.
    pub configured: bool,
    /// What the owner has to mend before anybody can connect.
    pub trouble: Option<String>,
    pub login: LoginView,
    /// When LinkedIn last took the account's token, since the server started.
    pub last_validated_at: Option<Timestamp>,
    /// Why LinkedIn did not take the last request; null after one that it took.
    pub last_error: Option<String>,
}
