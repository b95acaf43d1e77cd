//! What all gateways share besides people's data: values that the first gateway sets for all, and
//! `onyx.json`.

use tokio_postgres::Row;

use super::Gateway;
use crate::StoreError;
use crate::postgres::connect::{DatabaseUrl, ServerError, connect_once};
use crate::postgres::convert::get;
use crate::postgres::query::{execute, row, row_if_any};
use crate::postgres::transaction::transact;

/// The shared `onyx.json` that all gateways follow.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedConfig {
    /// The number of this version, which grows by one with every change.
    pub version: i64,
    pub text: String,
}

/// Leaves out the text, because it may hold keys.
impl std::fmt::Debug for SharedConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedConfig").field("version", &self.version).finish_non_exhaustive()
    }
}

const NEWEST: &str = "SELECT version, text FROM config_versions ORDER BY version DESC LIMIT 1";

/// Reads the shared config for programs that only read and are not gateways. `None`: no gateway has
/// written one yet.
pub async fn read_shared_config(url: &DatabaseUrl) -> Result<Option<SharedConfig>, ServerError> {
    let client = connect_once(url).await?;
    let found = client.query_opt(NEWEST, &[]).await.map_err(StoreError::from)?;
    Ok(found.as_ref().map(shared_config).transpose()?)
}

fn shared_config(row: &Row) -> Result<SharedConfig, StoreError> {
    Ok(SharedConfig { version: get(row, 0)?, text: get(row, 1)? })
}

impl Gateway {
    /// Offers a value and returns the one that counts for all gateways: this one, unless another
    /// was set before.
    pub(crate) async fn agree(&self, name: &str, value: &str) -> Result<String, StoreError> {
        let client = self.database.client().await?;
        let offer = "INSERT INTO agreed (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        execute(&client, offer, &[&name, &value]).await?;
        get(&row(&client, "SELECT value FROM agreed WHERE name = $1", &[&name]).await?, 0)
    }

    pub(crate) async fn config(&self) -> Result<Option<SharedConfig>, StoreError> {
        let client = self.database.client().await?;
        row_if_any(&client, NEWEST, &[]).await?.as_ref().map(shared_config).transpose()
    }

    /// Writes the version after `before` (0: the first version). `Conflict` when another writer did
    /// so meanwhile.
    pub(crate) async fn put_config(&self, before: i64, text: &str) -> Result<i64, StoreError> {
        let version = before + 1;
        transact!(self.database, transaction => {
            let put = "INSERT INTO config_versions (version, text, gateway)
                       SELECT $1::BIGINT, $2, $3
                       WHERE $1::BIGINT - 1 = coalesce((SELECT max(version) FROM config_versions), 0)
                       ON CONFLICT DO NOTHING";
            let written = execute(&transaction, put, &[&version, &text, &self.id()]).await?;
            if written == 0 {
                return Err(StoreError::Conflict.into());
            }
            // The last hundred versions are kept for people who look back.
            let forget = "DELETE FROM config_versions WHERE version < $1::BIGINT - 100";
            execute(&transaction, forget, &[&version]).await?;
            let bump = "UPDATE counters SET value = value + 1 WHERE name = 'config'";
            execute(&transaction, bump, &[]).await?;
            Ok(version)
        })
    }
}
