//! How providers are reached: the client that leaves this machine, and what stands in its way.

mod client;
mod obstacle;

pub(crate) use client::{LazyClient, is_loopback};
pub(crate) use obstacle::{Obstacle, transport};
