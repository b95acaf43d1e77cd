//! Contents in the object store, and the rows that record them. A blob's row is touched before the
//! blob is written, and checked again in the transaction that refers to it. The sweep marks a row
//! before it deletes the object, and writers wait for a marked row to be gone.

use std::time::Duration;

use deadpool_postgres::Transaction;
use sha2::{Digest as _, Sha256};

use crate::postgres::connect::Database;
use crate::postgres::convert::{get, integer};
use crate::postgres::gateway::Gateway;
use crate::postgres::query::{execute, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::s3::Bucket;
use crate::{Duties as _, OwnedDuty, StoreError};

/// How long a write waits at most for a blob that is being deleted; after that it fails.
const PATIENCE: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How long the deletion of one object may take. The gateway that sweeps must live for longer than
/// that, or another one could have taken the sweep over before the store is asked.
const LONGEST_DELETION: Duration = Duration::from_secs(4);
/// After how many failures a sweep ends, because the store or the database is probably away.
const MOST_FAILED: u32 = 20;

/// Large contents, named by their SHA-256. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct Blobs {
    database: Database,
    bucket: Bucket,
}

impl Blobs {
    pub(crate) fn new(database: Database, bucket: Bucket) -> Self {
        Self { database, bucket }
    }

    /// Stores the content and returns its name. Nothing refers to it yet; the caller's transaction
    /// has to call `refer`.
    pub(in crate::postgres) async fn keep(
        &self,
        person: &str,
        bytes: &[u8],
    ) -> Result<String, StoreError> {
        let name = hex(&Sha256::digest(bytes));
        if self.touch(person, &name).await? == BlobState::New {
            self.bucket.put(&object(person, &name), bytes.to_vec()).await?;
            let stored = "UPDATE blobs SET state = 'stored'
                          WHERE person = $1 AND sha256 = $2 AND state = 'writing'";
            let client = self.database.client().await?;
            execute(&client, stored, &[&person, &name]).await?;
        }
        Ok(name)
    }

    async fn touch(&self, person: &str, name: &str) -> Result<BlobState, StoreError> {
        let tries = PATIENCE.as_millis() / BETWEEN_LOOKS.as_millis();
        for _ in 0..tries {
            let client = self.database.client().await?;
            let touched = row_if_any(
                &client,
                "INSERT INTO blobs (person, sha256, state, touched)
                 VALUES ($1, $2, 'writing', clock_timestamp())
                 ON CONFLICT (person, sha256) DO UPDATE SET touched = clock_timestamp()
                 WHERE blobs.state <> 'deleting'
                 RETURNING state",
                &[&person, &name],
            )
            .await?;
            drop(client);
            if let Some(row) = touched {
                let state: &str = get(&row, 0)?;
                return Ok(if state == "stored" { BlobState::Stored } else { BlobState::New });
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(StoreError::Failed("the deletion of an object takes too long".to_owned()))
    }

    /// Makes the transaction refer to the blob from its commit on. The blob was touched less than a
    /// day ago, so no sweep deletes it meanwhile.
    pub(in crate::postgres) async fn refer(
        &self,
        transaction: &Transaction<'_>,
        person: &str,
        name: &str,
    ) -> Result<(), TransactionError> {
        let held = "SELECT 1 FROM blobs WHERE person = $1 AND sha256 = $2 AND state = 'stored'
                    FOR SHARE";
        let held = row_if_any(transaction, held, &[&person, &name]).await?;
        let gone = || StoreError::Failed("an object was deleted while it was written".to_owned());
        held.map(drop).ok_or_else(|| gone().into())
    }

    /// Reads the content and checks it against its name.
    pub(in crate::postgres) async fn get(
        &self,
        person: &str,
        name: &str,
    ) -> Result<Vec<u8>, StoreError> {
        let bytes = self.bucket.get(&object(person, name)).await?;
        if hex(&Sha256::digest(&bytes)) != name {
            return Err(StoreError::Damaged(format!("the object {name} is not what was stored")));
        }
        Ok(bytes)
    }

    /// Reads a range of the content without the rest.
    pub(in crate::postgres) async fn end(
        &self,
        person: &str,
        name: &str,
        range: std::ops::Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        self.bucket.get_range(&object(person, name), range).await
    }

    /// Deletes objects that nothing refers to and that were not touched for this long. Returns how
    /// many. The next sweep finishes one that was cut off, and tries again what could not be deleted.
    /// Nothing is deleted while a copy of one moment is being read (`ServerCopy`), because the copy
    /// may name contents that were replaced since. `LeaseLost`: another gateway may sweep by now.
    pub(crate) async fn sweep(
        &self,
        untouched: Duration,
        owner: SweepOwner<'_>,
    ) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        execute(
            &client,
            "UPDATE blobs SET state = 'deleting'
             WHERE touched < clock_timestamp() - $1::DOUBLE PRECISION * INTERVAL '1 second'
               AND NOT EXISTS (SELECT 1 FROM files
                               WHERE files.person = blobs.person AND files.sha256 = blobs.sha256)
               AND NOT EXISTS (SELECT 1 FROM segments
                               WHERE segments.person = blobs.person
                                 AND segments.sha256 = blobs.sha256)
               AND NOT EXISTS (SELECT 1 FROM agreed
                               WHERE CASE WHEN starts_with(name, 'copy:')
                                          THEN value::BIGINT > extract(epoch FROM clock_timestamp())
                                          ELSE FALSE END)",
            &[&untouched.as_secs_f64()],
        )
        .await?;
        // Those that cannot be deleted do not always come first.
        let select = "SELECT person, sha256 FROM blobs WHERE state = 'deleting' ORDER BY random()";
        let marked = rows(&client, select, &[]).await?;
        drop(client);
        let (mut deleted, mut failed) = (0, 0);
        for row in &marked {
            let (person, name): (&str, &str) = (get(row, 0)?, get(row, 1)?);
            match self.delete(person, name, owner).await {
                Ok(rows) => deleted += rows,
                Err(StoreError::LeaseLost) => return Err(StoreError::LeaseLost),
                // The others may still be deleted, and one object must not keep them forever.
                Err(error) => {
                    tracing::warn!(%error, name, "an object could not be deleted; trying again later");
                    failed += 1;
                }
            }
            if failed >= MOST_FAILED {
                break;
            }
        }
        Ok(deleted)
    }

    /// Deletes one object that is marked. Another gateway may have deleted it meanwhile, and a
    /// writer may have stored the same content again, so this asks immediately before.
    async fn delete(
        &self,
        person: &str,
        name: &str,
        SweepOwner { gateway, duty }: SweepOwner<'_>,
    ) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT blobs.state = 'deleting'
                      FROM owners
                      JOIN gateways ON gateways.id = owners.gateway
                                   AND gateways.incarnation = owners.incarnation
                      LEFT JOIN blobs ON person = $1 AND sha256 = $2
                      WHERE name = $3 AND fence = $4 AND owners.incarnation = $5
                        AND until > clock_timestamp() + $6::DOUBLE PRECISION * INTERVAL '1 second'";
        let fence = integer(duty.fence);
        let rest = LONGEST_DELETION.as_secs_f64();
        let owned = row_if_any(
            &client,
            select,
            &[&person, &name, &duty.name, &fence, &duty.incarnation, &rest],
        )
        .await?;
        let owned = owned.ok_or(StoreError::LeaseLost)?;
        if get::<Option<bool>>(&owned, 0)? != Some(true) {
            return Ok(0);
        }
        drop(client);
        // The answer may be old, if this gateway was frozen since.
        if !gateway.still_owns(duty) || gateway.alive_for(LONGEST_DELETION).is_err() {
            return Err(StoreError::LeaseLost);
        }
        let object = object(person, name);
        let deletion = self.bucket.delete(&object);
        tokio::time::timeout(LONGEST_DELETION, deletion).await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable("the object store: it does not answer".to_owned()))
        })?;
        let client = self.database.client().await?;
        let forget = "DELETE FROM blobs
                      WHERE person = $1 AND sha256 = $2 AND state = 'deleting'";
        Ok(execute(&client, forget, &[&person, &name]).await?)
    }
}

/// The gateway that sweeps, and the duty under which it does.
#[derive(Clone, Copy)]
pub(crate) struct SweepOwner<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) duty: &'a OwnedDuty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlobState {
    /// The content has to be stored. Another writer may be storing the same.
    New,
    Stored,
}

/// The object's key for a content. Contents that belong to no particular person are under a name
/// that no person can have.
fn object(person: &str, name: &str) -> String {
    let person = if person.is_empty() { "_shared" } else { person };
    format!("blobs/{person}/{name}")
}

fn hex(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
