//! Models behind HTTP: one module per wire format, vendors as data over it, decorators around it.
//!
//! The agent sees only `onyx_types::Model`. What may not enter: turns, sessions or tools' effects;
//! reading the environment (it is passed in); deciding an error's class by its wording; a key in
//! anything that can be printed.

mod decorators;
mod failure;
mod http;
mod registry;
mod secret;
pub mod wire;

pub use decorators::{Retry, RetryPolicy};
pub use registry::{
    AuthStyle, CompatSettings, KeyNeed, ModelSettings, ProviderKind, ProviderSettings,
    ProviderState, ProviderStatus, Registry, RegistryError, TimeoutSettings, VENDORS, Vendor,
};
pub use secret::Secret;
