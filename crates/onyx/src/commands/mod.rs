//! One module per command. Each returns how the process ends.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod models;
pub(crate) mod reindex;
pub(crate) mod serve;
pub(crate) mod sessions;

use crate::client::ClientError;
use crate::exit::Exit;
use crate::output;

/// Tells of a request that failed, and how that ends the process.
fn refused(error: &ClientError) -> Exit {
    output::fault(&error.fault());
    error.exit()
}
