//! Gives back a session that this gateway may have taken although the answer was lost, or nobody waited for it any more.
//! Without this nobody could use the session until the lease expires, because the database says that a living gateway
//! holds it.

use std::sync::Weak;
use std::time::Duration;

use onyx_types::SessionKey;

use super::Gateway;
use super::leases::{PostgresLeases, release_fences};
use crate::StoreError;
use crate::postgres::convert::get;
use crate::postgres::query::row_if_any;

const FIRST_LOOK: Duration = Duration::from_millis(250);
const SLOWEST_LOOKS: Duration = Duration::from_secs(4);

/// A lease that was asked for, without an answer.
pub(super) struct UnansweredLease {
    pub(super) key: SessionKey,
    pub(super) incarnation: i64,
    /// When the lease expires at the latest, by the clock of the leases.
    pub(super) until: Duration,
}

/// A lease that the database is asked for. If the answer is lost, or nobody waits for it any more, the session is given
/// back.
pub(super) struct AskedLease<'a> {
    leases: &'a PostgresLeases,
    asked: Option<UnansweredLease>,
}

impl<'a> AskedLease<'a> {
    pub(super) fn new(leases: &'a PostgresLeases, asked: UnansweredLease) -> Self {
        Self { leases, asked: Some(asked) }
    }

    pub(super) fn answered(&mut self) {
        self.asked = None;
    }
}

impl Drop for AskedLease<'_> {
    fn drop(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.leases.give_back(asked);
        }
    }
}

/// Looks until the lease was given back or has expired, because the request may also arrive late. A fence counts as that
/// of the lost answer if nobody here knows it at two looks; one that is seen for the first time may be that of a task
/// whose answer is about to arrive.
pub(super) async fn give_back(
    gateway: Weak<Gateway>,
    asked: UnansweredLease,
    is_known: impl Fn(i64) -> bool + Send,
) {
    let (mut wait, mut seen) = (FIRST_LOOK, None);
    loop {
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(SLOWEST_LOOKS);
        let Some(gateway) = gateway.upgrade() else { return };
        if gateway.now() > asked.until {
            return;
        }
        let Ok(found) = fence_of(&gateway, &asked).await else { continue };
        let Some(fence) = found else { continue };
        if is_known(fence) {
            return;
        }
        if seen == Some(fence)
            && release_fences(&gateway.database, &asked.key, &[fence]).await.is_ok()
        {
            let session = asked.key.session;
            tracing::info!(%session, "a session that was taken without an answer is free again");
            return;
        }
        seen = Some(fence);
    }
}

/// The fence of the session if this incarnation holds it.
async fn fence_of(gateway: &Gateway, asked: &UnansweredLease) -> Result<Option<i64>, StoreError> {
    let client = gateway.database.client().await?;
    let select = "SELECT fence FROM session_log
                  WHERE person = $1 AND agent = $2 AND session = $3
                    AND gateway = $4 AND incarnation = $5 AND until > clock_timestamp()";
    let (person, agent) = (asked.key.person.as_str(), asked.key.agent.as_str());
    let session = asked.key.session.to_string();
    let found = row_if_any(
        &client,
        select,
        &[&person, &agent, &session, &gateway.id(), &asked.incarnation],
    )
    .await?;
    found.map(|row| get(&row, 0)).transpose()
}
