//! How a gateway takes its name and gets an incarnation.

use onyx_types::Clock;
use tokio_postgres::types::ToSql;

use super::database_clock::{ClockReading, DATABASE_TIME};
use super::{GatewaySettings, LifeState, millis};
use crate::postgres::connect::Database;
use crate::postgres::convert::get;
use crate::postgres::query::row;
use crate::postgres::transaction::TransactionError;

/// What a gateway knows after it took its name.
pub(super) struct TakenName {
    pub(super) standing: LifeState,
    pub(super) reading: ClockReading,
}

/// Takes the gateway's name, even if another process has it.
pub(super) async fn take_name(
    database: &Database,
    settings: &GatewaySettings,
    url: &str,
    clock: &dyn Clock,
) -> Result<TakenName, TransactionError> {
    let asked = clock.now().mono;
    let client = database.client().await?;
    let take = [
        "INSERT INTO gateways (id, incarnation, url, until, version)
         VALUES ($1, nextval('incarnations'), $2,
                 clock_timestamp() + $3::DOUBLE PRECISION * INTERVAL '1 millisecond', $4)
         ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation,
             url = excluded.url, until = excluded.until, version = excluded.version,
             since = excluded.since, beaten = excluded.beaten, drain_asked = FALSE, drained = NULL
         RETURNING incarnation, ",
        DATABASE_TIME,
    ];
    let life = millis(settings.life);
    let given: [&(dyn ToSql + Sync); 4] = [&settings.id, &url, &life, &env!("CARGO_PKG_VERSION")];
    let sent = clock.now().mono;
    let taken = row(&client, &take.concat(), &given).await?;
    let reading = ClockReading::new(get(&taken, 1)?, sent, clock.now().mono);
    let standing = LifeState::Alive { incarnation: get(&taken, 0)?, until: asked + settings.life };
    Ok(TakenName { standing, reading })
}
