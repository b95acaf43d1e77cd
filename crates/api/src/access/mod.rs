//! Access: what each route requires of its caller, who the caller is, and from which pages a
//! browser may call at all.
//!
//! The router puts these checks before every handler; a handler that needs its caller takes an
//! [`AuthContext`]. Nothing here decides what an agent may do, and no credential is kept here: that
//! is `onyx-identity`'s.

mod admission;
mod authentication;
pub(crate) mod cookie;
mod cors;
mod front;
mod host_and_origin;
mod revocation;
pub(crate) mod sign_in_audit;

pub use admission::Access;
pub(crate) use admission::{guarded, may};
pub(crate) use authentication::address_of;
pub use authentication::{AuthContext, Authenticator};
pub use front::Front;
pub(crate) use front::Scheme;
pub use host_and_origin::check_local;
pub(crate) use host_and_origin::{check_host_and_origin, is_on_this_machine};
