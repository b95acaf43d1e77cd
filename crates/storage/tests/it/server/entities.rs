//! Tests that the list of entities is right whichever gateways write facts: also those that do not
//! know it, and several at once.

use onyx_storage::{
    ChunkFacts, ChunkId, ChunkRow, ChunkStore, EntityName, FactRow, GroupId, Holds, ObjectKind,
    SourceKey, SourceKind, SourceRow, Stamp,
};
use onyx_types::{Hash, Origin, Scope, Timestamp};

use super::servers::TestDatabase;

/// The statement with which a gateway of version 5 writes a fact.
const OLDER_INSERT: &str = "INSERT INTO facts (chunk, maker, subject_key, subject, relation,
        object_key, object, is_entity, ends, line, said, valid_from, valid_until)
    SELECT id, 'rules', 'tom', 'Tom', 'lives in', 'bern', 'Bern', TRUE, FALSE, 1, '', NULL, NULL
    FROM chunks";

/// Stores a source with this many chunks, and returns its group and its chunks.
async fn source(chunks: &dyn ChunkStore, count: u32) -> (GroupId, Vec<ChunkId>) {
    let row = SourceRow {
        key: SourceKey { person: Some("anna".parse().unwrap()), path: "a".into() },
        kind: SourceKind::Note,
        scope: Scope::Person,
        origin: Origin::Person,
        title: String::new(),
        checksum: Hash::of(b""),
        stamp: Stamp { size: 1, modified: Timestamp::from_millis(1_000) },
        chunking: "1".into(),
        problem: None,
        indexed_at: Timestamp::from_millis(1),
        conversation: None,
        dated: None,
    };
    let chunk = |line: u32| ChunkRow {
        start_line: line,
        end_line: line,
        heading: String::new(),
        origin: Origin::Person,
        text: line.to_string(),
        hash: Hash::of(&line.to_le_bytes()),
        message: None,
    };
    let rows: Vec<ChunkRow> = (0..count).map(chunk).collect();
    chunks.replace(&row, &rows).await.unwrap();
    let all = chunks.chunks_after(ChunkId(0), count).await.unwrap();
    let group = chunks.groups_after(GroupId(0)).await.unwrap()[0].id;
    (group, all.into_iter().map(|chunk| chunk.id).collect())
}

async fn listed(chunks: &dyn ChunkStore, group: GroupId) -> Vec<(String, u64)> {
    let rows = chunks.entities("", &[group], 9).await.unwrap();
    rows.into_iter().map(|row| (row.name.name, row.facts)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_that_an_older_gateway_writes_and_deletes_are_counted() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let chunks = &*gateway.store.chunks;
    let (group, _) = source(chunks, 2).await;
    let sql = database.sql().await;
    let both = [("Bern".to_owned(), 2_u64), ("Tom".to_owned(), 2_u64)];

    sql.batch_execute(OLDER_INSERT).await.unwrap();
    assert_eq!(listed(chunks, group).await, both);
    let delete = "DELETE FROM facts WHERE maker = 'rules' AND chunk = (SELECT max(id) FROM chunks)";
    sql.batch_execute(delete).await.unwrap();
    let one = [("Bern".to_owned(), 1_u64), ("Tom".to_owned(), 1_u64)];
    assert_eq!(listed(chunks, group).await, one);
    sql.batch_execute("DELETE FROM facts").await.unwrap();
    assert_eq!(listed(chunks, group).await, []);

    sql.batch_execute(OLDER_INSERT).await.unwrap();
    assert_eq!(listed(chunks, group).await, both);
    sql.batch_execute("DELETE FROM chunks").await.unwrap();
    assert_eq!(listed(chunks, group).await, []);
}

/// Writes these facts for every chunk in place of those before, and lists the entities after each.
async fn write(chunks: &dyn ChunkStore, group: GroupId, ids: &[ChunkId], facts: &[FactRow]) {
    for id in ids {
        let found = ChunkFacts { chunk: *id, maker: "rules".into(), facts: facts.to_vec() };
        chunks.keep_facts(vec![found]).await.unwrap();
        listed(chunks, group).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_that_write_facts_at_once_count_each_fact_once() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (database.open("one").await, database.open("two").await);
    let (one, two) = (&*one.store.chunks, &*two.store.chunks);
    let (group, ids) = source(one, 20).await;
    let fact = FactRow {
        subject: EntityName::new("Tom"),
        relation: "lives in".into(),
        object: EntityName::new("Bern"),
        object_kind: ObjectKind::Entity,
        holds: Holds::Begins,
        line: 1,
        said: String::new(),
        from: None,
        until: None,
    };
    let (facts, (first, second)) = ([fact], ids.split_at(10));
    tokio::join!(write(one, group, first, &facts), write(two, group, second, &facts));
    assert_eq!(listed(one, group).await, [("Bern".to_owned(), 20), ("Tom".to_owned(), 20)]);
    tokio::join!(write(one, group, second, &[]), write(two, group, first, &[]));
    assert_eq!(listed(two, group).await, []);
}
