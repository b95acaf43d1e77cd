//! Reads, with one poll, what the other gateways did. Counters grow in the same transaction as the
//! change that they count, so a revocation is never missed. Notices are only hints to look again,
//! and may be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Gateway;
use crate::StoreError;
use crate::postgres::convert::get;
use crate::postgres::query::{execute, rows};

/// How far back each poll looks for notices, because a notice may become visible late and out of
/// the order of the numbers. Notices that were seen before are left out by their numbers.
const LOOK_BACK_SECONDS: f64 = 10.0;
/// After this many seconds notices are deleted. A gateway that could not poll looks back at most
/// this far.
const KEPT_SECONDS: f64 = 120.0;

/// How long a poll waits for its answer. The connection of a database that vanished stays open, and
/// nothing may keep this gateway from seeing what was revoked for longer than that.
const PATIENCE: Duration = Duration::from_secs(3);

/// How far a gateway has read what the others did.
#[derive(Debug, Default)]
pub struct PollPosition {
    counters: BTreeMap<String, i64>,
    /// The notices that were seen, by their numbers, with the times when they were.
    notices: BTreeMap<i64, Duration>,
    /// The incarnations of the other gateways that lived at the last poll.
    alive: BTreeSet<i64>,
    /// When the last poll that succeeded began.
    polled: Option<Duration>,
}

impl PollPosition {
    /// How many seconds the next poll looks back. It looks back further after a time without polls,
    /// because notices from that time were not seen.
    fn look_back(&self, now: Duration) -> f64 {
        let since = self.polled.map(|polled| now.saturating_sub(polled)).unwrap_or_default();
        (LOOK_BACK_SECONDS + since.as_secs_f64()).min(KEPT_SECONDS)
    }

    /// Forgets old notices, because only those that a poll can return again need to be remembered.
    fn forget_older(&mut self, look_back: f64, now: Duration) {
        let kept = Duration::from_secs_f64(LOOK_BACK_SECONDS + look_back);
        self.notices.retain(|_, heard_at| now < *heard_at + kept);
    }
}

/// What has happened since the last poll.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterChanges {
    /// Whether people, passwords or credentials changed.
    pub accounts: bool,
    pub secrets: bool,
    pub config: bool,
    /// Whether sign-ins at providers began or ended.
    pub sign_ins: bool,
    /// Whether another gateway ended or counts as dead. It may not have sent notices of what it did
    /// last.
    pub gateway_gone: bool,
    /// Whether the owner asks this gateway to give everything back.
    pub drain: bool,
    /// The notices of the other gateways, oldest first.
    pub notices: Vec<String>,
}

impl Gateway {
    /// Sends notices to the other gateways and reads theirs, in one trip to the database. Nothing
    /// may depend on a notice. The first poll only learns the current position and returns no
    /// changes. After a poll without an answer the next one uses a new connection.
    pub(crate) async fn poll(
        &self,
        position: &mut PollPosition,
        told: &[String],
    ) -> Result<ClusterChanges, StoreError> {
        let polled = tokio::time::timeout(PATIENCE, self.poll_once(position, told)).await;
        polled.unwrap_or_else(|_| {
            self.database.forget_connections();
            Err(StoreError::Unavailable("the database: it does not answer".to_owned()))
        })
    }

    async fn poll_once(
        &self,
        position: &mut PollPosition,
        told: &[String],
    ) -> Result<ClusterChanges, StoreError> {
        let client = self.database.relaxed_client().await?;
        let now = self.now();
        let look_back = position.look_back(now);
        position.forget_older(look_back, now);
        let known: Vec<i64> = position.notices.keys().copied().collect();
        let found = rows(
            &client,
            "WITH told AS (
                 INSERT INTO gateway_notices (gateway, body) SELECT $1, unnest($3::TEXT[]))
             SELECT name, value, NULL AS body FROM counters
             WHERE name IN ('accounts', 'secrets', 'config', 'sign-ins')
             UNION ALL
             (SELECT NULL, id, body FROM gateway_notices
              WHERE noted > clock_timestamp() - $2::DOUBLE PRECISION * INTERVAL '1 second'
                AND gateway <> $1
                AND NOT EXISTS (SELECT 1 FROM unnest($4::BIGINT[]) AS heard (id)
                                WHERE heard.id = gateway_notices.id)
              ORDER BY id)
             UNION ALL
             SELECT 'drain', 1, NULL FROM gateways WHERE id = $1 AND drain_asked
             UNION ALL
             SELECT 'alive', incarnation, NULL FROM gateways
             WHERE id <> $1 AND until > clock_timestamp()",
            &[&self.id(), &look_back, &told, &known],
        )
        .await?;
        position.polled = Some(now);
        let is_first = position.counters.is_empty();
        let (mut changes, mut alive) = (ClusterChanges::default(), BTreeSet::new());
        for row in &found {
            let (name, number): (Option<String>, i64) = (get(row, 0)?, get(row, 1)?);
            let Some(name) = name else {
                position.notices.insert(number, self.now());
                if !is_first {
                    changes.notices.push(get(row, 2)?);
                }
                continue;
            };
            let is_new = position.counters.get(&name).is_some_and(|before| *before != number);
            match name.as_str() {
                "accounts" => changes.accounts = is_new,
                "secrets" => changes.secrets = is_new,
                "drain" => {
                    changes.drain = true;
                    continue;
                }
                "alive" => {
                    alive.insert(number);
                    continue;
                }
                "sign-ins" => changes.sign_ins = is_new,
                _ => changes.config = is_new,
            }
            position.counters.insert(name, number);
        }
        changes.gateway_gone = !position.alive.is_subset(&alive);
        position.alive = alive;
        Ok(changes)
    }

    /// Deletes notices that are too old for any poll. Returns how many.
    pub(crate) async fn forget_notices(&self) -> Result<u64, StoreError> {
        let client = self.database.relaxed_client().await?;
        let forget = "DELETE FROM gateway_notices
                      WHERE noted < clock_timestamp() - $1::DOUBLE PRECISION * INTERVAL '1 second'";
        Ok(execute(&client, forget, &[&KEPT_SECONDS]).await?)
    }
}
