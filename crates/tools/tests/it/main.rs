#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::disallowed_methods, reason = "tests look at the files from outside, as people do")]

mod bounds;
mod calls;
mod confinement;
mod conflicts;
mod decisions;
mod drafts;
mod files;
mod memory;
mod policies;
mod provenance;
mod specs;
mod support;
mod web;
