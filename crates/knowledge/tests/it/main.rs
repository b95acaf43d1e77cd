#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod chunking;
mod conversations;
mod damage;
mod eviction;
mod files;
mod finding;
mod fresh;
mod gateways;
mod graph;
mod meaning;
mod messages;
mod scopes;
mod talk;
mod tokens;
mod world;
