//! Claims the home, which only one process at a time can hold.

use anyhow::Result;
use onyx_storage::{Home, HomeError};

use crate::home::HomeFolder;

pub(crate) enum Claim {
    Ours(Home),
    /// Another process holds the home; the text says which.
    Theirs(String),
}

/// Claims the home if it is free. Creates the folder if it does not exist.
pub(crate) fn claim(folder: &HomeFolder) -> Result<Claim> {
    match Home::open(folder.path()) {
        Ok(home) => Ok(Claim::Ours(home)),
        Err(error @ HomeError::InUse { .. }) => Ok(Claim::Theirs(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Another process holds the home and cannot be reached.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}
