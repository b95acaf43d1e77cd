//! Tokens for a machine's own identity: a service account or the application default credentials of
//! Google, an application of Microsoft Entra, a profile of Amazon's. No person signs in here. A new
//! token is fetched when the last one expires, once for all callers that wait. What may not enter:
//! an address that a request brings.

mod aws;
mod azure;
mod credential;
mod google;
mod settings;

pub use aws::{AwsIdentity, AwsKeys};
pub(crate) use credential::Credential;
pub use settings::{AwsSettings, AzureSettings, CredentialSettings};
pub(crate) use settings::{CredentialSettingsError, ResolvedCredential};

use std::time::Duration;

use super::answer::Refusal;
use crate::Secret;

/// A token for requests.
struct MachineToken {
    token: Secret,
    life: Duration,
    /// The name of the token's account, for people to read.
    account: Option<String>,
    /// The project that pays, if the credential names one.
    quota_project: Option<String>,
}

/// Why there is no token.
#[derive(Debug)]
enum TokenFailure {
    /// Another try may succeed.
    Passing(String),
    /// Only another credential helps; the text says what to do about it.
    Refused(String),
}

/// Converts an authorization server's refusal.
fn trouble(refusal: Refusal) -> TokenFailure {
    match refusal {
        Refusal::Passing(words) => TokenFailure::Passing(words),
        Refusal::Final { words, .. } => TokenFailure::Refused(words),
    }
}
