//! Readers of what strangers wrote, fed with whatever comes. Settings, git's settings and rules for
//! commands are tried where they are read (`config::fuzz`, `git::config`, `commands::rule`).

mod doors;
mod formats;
mod pdf;
