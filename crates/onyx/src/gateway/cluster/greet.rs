//! Asks every gateway whether it answers, for `onyx doctor`, which is not a gateway itself.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use futures::future::join_all;
use onyx_agent::GatewayAddress;
use onyx_identity::MasterKey;
use onyx_storage::GatewayRow;
use onyx_types::{Clock, SystemClock};

use super::ask::{Asker, NoAnswer};
use super::gateway_key;
use super::proof::ProofClock;
use super::routes::{GREETING, Greeting};

/// The result of asking a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GreetResult {
    /// The gateway has not reported for so long that it counts as dead, so it was not asked.
    Silent,
    Unreachable(String),
    /// The answer did not prove that it knows the key of this database's gateways.
    NotProven,
    Answers {
        version: String,
        /// By how many milliseconds its clock is ahead of this machine's; negative if it is behind.
        clock_ahead: i64,
    },
}

/// Asks all gateways at once, in the name of one of them. The database's clock is so many milliseconds ahead of this
/// machine's.
pub(crate) async fn greet(
    master: &MasterKey,
    from: &str,
    all: Vec<GatewayRow>,
    database_ahead: i64,
) -> Result<Vec<(GatewayRow, GreetResult)>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let key = Arc::new(gateway_key(master));
    let proofs = ProofClock::Command { clock: Arc::clone(&clock), ahead: database_ahead };
    let asker = Asker::new(key, proofs, from.to_owned())?;
    let greetings = all.into_iter().map(async |row| {
        let greeted = greet_one(&asker, &*clock, &row).await;
        (row, greeted)
    });
    Ok(join_all(greetings).await)
}

async fn greet_one(asker: &Asker, clock: &dyn Clock, row: &GatewayRow) -> GreetResult {
    if !row.is_alive {
        return GreetResult::Silent;
    }
    let at = GatewayAddress { id: row.id.clone(), url: row.url.clone() };
    let (asked, began) = (clock.wall(), Instant::now());
    let answer = match asker.ask(&at, GREETING, &()).await {
        Ok(response) => response.json::<Greeting>().await.map_err(|error| error.to_string()),
        Err(NoAnswer::NotProven) => return GreetResult::NotProven,
        Err(NoAnswer::Unreachable(why)) => Err(why),
        Err(NoAnswer::Refused(fault)) => Err(fault.message),
    };
    // The answer is assumed to be from the middle of the time that the request took.
    let here = asked.saturating_add(began.elapsed() / 2).as_millis();
    match answer {
        Ok(Greeting { version, now }) => {
            GreetResult::Answers { version, clock_ahead: now.as_millis().saturating_sub(here) }
        }
        Err(why) => GreetResult::Unreachable(why),
    }
}
