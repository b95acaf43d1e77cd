//! Tests identity and secrets over a real store, with a clock that the test moves.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod guesses;
mod keyring;
mod secrets;
mod sign_in;
mod world;
