use onyx_storage::{ChunkRow, SourceKey, SourceRow};
use onyx_types::{Hash, Origin, Scope, Timestamp};

use super::Backend;

fn source(person: Option<&str>, path: &str, text: &str) -> SourceRow {
    SourceRow {
        key: SourceKey { person: person.map(|id| id.parse().unwrap()), path: path.into() },
        scope: Scope::Agent("main".parse().unwrap()),
        origin: Origin::External,
        title: format!("Title of {path}"),
        checksum: Hash::of(text.as_bytes()),
        indexed_at: Timestamp::from_millis(7),
    }
}

fn chunk(line: u32, text: &str, embedding: Option<Vec<f32>>) -> ChunkRow {
    ChunkRow { start_line: line, end_line: line + 3, text: text.into(), embedding }
}

pub(crate) async fn a_source_comes_back_with_its_chunks(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    assert_eq!(on.chunks.source(&row.key).await.unwrap(), None);
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), []);
    let chunks = [chunk(1, "first", Some(vec![0.5, -1.0, f32::MIN])), chunk(4, "second", None)];
    on.chunks.replace(&row, &chunks).await.unwrap();
    assert_eq!(on.chunks.source(&row.key).await.unwrap().as_ref(), Some(&row));
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), chunks);
}

pub(crate) async fn replacing_leaves_nothing_of_the_old(on: Backend) {
    let old = source(Some("anna"), "vault/a.md", "1");
    on.chunks.replace(&old, &[chunk(1, "a", None), chunk(2, "b", None)]).await.unwrap();
    let new = source(Some("anna"), "vault/a.md", "2");
    let chunks = [chunk(9, "c", None)];
    on.chunks.replace(&new, &chunks).await.unwrap();
    assert_eq!(on.chunks.source(&new.key).await.unwrap().as_ref(), Some(&new));
    assert_eq!(on.chunks.chunks(&new.key).await.unwrap(), chunks);
}

pub(crate) async fn removing_is_a_change_too(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    let made = on.chunks.replace(&row, &[chunk(1, "a", None)]).await.unwrap();
    let removed = on.chunks.remove(&row.key).await.unwrap();
    assert!(removed > made);
    assert_eq!(on.chunks.source(&row.key).await.unwrap(), None);
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), []);
    assert_eq!(on.chunks.changes(made, 10).await.unwrap(), [(removed, row.key)]);
}

pub(crate) async fn sources_are_listed_by_person(on: Backend) {
    let rows = [
        source(Some("anna"), "b", "1"),
        source(Some("anna"), "a", "1"),
        source(Some("bert"), "a", "1"),
        source(None, "shared/a", "1"),
    ];
    for row in &rows {
        on.chunks.replace(row, &[]).await.unwrap();
    }
    let anna = "anna".parse().unwrap();
    let mine = on.chunks.sources(Some(&anna)).await.unwrap();
    assert_eq!(mine, [rows[1].clone(), rows[0].clone()]);
    assert_eq!(on.chunks.sources(None).await.unwrap(), [rows[3].clone()]);
}

pub(crate) async fn changes_come_in_order_once_a_source(on: Backend) {
    let (a, b) = (source(Some("anna"), "a", "1"), source(None, "b", "1"));
    let epoch = on.chunks.epoch().await.unwrap();
    let first = on.chunks.replace(&a, &[]).await.unwrap();
    let second = on.chunks.replace(&b, &[]).await.unwrap();
    let third = on.chunks.replace(&a, &[]).await.unwrap();
    assert!(first < second && second < third);
    let all = [(second, b.key.clone()), (third, a.key.clone())];
    assert_eq!(on.chunks.changes(0, 10).await.unwrap(), all);
    assert_eq!(on.chunks.changes(first, 1).await.unwrap(), all[..1]);
    assert_eq!(on.chunks.changes(second, 10).await.unwrap(), all[1..]);
    assert_eq!(on.chunks.changes(third, 10).await.unwrap(), []);
    assert_eq!(on.chunks.epoch().await.unwrap(), epoch);
}
