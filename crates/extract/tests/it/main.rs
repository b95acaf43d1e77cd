//! Tests documents as people and the web have them, and as attackers make them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod documents;
mod office;
mod pages;
