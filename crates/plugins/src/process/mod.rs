//! One running program of a plugin. It is started in the sandbox and speaks JSON-RPC, one message a
//! line. All its output is bounded, and it ends when its connection is dropped.

mod connection;
mod flood;
mod launch;
mod wire;

pub(crate) use connection::{Connection, INBOX, PluginRequest};
pub(crate) use launch::{LaunchOrder, Launcher};
