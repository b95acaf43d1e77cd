//! Signing in at a provider with a code that a person enters there (RFC 8628), and the tokens that
//! come of it: kept in the store of secrets, renewed for everybody at once, never printed.

mod answer;
mod attempt;
mod book;
mod login;
mod plan;
mod record;
mod renewal;
mod server;
mod status;

pub use book::{Logins, NoTokens, TokenStore};
pub(crate) use login::Login;
pub use plan::{LoginSettings, VendorLogin};
pub(crate) use plan::{Plan, PlanError};
pub use status::{LoginState, LoginStatus, Pending};
