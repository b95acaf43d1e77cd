//! The list of entities. It is kept beside the facts, because counting all facts for every list
//! took longer with every fact. A fact that is new or has another time is not counted yet, and a
//! mention that was counted loses its fact when that is deleted; both are settled by
//! `count_changes`.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use crate::chunks::{EntityMerge, NewestEntities};
use crate::sqlite::convert::{count, timestamp};
use crate::{EntityName, EntityRow, GroupId, StoreError};

/// Every entity that is named by a fact that is not counted yet.
macro_rules! not_counted {
    () => {
        "(SELECT facts.id AS fact, grp, subject_key AS key,
                 coalesce(said_at, dated, modified) AS at
          FROM facts JOIN chunks ON chunks.id = facts.chunk
                     JOIN sources ON sources.id = chunks.source
          WHERE counted IS NULL
          UNION
          SELECT facts.id, grp, object_key, coalesce(said_at, dated, modified)
          FROM facts JOIN chunks ON chunks.id = facts.chunk
                     JOIN sources ON sources.id = chunks.source
          WHERE counted IS NULL AND is_entity) AS named"
    };
}

const REMOVE_GONE: &str = "DELETE FROM mentions WHERE fact IS NULL RETURNING entity";
/// A fact that was counted before is counted again with its new time.
const REMOVE_CHANGED: &str = "DELETE FROM mentions
     WHERE fact IN (SELECT id FROM facts WHERE counted IS NULL) RETURNING entity";
const ADD_ENTITIES: &str = concat!(
    "INSERT OR IGNORE INTO entities (grp, key, name, facts, last_said)
     SELECT grp, key, key, 0, 0 FROM ",
    not_counted!()
);
const ADD_MENTIONS: &str = concat!(
    "INSERT INTO mentions (fact, entity, at) SELECT fact, entities.id, at FROM ",
    not_counted!(),
    " JOIN entities ON entities.grp = named.grp AND entities.key = named.key RETURNING entity"
);
/// Takes the time and the spelling from the fact that was stated last.
const SET_NEWEST: &str = "UPDATE entities SET (last_said, name) = (
         SELECT at, CASE WHEN subject_key = entities.key THEN subject ELSE object END
         FROM mentions JOIN facts ON facts.id = mentions.fact
         WHERE mentions.entity = entities.id
         ORDER BY at DESC, mentions.fact DESC LIMIT 1)
     WHERE id = ?1";
const NEWEST: &str = "SELECT key, name, facts, last_said FROM entities
     WHERE grp = ?1 AND instr(key, ?2) > 0 ORDER BY last_said DESC, key LIMIT ?3";

/// By how much the number of facts of each entity changes.
type CountChanges = BTreeMap<i64, i64>;

/// Counts the facts that are not counted yet, and takes off those that are gone.
pub(super) fn count_changes(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let mut changes = CountChanges::new();
    note(transaction, REMOVE_GONE, -1, &mut changes)?;
    note(transaction, REMOVE_CHANGED, -1, &mut changes)?;
    transaction.prepare_cached(ADD_ENTITIES)?.execute([])?;
    note(transaction, ADD_MENTIONS, 1, &mut changes)?;
    transaction.prepare_cached("UPDATE facts SET counted = 1 WHERE counted IS NULL")?.execute([])?;
    let mut add =
        transaction.prepare_cached("UPDATE entities SET facts = facts + ?2 WHERE id = ?1")?;
    let mut remove =
        transaction.prepare_cached("DELETE FROM entities WHERE id = ?1 AND facts = 0")?;
    let mut set_newest = transaction.prepare_cached(SET_NEWEST)?;
    for (entity, by) in changes {
        add.execute([entity, by])?;
        remove.execute([entity])?;
        set_newest.execute([entity])?;
    }
    Ok(())
}

/// Runs a statement that removes or adds mentions, and notes which entities they name.
fn note(
    transaction: &Transaction<'_>,
    statement: &str,
    by: i64,
    changes: &mut CountChanges,
) -> Result<(), StoreError> {
    let mut statement = transaction.prepare_cached(statement)?;
    for entity in statement.query_map([], |row| row.get::<_, i64>(0))? {
        *changes.entry(entity?).or_default() += by;
    }
    Ok(())
}

/// Lists the entities that facts within groups are about and whose key contains a part; those
/// stated last come first.
pub(super) fn newest(
    connection: &mut Connection,
    part: &str,
    groups: &[GroupId],
    limit: u32,
) -> Result<Vec<EntityRow>, StoreError> {
    // One transaction reads all of them, because otherwise SQLite would lock and unlock the file
    // for every group.
    let transaction = connection.transaction()?;
    count_changes(&transaction)?;
    let mut merge = EntityMerge::new(limit);
    for group in groups {
        let mut statement = transaction.prepare_cached(NEWEST)?;
        let rows = statement.query_map(params![group.0, part, limit], entity)?;
        merge.add(*group, rows.collect::<Result<_, _>>()?);
    }
    let NewestEntities { mut rows, cut } = merge.newest();
    for group in cut {
        let mut statement =
            transaction.prepare_cached("SELECT facts FROM entities WHERE grp = ?1 AND key = ?2")?;
        for row in &mut rows {
            let facts = statement
                .query_row(params![group.0, row.name.key], |row| count(row, 0))
                .optional()?;
            row.facts += facts.unwrap_or(0);
        }
    }
    transaction.commit()?;
    Ok(rows)
}

fn entity(row: &Row<'_>) -> rusqlite::Result<EntityRow> {
    Ok(EntityRow {
        name: EntityName { key: row.get(0)?, name: row.get(1)? },
        facts: count(row, 2)?,
        last_said: timestamp(row, 3)?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use onyx_types::SystemClock;
    use rusqlite::StatementStatus;

    use super::super::file::IndexFile;
    use super::*;

    const ENTITIES: u32 = 20;

    fn add_facts(connection: &Connection, count: u32) {
        let insert = "INSERT INTO facts (chunk, maker, subject_key, subject, relation, object_key,
                                         object, is_entity, ends, line, said)
             VALUES (1, 'rules', ?1, ?1, 'phone', '123', '123', 0, 0, 1, '')";
        for number in 0..count {
            let name = format!("person {}", number % ENTITIES);
            connection.execute(insert, [name]).unwrap();
        }
    }

    /// The number of steps that listing takes, where nothing was written since the last list.
    fn steps_to_list(connection: &Connection) -> i32 {
        let statements = [REMOVE_GONE, REMOVE_CHANGED, ADD_ENTITIES, ADD_MENTIONS];
        let mut steps = 0;
        for statement in statements {
            let mut statement = connection.prepare(statement).unwrap();
            assert!(statement.query([]).unwrap().next().unwrap().is_none());
            steps += statement.get_status(StatementStatus::VmStep);
        }
        let mut statement = connection.prepare(NEWEST).unwrap();
        assert_eq!(statement.query_map(params![1, "", 9], entity).unwrap().count(), 9);
        steps + statement.get_status(StatementStatus::VmStep)
    }

    #[test]
    fn the_list_does_not_read_the_facts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let file = IndexFile { path, clock: Arc::new(SystemClock::new()), open: Mutex::default() };
        let check = |connection: &mut Connection| -> Result<(Vec<i32>, Vec<u64>), StoreError> {
            connection.execute_batch(
                "INSERT INTO groups VALUES (1, 'anna', '\"person\"', 'note');
                 INSERT INTO sources (id, grp, person, path, origin, title, checksum, size,
                                      modified, chunking, indexed_at)
                 VALUES (1, 1, 'anna', 'a', 'person', 'A', '', 1, 20, '', 1);
                 INSERT INTO chunks (id, source, start_line, end_line, heading, origin, text, hash)
                 VALUES (1, 1, 1, 1, '', 'person', 'text', x'0102');",
            )?;
            let mut steps = Vec::new();
            for facts in [ENTITIES, 100 * ENTITIES] {
                add_facts(connection, facts);
                newest(connection, "", &[GroupId(1)], 9)?;
                steps.push(steps_to_list(connection));
            }
            let rows = newest(connection, "person 7", &[GroupId(1)], 9)?;
            Ok((steps, rows.iter().map(|row| row.facts).collect()))
        };
        let (steps, facts) = file.with(&check).unwrap();
        assert!(steps[1] <= steps[0] + 10, "{steps:?}");
        assert_eq!(facts, [101]);
    }
}
