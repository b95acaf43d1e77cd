//! The only way out of the machine for tools: a name is resolved, every address of it is checked,
//! and the connection goes to a checked address. Each redirect is checked again in the same way.
//!
//! Programs that may reach certain servers use a proxy of ours that applies the same checks.
//!
//! What may not enter: the content and purpose of a request, credentials, other proxies (such a
//! proxy would connect to an address that was not checked here).

mod address;
mod client;
mod error;
mod host_port;
mod private;
mod proxy;
mod resolve;

pub use address::{Address, is_public};
pub use client::{Bounds, Egress, FetchedAnswer, OpenAnswer};
pub use error::EgressError;
pub use host_port::HostPort;
pub use private::{PrivateHost, PrivateHosts};
pub use proxy::Proxy;
pub use reqwest::Method;
pub use resolve::{Resolver, SystemResolver};
