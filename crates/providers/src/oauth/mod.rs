//! Signing in to a provider, with a code that a person enters there (RFC 8628) or in a browser that
//! comes back to this machine (RFC 8252). The tokens are kept in the store of secrets, renewed once
//! for all callers, and never printed. `machine` holds the tokens of machines, for which no person
//! signs in.

mod answer;
mod attempt;
mod book;
mod browser;
mod endpoint;
mod login;
mod machine;
mod record;
mod renewal;
mod resolved_login;
mod server;
mod service;
mod shared;
mod status;
mod tokens;
mod vendors;

pub use book::{Logins, NoTokens, TokenStore};
pub(crate) use login::Login;
pub use machine::{AwsIdentity, AwsKeys, AwsSettings, AzureSettings, CredentialSettings};
pub(crate) use machine::{CredentialSettingsError, ResolvedCredential};
pub use resolved_login::{LoginSettings, LoginWay};
pub(crate) use resolved_login::{LoginSettingsError, ResolvedLogin};
pub use service::{ServiceLogin, ServiceLogins};
pub use shared::{SharedSignIns, SignInTurn};
pub use status::{LoginState, LoginStatus, Pending, Quota};
pub(crate) use tokens::TokenSource;
pub(crate) use vendors::{CHATGPT, GITHUB_COPILOT};
pub use vendors::{DeviceForm, VendorBrowser, VendorDevice, VendorLogin, VendorRedirect};
