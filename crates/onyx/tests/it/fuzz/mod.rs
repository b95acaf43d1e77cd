//! Feeds readers of foreign input with random data. Settings, git's settings and rules for commands
//! are tested where they are read (`config::fuzz`, `git::config`, `commands::rule`).

mod doors;
mod formats;
mod pdf;
