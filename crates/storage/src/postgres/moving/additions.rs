//! Adds single files or conversations to a server, which may be in use. Nothing is overwritten.

use std::time::SystemTime;

use super::MoveError;
use super::files::{self, Content};
use super::logs::{self, LogName};
use super::server_side::{ServerSide, half_moved};
use crate::ServerSettings;

#[derive(Debug)]
pub struct ServerAdditions {
    side: ServerSide,
}

impl ServerAdditions {
    pub async fn open(settings: &ServerSettings) -> Result<Self, MoveError> {
        let side = ServerSide::open(settings).await?;
        if half_moved(&side.database).await? {
            return Err(MoveError::NotEmpty("the database, which a move has not finished with,"));
        }
        Ok(Self { side })
    }

    /// Adds a file under its path in a home. `false`: there is a file with this path already.
    pub async fn add_file(
        &self,
        path: &str,
        bytes: Vec<u8>,
        modified: SystemTime,
    ) -> Result<bool, MoveError> {
        files::add(&self.side, path, &Content { bytes, modified }).await
    }

    /// Adds a conversation under the path of its log in a home. `false`: there is one with this
    /// path already.
    pub async fn add_log(&self, path: &str, log: &[u8]) -> Result<bool, MoveError> {
        let no_log =
            || MoveError::File { path: path.to_owned(), why: "it is not a log".to_owned() };
        Ok(logs::add(&self.side, &LogName::of_path(path).ok_or_else(no_log)?, log).await?)
    }
}
