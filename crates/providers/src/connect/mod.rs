//! How Onyx reaches providers: the HTTP client, and the obstacles between it and them.

mod client;
mod obstacle;

pub(crate) use client::{LazyClient, is_loopback};
pub(crate) use obstacle::{ConnectFailure, transport};
