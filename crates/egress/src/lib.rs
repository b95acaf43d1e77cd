//! The only way out of the machine for tools: a name is resolved, every address of it is checked,
//! and the connection goes to a checked address. Redirects come back here and are checked again.
//!
//! What may not enter: what is fetched and why, credentials, proxies (one would connect for us, to
//! an address that nobody checked).

mod address;
mod client;
mod error;
mod private;
mod resolve;

pub use address::{Address, is_public};
pub use client::{Bounds, Egress, Fetched};
pub use error::EgressError;
pub use private::{PrivateHost, PrivateHosts};
pub use resolve::{Resolver, SystemResolver};
