//! The gateways of this database as the others see them: all of them, the holder of a session, and the
//! one on which a run was begun.

use onyx_types::{RunId, SessionKey};
use tokio_postgres::Row;

use super::Gateway;
use crate::StoreError;
use crate::postgres::connect::{DatabaseUrl, ServerError, connect_once};
use crate::postgres::convert::{count, get};
use crate::postgres::query::{read_all, row_if_any, rows};

/// A gateway as the other gateways see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayRow {
    pub id: String,
    pub incarnation: u64,
    pub url: String,
    pub is_alive: bool,
    /// The version of the program; empty if the program is too old to report it.
    pub version: String,
}

impl Gateway {
    /// The gateway that holds a session now; `None`: no living gateway holds it.
    pub(crate) async fn holder(&self, key: &SessionKey) -> Result<Option<GatewayRow>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT gateways.id, gateways.incarnation, url, TRUE, version
                      FROM session_log JOIN gateways
                        ON gateways.id = session_log.gateway
                       AND gateways.incarnation = session_log.incarnation
                      WHERE person = $1 AND agent = $2 AND session = $3
                        AND session_log.until > clock_timestamp()
                        AND gateways.until > clock_timestamp()";
        let (person, agent) = (key.person.as_str(), key.agent.as_str());
        let session = key.session.to_string();
        let found = row_if_any(&client, select, &[&person, &agent, &session]).await?;
        found.as_ref().map(gateway_row).transpose()
    }

    /// The living gateway on which a run was begun.
    pub(crate) async fn runner(&self, run: RunId) -> Result<Option<GatewayRow>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT gateways.id, gateways.incarnation, url, TRUE, version
                      FROM runs JOIN gateways ON gateways.id = runs.gateway
                                             AND gateways.incarnation = runs.incarnation
                      WHERE run = $1 AND until > clock_timestamp()";
        let found = row_if_any(&client, select, &[&run.to_string()]).await?;
        found.as_ref().map(gateway_row).transpose()
    }

    /// Lists all gateways by their names, living or not.
    pub(crate) async fn all(&self) -> Result<Vec<GatewayRow>, StoreError> {
        let client = self.database.client().await?;
        read_all(&rows(&client, ALL, &[]).await?, gateway_row)
    }
}

const ALL: &str =
    "SELECT id, incarnation, url, until > clock_timestamp(), version FROM gateways ORDER BY id";

/// Lists all gateways by their names, for programs that are not gateways themselves.
pub async fn list_gateways(url: &DatabaseUrl) -> Result<Vec<GatewayRow>, ServerError> {
    let client = connect_once(url).await?;
    let found = client.query(ALL, &[]).await.map_err(StoreError::from)?;
    Ok(read_all(&found, gateway_row)?)
}

fn gateway_row(row: &Row) -> Result<GatewayRow, StoreError> {
    Ok(GatewayRow {
        id: get(row, 0)?,
        incarnation: count(row, 1)?,
        url: get(row, 2)?,
        is_alive: get(row, 3)?,
        version: get(row, 4)?,
    })
}
