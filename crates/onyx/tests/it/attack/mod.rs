//! Vulnerabilities that attacks on the running server found. Each was closed in the design.

mod chain;
mod deceiving;
mod helpers;
pub(crate) mod members;
mod searching;
