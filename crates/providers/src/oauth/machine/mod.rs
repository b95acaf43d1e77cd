//! Tokens for a machine's own identity: a service account or the application default credentials of
//! Google, an application of Microsoft Entra, a profile of Amazon's. Nobody signs in here. A token is got when the last one is
//! old, once for everybody who waits. What may not enter: an address that a request brings.

mod aws;
mod azure;
mod credential;
mod google;
mod settings;

pub use aws::{AwsIdentity, AwsKeys};
pub(crate) use credential::Credential;
pub use settings::{AwsSettings, AzureSettings, CredentialSettings};
pub(crate) use settings::{CredentialPlan, CredentialPlanError};

use std::time::Duration;

use super::answer::Refusal;
use crate::Secret;

/// A token with which requests go.
struct Granted {
    token: Secret,
    life: Duration,
    /// Whose token it is, for people.
    account: Option<String>,
    /// The project that pays, where the credential names one.
    quota_project: Option<String>,
}

/// Why there is no token.
#[derive(Debug)]
enum Trouble {
    /// Another try may do better.
    Passing(String),
    /// Nothing helps but another credential; with what to do about it.
    Refused(String),
}

/// As an authorization server says it.
fn trouble(refusal: Refusal) -> Trouble {
    match refusal {
        Refusal::Passing(words) => Trouble::Passing(words),
        Refusal::Final { words, .. } => Trouble::Refused(words),
    }
}
