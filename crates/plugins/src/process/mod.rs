//! One program of a plugin at work: started in the sandbox, spoken with over JSON-RPC, one message a
//! line. Everything it says has a bound, and it ends with whoever holds it.

mod connection;
mod flood;
mod launch;
mod wire;

pub(crate) use connection::{Arrived, Connection, INBOX};
pub(crate) use launch::{LaunchOrder, Launcher};
