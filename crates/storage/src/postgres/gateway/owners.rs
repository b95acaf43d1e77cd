//! Named duties that one gateway owns at a time: polling for a connector, syncing a source,
//! applying a draft. Ownership lasts as long as the gateway lives and needs no renewal; the fence
//! grows with every new owner.

use async_trait::async_trait;
use deadpool_postgres::Transaction;

use super::{Gateway, token};
use crate::postgres::connect::Database;
use crate::postgres::convert::{get, integer};
use crate::postgres::query::{execute, row_if_any};
use crate::postgres::transaction::TransactionError;
use crate::{Duties, OwnedDuty, StoreError};

#[async_trait]
impl Duties for Gateway {
    async fn own(&self, name: &str) -> Result<Option<OwnedDuty>, StoreError> {
        let incarnation = self.alive_or_anew().await?;
        let client = self.database.client().await?;
        let owned = row_if_any(
            &client,
            "INSERT INTO owners (name, fence, gateway, incarnation)
             SELECT $1::TEXT, nextval('fences'), id, incarnation FROM gateways
             WHERE id = $2 AND incarnation = $3 AND until > clock_timestamp()
             ON CONFLICT (name) DO UPDATE SET
                 fence = CASE WHEN owners.incarnation = excluded.incarnation THEN owners.fence
                              ELSE greatest(owners.fence + 1, excluded.fence) END,
                 gateway = excluded.gateway, incarnation = excluded.incarnation
             WHERE owners.incarnation = excluded.incarnation
                OR NOT EXISTS (SELECT 1 FROM gateways AS owner
                               WHERE owner.id = owners.gateway
                                 AND owner.incarnation = owners.incarnation
                                 AND owner.until > clock_timestamp())
             RETURNING fence",
            &[&name, &self.settings.id, &incarnation],
        )
        .await?;
        let Some(owned) = owned else { return Ok(None) };
        let fence = token(get(&owned, 0)?);
        Ok(Some(OwnedDuty { name: name.to_owned(), fence, incarnation }))
    }

    fn still_owns(&self, owned: &OwnedDuty) -> bool {
        self.alive().is_ok_and(|incarnation| incarnation == owned.incarnation)
    }

    async fn disown(&self, owned: &OwnedDuty) -> Result<(), StoreError> {
        let client = self.database.client().await?;
        let leave = "DELETE FROM owners WHERE name = $1 AND fence = $2 AND incarnation = $3";
        execute(&client, leave, &[&owned.name, &integer(owned.fence), &owned.incarnation]).await?;
        Ok(())
    }

    async fn is_owned_elsewhere(&self, name: &str) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT 1 FROM owners
                      JOIN gateways ON gateways.id = owners.gateway
                                   AND gateways.incarnation = owners.incarnation
                      WHERE name = $1 AND gateways.id <> $2 AND until > clock_timestamp()";
        Ok(row_if_any(&client, select, &[&name, &self.settings.id]).await?.is_some())
    }
}

/// The living gateway that owns a duty, by its name; `None`: no gateway does.
pub(crate) async fn owner_of(
    database: &Database,
    name: &str,
) -> Result<Option<String>, StoreError> {
    let client = database.client().await?;
    let select = "SELECT gateways.id FROM owners
                  JOIN gateways ON gateways.id = owners.gateway
                               AND gateways.incarnation = owners.incarnation
                  WHERE name = $1 AND until > clock_timestamp()";
    row_if_any(&client, select, &[&name]).await?.map(|row| get(&row, 0)).transpose()
}

/// Keeps everybody from taking a duty over until the transaction ends. `LeaseLost`: this incarnation
/// of the gateway does not own the duty any more.
pub(in crate::postgres) async fn keep_owner(
    transaction: &Transaction<'_>,
    name: &str,
    gateway: &str,
    incarnation: i64,
) -> Result<(), TransactionError> {
    let select = "SELECT 1 FROM owners
                  WHERE name = $1 AND gateway = $2 AND incarnation = $3 FOR SHARE";
    let owned = row_if_any(transaction, select, &[&name, &gateway, &incarnation]).await?;
    if owned.is_some() { Ok(()) } else { Err(StoreError::LeaseLost.into()) }
}
