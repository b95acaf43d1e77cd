//! The list of entities. It is kept beside the facts, because counting all facts for every list
//! took longer with every fact. Whoever writes or deletes facts does nothing for the list, so
//! gateways that do not know it may serve too: a new fact is not counted yet, and the database takes
//! the fact from the mentions of one that is deleted. Both are settled before a list is read.

use std::collections::BTreeMap;

use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::Row;

use super::facts::numbers;
use super::read::group;
use crate::chunks::{EntityMerge, NewestEntities};
use crate::postgres::connect::Database;
use crate::postgres::convert::{count, get, timestamp};
use crate::postgres::query::{execute, row, rows};
use crate::postgres::transaction::{TransactionError, transact};
use crate::{EntityName, EntityRow, GroupId, StoreError};

/// The most facts that one transaction counts, because other gateways wait for it.
const AT_ONCE: i64 = 5_000;

const IS_BEHIND: &str = "SELECT (SELECT id FROM facts WHERE counted IS NULL ORDER BY id LIMIT 1),
                                (SELECT id FROM mentions WHERE fact IS NULL LIMIT 1)";
/// Facts that somebody else deletes at this moment are left out, so that nobody waits in a circle.
const NOT_COUNTED: &str = "SELECT id FROM facts WHERE counted IS NULL ORDER BY id LIMIT $1
     FOR UPDATE SKIP LOCKED";
const REMOVE_GONE: &str = "DELETE FROM mentions WHERE id IN (
         SELECT id FROM mentions WHERE fact IS NULL LIMIT $1) RETURNING entity";
/// A fact that was counted before is counted again with its new time.
const REMOVE_CHANGED: &str = "DELETE FROM mentions WHERE fact = ANY ($1) RETURNING entity";

/// Every entity that one of some facts names.
macro_rules! named {
    () => {
        "(SELECT facts.id AS fact, grp, subject_key AS key,
                 coalesce(said_at, dated, modified) AS at
          FROM facts JOIN chunks ON chunks.id = facts.chunk
                     JOIN sources ON sources.id = chunks.source
          WHERE facts.id = ANY ($1)
          UNION
          SELECT facts.id, grp, object_key, coalesce(said_at, dated, modified)
          FROM facts JOIN chunks ON chunks.id = facts.chunk
                     JOIN sources ON sources.id = chunks.source
          WHERE facts.id = ANY ($1) AND is_entity) AS named"
    };
}

const ADD_ENTITIES: &str = concat!(
    "INSERT INTO entities (grp, key, key_hash, name, facts, last_said)
     SELECT DISTINCT grp, key, sha256(convert_to(key, 'UTF8')), key, 0, 0 FROM ",
    named!(),
    " ON CONFLICT (grp, key_hash) DO NOTHING"
);
const ADD_MENTIONS: &str = concat!(
    "INSERT INTO mentions (fact, entity, at) SELECT named.fact, entities.id, named.at FROM ",
    named!(),
    " JOIN entities ON entities.grp = named.grp
                   AND entities.key_hash = sha256(convert_to(named.key, 'UTF8'))
     RETURNING entity"
);
const ADD_CHANGES: &str = "UPDATE entities SET facts = entities.facts + change.amount
     FROM unnest($1::BIGINT[], $2::BIGINT[]) AS change (entity, amount)
     WHERE entities.id = change.entity";
/// Takes the time and the spelling from the fact that was stated last.
const SET_NEWEST: &str = "UPDATE entities SET last_said = newest.at, name = newest.name
     FROM entities AS known CROSS JOIN LATERAL (
         SELECT mentions.at,
                CASE WHEN subject_key = known.key THEN subject ELSE object END AS name
         FROM mentions JOIN facts ON facts.id = mentions.fact
         WHERE mentions.entity = known.id
         ORDER BY mentions.at DESC, mentions.fact DESC LIMIT 1) AS newest
     WHERE known.id = ANY ($1) AND entities.id = known.id";
const NEWEST: &str = "SELECT wanted.grp, newest.key, newest.name, newest.facts, newest.last_said
     FROM unnest($2::BIGINT[]) AS wanted (grp) CROSS JOIN LATERAL (
         SELECT key, name, facts, last_said FROM entities
         WHERE entities.grp = wanted.grp AND position($1 IN key) > 0
         ORDER BY last_said DESC, left(key, 100) LIMIT $3) AS newest";
const COUNTS: &str = "SELECT entities.key, sum(entities.facts)::BIGINT
     FROM unnest($1::BIGINT[]) AS cut (grp) CROSS JOIN unnest($2::TEXT[]) AS wanted (key)
     JOIN entities ON entities.grp = cut.grp
                  AND entities.key_hash = sha256(convert_to(wanted.key, 'UTF8'))
     GROUP BY entities.key";

/// By how much the number of facts of each entity changes.
type CountChanges = BTreeMap<i64, i64>;

/// Counts the facts that are not counted yet, and takes off those that are gone.
pub(super) async fn bring_up_to_date(database: &Database) -> Result<(), StoreError> {
    while is_behind(database).await? {
        let is_more_left = transact!(database, transaction => {
            count_changes(&transaction).await
        })?;
        // What is left now is locked by somebody who changes it, and is counted after that.
        if !is_more_left {
            break;
        }
    }
    Ok(())
}

async fn is_behind(database: &Database) -> Result<bool, StoreError> {
    let client = database.client().await?;
    let waiting = row(&client, IS_BEHIND, &[]).await?;
    let (fact, mention): (Option<i64>, Option<i64>) = (get(&waiting, 0)?, get(&waiting, 1)?);
    Ok(fact.is_some() || mention.is_some())
}

/// Returns whether there was more to count than one transaction does.
async fn count_changes(transaction: &Transaction<'_>) -> Result<bool, TransactionError> {
    let turn = "SELECT value FROM counters WHERE name = 'entities' FOR UPDATE";
    row(transaction, turn, &[]).await?;
    let facts = ids(&rows(transaction, NOT_COUNTED, &[&AT_ONCE]).await?)?;
    let gone = ids(&rows(transaction, REMOVE_GONE, &[&AT_ONCE]).await?)?;
    let changed = ids(&rows(transaction, REMOVE_CHANGED, &[&facts]).await?)?;
    execute(transaction, ADD_ENTITIES, &[&facts]).await?;
    let added = ids(&rows(transaction, ADD_MENTIONS, &[&facts]).await?)?;
    let mark = "UPDATE facts SET counted = TRUE WHERE id = ANY ($1)";
    execute(transaction, mark, &[&facts]).await?;
    let mut changes = CountChanges::new();
    for entity in gone.iter().chain(&changed) {
        *changes.entry(*entity).or_default() -= 1;
    }
    for entity in added {
        *changes.entry(entity).or_default() += 1;
    }
    add(transaction, changes).await?;
    let most = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
    Ok(facts.len() >= most || gone.len() >= most)
}

fn ids(found: &[Row]) -> Result<Vec<i64>, StoreError> {
    found.iter().map(|row| get(row, 0)).collect()
}

async fn add(transaction: &Transaction<'_>, changes: CountChanges) -> Result<(), TransactionError> {
    let (entities, amounts): (Vec<i64>, Vec<i64>) = changes.into_iter().unzip();
    execute(transaction, ADD_CHANGES, &[&entities, &amounts]).await?;
    let remove = "DELETE FROM entities WHERE id = ANY ($1) AND facts = 0";
    execute(transaction, remove, &[&entities]).await?;
    execute(transaction, SET_NEWEST, &[&entities]).await?;
    Ok(())
}

/// Lists the entities that facts within groups are about and whose key contains a part; those
/// stated last come first.
pub(super) async fn newest(
    client: &impl GenericClient,
    part: &str,
    groups: &[GroupId],
    limit: u32,
) -> Result<Vec<EntityRow>, StoreError> {
    let found = rows(client, NEWEST, &[&part, &numbers(groups), &i64::from(limit)]).await?;
    let mut of_groups = BTreeMap::<GroupId, Vec<EntityRow>>::new();
    for row in &found {
        of_groups.entry(group(row, 0)?).or_default().push(entity(row)?);
    }
    let mut merge = EntityMerge::new(limit);
    for (group, newest) in of_groups {
        merge.add(group, newest);
    }
    let NewestEntities { mut rows, cut } = merge.newest();
    if !cut.is_empty() {
        let counts = counts_within(client, &rows, &cut).await?;
        for row in &mut rows {
            row.facts += counts.get(&row.name.key).copied().unwrap_or(0);
        }
    }
    Ok(rows)
}

/// How many facts of these groups are about each of the entities.
async fn counts_within(
    client: &impl GenericClient,
    entities: &[EntityRow],
    groups: &[GroupId],
) -> Result<BTreeMap<String, u64>, StoreError> {
    let keys: Vec<&str> = entities.iter().map(|entity| entity.name.key.as_str()).collect();
    let found = rows(client, COUNTS, &[&numbers(groups), &keys]).await?;
    found.iter().map(|row| Ok((get::<String>(row, 0)?, count(row, 1)?))).collect()
}

fn entity(row: &Row) -> Result<EntityRow, StoreError> {
    Ok(EntityRow {
        name: EntityName { key: get(row, 1)?, name: get(row, 2)? },
        facts: count(row, 3)?,
        last_said: timestamp(row, 4)?,
    })
}
