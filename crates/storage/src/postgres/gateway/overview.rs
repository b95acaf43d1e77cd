//! Shows the gateways to the owner, and lets the owner ask a gateway to give back everything it
//! holds.

use std::collections::BTreeMap;
use std::time::Duration;

use onyx_types::Timestamp;
use tokio_postgres::Row;

use crate::StoreError;
use crate::postgres::connect::Database;
use crate::postgres::convert::{count, get, timestamp};
use crate::postgres::query::{execute, rows};

/// A gateway as the owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayOverview {
    pub id: String,
    pub url: String,
    /// The version of the program; empty if the program is too old to report it.
    pub version: String,
    pub state: GatewayState,
    /// When the current process took the gateway's name.
    pub since: Timestamp,
    /// The time since the last heartbeat, by the database's clock.
    pub silent_for: Duration,
    /// The number of answers in progress.
    pub runs: u64,
    /// The number of jobs that are running.
    pub jobs: u64,
    /// The names of other work that only this gateway does: `draft …`, `connector …`, `sign-in …`,
    /// `sweep`.
    pub owns: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayState {
    Serving,
    /// There was no heartbeat for longer than a life, so the others may have taken over what it
    /// held.
    Silent,
    /// The gateway was asked to give everything back, and is finishing the answers in progress.
    Draining,
    /// The gateway runs, but holds nothing and begins nothing.
    Drained,
}

/// Lists all gateways of this database by their names.
pub(crate) async fn overview(database: &Database) -> Result<Vec<GatewayOverview>, StoreError> {
    let client = database.client().await?;
    let select = "
        SELECT id, url, version,
               (extract(epoch FROM since) * 1000)::BIGINT,
               extract(epoch FROM clock_timestamp() - beaten)::DOUBLE PRECISION,
               until > clock_timestamp(), drain_asked, drained IS NOT NULL,
               (SELECT count(*) FROM runs WHERE runs.status IS NULL
                    AND runs.gateway = gateways.id AND runs.incarnation = gateways.incarnation),
               (SELECT count(*) FROM job_slots WHERE job_slots.state = 'running'
                    AND job_slots.gateway = gateways.id
                    AND job_slots.incarnation = gateways.incarnation)
        FROM gateways ORDER BY id";
    let gateways = rows(&client, select, &[]).await?;
    let owned = "SELECT gateways.id, owners.name
                 FROM owners JOIN gateways ON gateways.id = owners.gateway
                                          AND gateways.incarnation = owners.incarnation
                 ORDER BY owners.name";
    let mut owns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in &rows(&client, owned, &[]).await? {
        owns.entry(get(row, 0)?).or_default().push(get(row, 1)?);
    }
    gateways.iter().map(|row| read(row, &mut owns)).collect()
}

/// Asks a gateway to give everything back; a gateway that is not alive is removed from the list.
/// `NotFound` when there is no such gateway.
pub(crate) async fn ask_to_drain(database: &Database, id: &str) -> Result<(), StoreError> {
    let client = database.client().await?;
    let ask = "UPDATE gateways SET drain_asked = TRUE
               WHERE id = $1 AND (until > clock_timestamp() OR drained IS NOT NULL)";
    if execute(&client, ask, &[&id]).await? > 0 {
        return Ok(());
    }
    let forget = "DELETE FROM gateways WHERE id = $1 AND until <= clock_timestamp()";
    if execute(&client, forget, &[&id]).await? > 0 { Ok(()) } else { Err(StoreError::NotFound) }
}

fn read(
    row: &Row,
    owns: &mut BTreeMap<String, Vec<String>>,
) -> Result<GatewayOverview, StoreError> {
    let id: String = get(row, 0)?;
    let (is_alive, is_asked, is_drained): (bool, bool, bool) =
        (get(row, 5)?, get(row, 6)?, get(row, 7)?);
    let state = match (is_drained, is_alive, is_asked) {
        (true, _, _) => GatewayState::Drained,
        (false, false, _) => GatewayState::Silent,
        (false, true, true) => GatewayState::Draining,
        (false, true, false) => GatewayState::Serving,
    };
    let silent_for: f64 = get(row, 4)?;
    Ok(GatewayOverview {
        url: get(row, 1)?,
        version: get(row, 2)?,
        state,
        since: timestamp(row, 3)?,
        silent_for: Duration::try_from_secs_f64(silent_for).unwrap_or_default(),
        runs: count(row, 8)?,
        jobs: count(row, 9)?,
        owns: owns.remove(&id).unwrap_or_default(),
        id,
    })
}
