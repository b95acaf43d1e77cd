use std::collections::BTreeMap;
use std::time::Duration;

use onyx_types::Hash;

use crate::StoreError;
use crate::postgres::connect::Database;
use crate::postgres::convert::get;
use crate::postgres::query::{execute, row, rows};
use crate::postgres::transaction::transact;

/// A count of failures that are forgiven over time: `burst` are allowed at once, and one more after
/// every `every`.
#[derive(Clone, Debug)]
pub struct FailureBucket {
    pub key: Hash,
    pub burst: u32,
    pub every: Duration,
    pub overflow: Overflow,
}

/// What happens to an attempt when a bucket is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The attempt is refused without being checked, and counts in no bucket.
    Refuses,
    /// The attempt counts in the other buckets, and the caller learns that this one is full.
    Crowds,
    /// The attempt counts, and nothing else happens.
    Counts,
}

/// The outcome of counting an attempt: whether it may be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Free,
    Crowded,
    Refused,
}

/// Counts of failures that all gateways share. The caller decides which limits apply to an attempt.
#[derive(Clone, Debug)]
pub struct SharedFailures {
    database: Database,
}

impl SharedFailures {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// Counts an attempt before its result is known, so that many at once do not count as one.
    pub async fn count(&self, buckets: &[FailureBucket]) -> Result<Admission, StoreError> {
        let keys: Vec<String> = buckets.iter().map(|bucket| bucket.key.to_string()).collect();
        transact!(self.database, transaction => {
            // The rows are locked in a fixed order, so that two attempts never wait for each other
            // in a circle. They stay locked to the end.
            let hold = "INSERT INTO failure_counts (key, until)
                        SELECT key, clock_timestamp() FROM unnest($1::TEXT[]) AS key ORDER BY key
                        ON CONFLICT (key) DO UPDATE
                            SET until = greatest(failure_counts.until, clock_timestamp())
                        RETURNING key,
                            extract(epoch FROM until - clock_timestamp())::DOUBLE PRECISION";
            let mut left = BTreeMap::new();
            for row in &rows(&transaction, hold, &[&keys]).await? {
                left.insert(get::<String>(row, 0)?, get::<f64>(row, 1)?);
            }
            let is_full = |bucket: &&FailureBucket| {
                let left = left.get(&bucket.key.to_string()).copied().unwrap_or_default();
                left >= (bucket.every * bucket.burst).as_secs_f64()
            };
            let overflows = |what: Overflow| {
                buckets.iter().filter(|bucket| bucket.overflow == what).any(|bucket| is_full(&bucket))
            };
            if overflows(Overflow::Refuses) {
                return Ok(Admission::Refused);
            }
            let counted = buckets
                .iter()
                .filter(|bucket| bucket.overflow != Overflow::Crowds || !is_full(bucket));
            let (mut keys, mut seconds) = (Vec::new(), Vec::new());
            for bucket in counted {
                keys.push(bucket.key.to_string());
                seconds.push(bucket.every.as_secs_f64());
            }
            let add = "UPDATE failure_counts SET until = until + seconds * INTERVAL '1 second'
                       FROM unnest($1::TEXT[], $2::DOUBLE PRECISION[]) AS added (name, seconds)
                       WHERE key = name";
            execute(&transaction, add, &[&keys, &seconds]).await?;
            Ok(if overflows(Overflow::Crowds) { Admission::Crowded } else { Admission::Free })
        })
    }

    /// Takes one failure back in each of the buckets.
    pub async fn take_back(&self, buckets: &[FailureBucket]) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let mut buckets: Vec<&FailureBucket> = buckets.iter().collect();
            buckets.sort_by_key(|bucket| bucket.key.to_string());
            for bucket in buckets {
                let less = "UPDATE failure_counts
                            SET until = until - $2::DOUBLE PRECISION * INTERVAL '1 second'
                            WHERE key = $1";
                let seconds = bucket.every.as_secs_f64();
                execute(&transaction, less, &[&bucket.key.to_string(), &seconds]).await?;
            }
            Ok(())
        })
    }

    /// Whether the owner of this name has signed in from this network before.
    pub async fn knows(&self, name: Hash, network: &str) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT EXISTS (SELECT 1 FROM known_networks
                                     WHERE name = $1 AND network = $2)";
        get(&row(&client, select, &[&name.to_string(), &network]).await?, 0)
    }

    /// Records a successful sign-in from this network. Only the newest networks are kept.
    pub async fn remember(&self, name: Hash, network: &str, most: usize) -> Result<(), StoreError> {
        let name = name.to_string();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        transact!(self.database, transaction => {
            let put = "INSERT INTO known_networks (name, network) VALUES ($1, $2)
                       ON CONFLICT (name, network) DO UPDATE SET seen = excluded.seen";
            execute(&transaction, put, &[&name, &network]).await?;
            let forget = "DELETE FROM known_networks WHERE name = $1 AND network IN
                              (SELECT network FROM known_networks WHERE name = $1
                               ORDER BY seen DESC, network OFFSET $2)";
            execute(&transaction, forget, &[&name, &most]).await?;
            Ok(())
        })
    }

    /// Deletes counts whose failures are all forgiven. Returns how many.
    pub(crate) async fn sweep(&self) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        let sweep = "DELETE FROM failure_counts WHERE key IN
                         (SELECT key FROM failure_counts WHERE until <= clock_timestamp()
                          ORDER BY key FOR UPDATE SKIP LOCKED)";
        Ok(execute(&client, sweep, &[]).await?)
    }
}
