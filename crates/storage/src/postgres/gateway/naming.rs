//! How a gateway takes its name and gets an incarnation.

use std::sync::Mutex;

use onyx_types::Clock;
use tokio_postgres::types::ToSql;

use super::database_clock::{ClockReading, DATABASE_TIME};
use super::{GatewaySettings, LifeState, millis};
use crate::blocking::lock;
use crate::postgres::connect::Database;
use crate::postgres::convert::get;
use crate::postgres::query::row;
use crate::postgres::transaction::TransactionError;

/// What a gateway knows after it took its name.
pub(super) struct TakenName {
    pub(super) standing: LifeState,
    pub(super) reading: ClockReading,
}

/// Takes the gateway's name, even if another process has it. The new incarnation is put into `asked_for` before the
/// database learns it, so that this process recognises its own row even if the answer is lost.
pub(super) async fn take_name(
    database: &Database,
    settings: &GatewaySettings,
    url: &str,
    clock: &dyn Clock,
    asked_for: &Mutex<Option<i64>>,
) -> Result<TakenName, TransactionError> {
    let client = database.client().await?;
    let next = row(&client, "SELECT nextval('incarnations')", &[]).await?;
    let incarnation: i64 = get(&next, 0)?;
    *lock(asked_for) = Some(incarnation);
    let take = [
        "INSERT INTO gateways (id, incarnation, url, until, version)
         VALUES ($1, $5, $2,
                 clock_timestamp() + $3::DOUBLE PRECISION * INTERVAL '1 millisecond', $4)
         ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation,
             url = excluded.url, until = excluded.until, version = excluded.version,
             since = excluded.since, beaten = excluded.beaten, drain_asked = FALSE, drained = NULL
         RETURNING ",
        DATABASE_TIME,
    ];
    let life = millis(settings.life);
    let given: [&(dyn ToSql + Sync); 5] =
        [&settings.id, &url, &life, &env!("CARGO_PKG_VERSION"), &incarnation];
    let asked = clock.now().mono;
    let taken = row(&client, &take.concat(), &given).await?;
    let reading = ClockReading::new(get(&taken, 0)?, asked, clock.now().mono);
    let standing = LifeState::Alive { incarnation, until: asked + settings.life };
    Ok(TakenName { standing, reading })
}
