//! Servers and programs of others, with their failures: authorization servers, chat networks,
//! LinkedIn, web sites, command lines, and a proxy that loses messages.

mod authorization;
mod fault_proxy;
mod linkedin;
pub mod networks;
mod programs;
mod site;

pub use authorization::{AuthorizationServer, Decision, Grant};
pub use fault_proxy::{FaultProxy, NetworkFault};
pub use linkedin::{LinkedInFault, LinkedInServer};
pub use programs::FakeProgram;
pub use site::{Page, Site};
