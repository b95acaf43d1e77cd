//! Tests plugins with a real program in the real sandbox, in each kind that this machine has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod accepting;
mod connecting;
mod hostile;
mod house;
mod packages;
