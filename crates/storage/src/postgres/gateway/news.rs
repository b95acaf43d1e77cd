//! What the other gateways did, by one poll: counters that grow in the same transaction as what they count, which is how
//! a revocation is never missed, and notices, which are hints to look again and may be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Gateway;
use crate::StoreError;
use crate::postgres::convert::get;
use crate::postgres::query::{execute, rows};

/// A notice may be seen late, and then out of the order of their numbers: so far back they are looked for again. Those
/// that were heard are left out by their numbers.
const LOOK_BACK_SECONDS: f64 = 10.0;
/// After this many seconds notices are deleted. A gateway that could not poll looks back at most so far.
const KEPT_SECONDS: f64 = 120.0;

/// What a gateway has heard so far.
#[derive(Debug, Default)]
pub struct Heard {
    counters: BTreeMap<String, i64>,
    /// Notices by their numbers, and when they were heard.
    notices: BTreeMap<i64, Duration>,
    /// The incarnations of the other gateways that lived at the last poll.
    alive: BTreeSet<i64>,
    /// When the last poll that succeeded began.
    polled: Option<Duration>,
}

impl Heard {
    /// How many seconds the next poll looks back: further after a time without polls, because notices
    /// of that time were not heard.
    fn look_back(&self, now: Duration) -> f64 {
        let since = self.polled.map(|polled| now.saturating_sub(polled)).unwrap_or_default();
        (LOOK_BACK_SECONDS + since.as_secs_f64()).min(KEPT_SECONDS)
    }

    /// Only those that can come again need to be remembered.
    fn forget_older(&mut self, look_back: f64, now: Duration) {
        let kept = Duration::from_secs_f64(LOOK_BACK_SECONDS + look_back);
        self.notices.retain(|_, heard| now < *heard + kept);
    }
}

/// What is new since the last poll.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// People, passwords or credentials changed.
    pub accounts: bool,
    pub secrets: bool,
    pub config: bool,
    /// Sign-ins at providers began or ended.
    pub sign_ins: bool,
    /// Another gateway ended or counts as dead. It may not have sent notices of what it did last.
    pub gateway_gone: bool,
    /// The owner asks this gateway to give everything back.
    pub drain: bool,
    /// The notices as the other gateways wrote them, oldest first.
    pub notices: Vec<String>,
}

impl Gateway {
    /// Sends notices to the other gateways and reads theirs, in one trip. Nothing may rely on a notice. The first poll
    /// only learns the current position and returns no news.
    pub(crate) async fn news(
        &self,
        heard: &mut Heard,
        told: &[String],
    ) -> Result<News, StoreError> {
        let client = self.database.relaxed_client().await?;
        let now = self.now();
        let look_back = heard.look_back(now);
        heard.forget_older(look_back, now);
        let known: Vec<i64> = heard.notices.keys().copied().collect();
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
        heard.polled = Some(now);
        let is_first = heard.counters.is_empty();
        let (mut news, mut alive) = (News::default(), BTreeSet::new());
        for row in &found {
            let (name, number): (Option<String>, i64) = (get(row, 0)?, get(row, 1)?);
            let Some(name) = name else {
                heard.notices.insert(number, self.now());
                if !is_first {
                    news.notices.push(get(row, 2)?);
                }
                continue;
            };
            let is_new = heard.counters.get(&name).is_some_and(|before| *before != number);
            match name.as_str() {
                "accounts" => news.accounts = is_new,
                "secrets" => news.secrets = is_new,
                "drain" => {
                    news.drain = true;
                    continue;
                }
                "alive" => {
                    alive.insert(number);
                    continue;
                }
                "sign-ins" => news.sign_ins = is_new,
                _ => news.config = is_new,
            }
            heard.counters.insert(name, number);
        }
        news.gateway_gone = !heard.alive.is_subset(&alive);
        heard.alive = alive;
        Ok(news)
    }

    /// Returns how many it forgot.
    pub(crate) async fn forget_notices(&self) -> Result<u64, StoreError> {
        let client = self.database.relaxed_client().await?;
        let forget = "DELETE FROM gateway_notices
                      WHERE noted < clock_timestamp() - $1::DOUBLE PRECISION * INTERVAL '1 second'";
        Ok(execute(&client, forget, &[&KEPT_SECONDS]).await?)
    }
}
