#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::disallowed_methods, reason = "tests look at the files from outside, as people do")]

mod bounds;
mod calls;
mod confinement;
mod conflicts;
mod copies;
mod decisions;
mod docker;
mod drafts;
mod entities;
mod executed;
mod files;
mod git;
mod linkedin;
mod memory;
mod menos;
mod never_wider;
mod policies;
mod provenance;
mod runtime;
mod searching;
mod sessions;
mod specs;
mod support;
mod toolbox;
mod web;
