//! One running program of a plugin: started in the sandbox, JSON-RPC, one message a line. All its
//! output is bounded, and it ends when its connection is dropped.

mod connection;
mod flood;
mod launch;
mod wire;

pub(crate) use connection::{Arrived, Connection, INBOX};
pub(crate) use launch::{LaunchOrder, Launcher};
