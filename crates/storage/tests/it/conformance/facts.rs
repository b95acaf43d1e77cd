use onyx_storage::{
    ChunkFacts, ChunkId, ChunkRow, EntityName, FactRow, GroupId, Holds, ObjectKind, SourceKey,
    SourceKind, SourceRow, Stamp,
};
use onyx_types::{Hash, Origin, Scope, Timestamp};

use super::Backend;

pub(super) fn fact(subject: &str, relation: &str, object: &str, kind: ObjectKind) -> FactRow {
    FactRow {
        subject: EntityName::new(subject),
        relation: relation.into(),
        object: EntityName::new(object),
        object_kind: kind,
        holds: Holds::Begins,
        line: 3,
        said: format!("{subject} {relation} {object}."),
        from: None,
        until: Some(Timestamp::from_millis(99)),
    }
}

/// Stores a source with one chunk for each text, and returns its group and chunks.
pub(super) async fn source(
    on: &Backend,
    person: &str,
    path: &str,
    texts: &[&str],
) -> (GroupId, Vec<ChunkId>) {
    let row = SourceRow {
        key: SourceKey { person: Some(person.parse().unwrap()), path: path.into() },
        kind: SourceKind::Note,
        scope: Scope::Person,
        origin: Origin::Person,
        title: "Title".into(),
        checksum: Hash::of(b""),
        stamp: Stamp { size: 1, modified: Timestamp::from_millis(1_000) },
        chunking: "1".into(),
        problem: None,
        indexed_at: Timestamp::from_millis(1),
        conversation: None,
        dated: None,
    };
    let chunk = |text: &&str| ChunkRow {
        start_line: 1,
        end_line: 2,
        heading: String::new(),
        origin: Origin::External,
        text: (*text).into(),
        hash: Hash::of(text.as_bytes()),
        message: None,
    };
    let chunks: Vec<ChunkRow> = texts.iter().map(chunk).collect();
    on.chunks.replace(&row, &chunks).await.unwrap();
    let source = on.chunks.changes(0, 99).await.unwrap().last().unwrap().source;
    let contents = on.chunks.contents(&[source]).await.unwrap().remove(0).unwrap();
    (contents.group, contents.chunks.into_iter().map(|(id, _)| id).collect())
}

pub(super) fn found(chunk: ChunkId, maker: &str, facts: Vec<FactRow>) -> ChunkFacts {
    ChunkFacts { chunk, maker: maker.into(), facts }
}

async fn said(on: &Backend, name: &str, groups: &[GroupId]) -> Vec<String> {
    let facts = on.chunks.facts_about(&[EntityName::new(name).key], groups, 9).await.unwrap();
    facts.into_iter().map(|fact| fact.row.said).collect()
}

pub(crate) async fn facts_are_found_by_either_name_within_groups(on: Backend) {
    let (mine, chunks) = source(&on, "anna", "a", &["one", "two"]).await;
    let (other, theirs) = source(&on, "bert", "a", &["three"]).await;
    let lives = fact("Tom", "lives in", "Bern", ObjectKind::Entity);
    let phone = fact("Tom", "phone", "123", ObjectKind::Value);
    let gone = found(ChunkId(999), "rules", vec![lives.clone()]);
    on.chunks
        .keep_facts(vec![
            found(chunks[0], "rules", vec![lives.clone()]),
            found(chunks[1], "rules", vec![phone.clone()]),
            found(theirs[0], "rules", vec![fact("Tom", "likes", "tea", ObjectKind::Value)]),
            gone,
        ])
        .await
        .unwrap();
    assert_eq!(said(&on, "tom", &[mine]).await, [phone.said.as_str(), lives.said.as_str()]);
    assert_eq!(said(&on, "BERN", &[mine]).await, [lives.said.as_str()]);
    assert_eq!(said(&on, "123", &[mine]).await, [""; 0], "a value is nobody");
    assert_eq!(said(&on, "tom", &[other]).await, ["Tom likes tea."]);
    assert_eq!(said(&on, "tom", &[]).await, [""; 0]);
    let whole = on.chunks.facts_about(&["bern".into()], &[mine, other], 9).await.unwrap();
    assert_eq!((&whole[0].row, whole[0].maker.as_str()), (&lives, "rules"));
    assert_eq!((whole[0].group, whole[0].origin), (mine, Origin::External));
    assert_eq!((whole[0].title.as_str(), whole[0].said_at.as_millis()), ("Title", 1_000));
}

pub(crate) async fn entities_are_found_by_a_part_of_their_name(on: Backend) {
    let (group, chunks) = source(&on, "anna", "a", &["one"]).await;
    let facts = vec![
        fact("Tom", "lives in", "Bern", ObjectKind::Entity),
        fact("Tomas", "phone", "123", ObjectKind::Value),
        fact("Tom", "knows", "Tomas", ObjectKind::Entity),
    ];
    on.chunks.keep_facts(vec![found(chunks[0], "rules", facts)]).await.unwrap();
    let named = async |part: &str, groups: &[GroupId]| {
        let rows = on.chunks.entities(part, groups, 9).await.unwrap();
        rows.into_iter().map(|row| (row.name.key, row.facts)).collect::<Vec<_>>()
    };
    assert_eq!(named("tom", &[group]).await, [("tom".into(), 2), ("tomas".into(), 2)]);
    assert_eq!(named("ber", &[group]).await, [("bern".to_owned(), 1)]);
    assert_eq!(named("%", &[group]).await, []);
    assert_eq!(named("tom", &[]).await, []);
}

/// Lists entities as name, number of facts, and the time when they were mentioned last.
async fn listed(
    on: &Backend,
    part: &str,
    groups: &[GroupId],
    limit: u32,
) -> Vec<(String, u64, i64)> {
    let rows = on.chunks.entities(part, groups, limit).await.unwrap();
    rows.into_iter().map(|row| (row.name.name, row.facts, row.last_said.as_millis())).collect()
}

fn entity(name: &str, facts: u64, last_said: i64) -> (String, u64, i64) {
    (name.to_owned(), facts, last_said)
}

fn of_anna(path: &str) -> SourceKey {
    SourceKey { person: Some("anna".parse().unwrap()), path: path.into() }
}

/// Notes that a file was written at this time with the same content.
async fn touch(on: &Backend, key: &SourceKey, at: i64) {
    let stamp = Stamp { size: 1, modified: Timestamp::from_millis(at) };
    on.chunks.touch(key, stamp, Timestamp::from_millis(1)).await.unwrap();
}

pub(crate) async fn entities_are_counted_within_the_groups_that_are_asked_for(on: Backend) {
    let (mine, chunks) = source(&on, "anna", "a", &["one"]).await;
    let (other, theirs) = source(&on, "bert", "a", &["two"]).await;
    let lives = fact("Tom", "lives in", "Bern", ObjectKind::Entity);
    let knows = fact("TOM", "knows", "Eva", ObjectKind::Entity);
    let himself = fact("Tom", "knows", "Tom", ObjectKind::Entity);
    on.chunks
        .keep_facts(vec![
            found(chunks[0], "rules", vec![lives, himself]),
            found(theirs[0], "rules", vec![knows]),
        ])
        .await
        .unwrap();
    let of_mine = [entity("Bern", 1, 1_000), entity("Tom", 2, 1_000)];
    assert_eq!(listed(&on, "", &[mine], 9).await, of_mine, "a fact counts once");
    let of_others = [entity("Eva", 1, 1_000), entity("TOM", 1, 1_000)];
    assert_eq!(listed(&on, "", &[other], 9).await, of_others);
    let of_both = [entity("Bern", 1, 1_000), entity("Eva", 1, 1_000), entity("Tom", 3, 1_000)];
    assert_eq!(listed(&on, "", &[mine, other], 9).await, of_both);
    assert_eq!(listed(&on, "", &[], 9).await, []);
}

pub(crate) async fn entities_follow_their_facts(on: Backend) {
    let (group, chunks) = source(&on, "anna", "a", &["one", "two"]).await;
    let groups = [group];
    let lives = fact("Tom", "lives in", "Bern", ObjectKind::Entity);
    let likes = fact("TOM", "likes", "tea", ObjectKind::Value);
    on.chunks
        .keep_facts(vec![
            found(chunks[0], "rules", vec![lives]),
            found(chunks[1], "rules", vec![likes]),
        ])
        .await
        .unwrap();
    let both = [entity("Bern", 1, 1_000), entity("TOM", 2, 1_000)];
    assert_eq!(listed(&on, "", &groups, 9).await, both, "the last spelling is shown");
    on.chunks.keep_facts(vec![found(chunks[1], "rules", vec![])]).await.unwrap();
    let one = [entity("Bern", 1, 1_000), entity("Tom", 1, 1_000)];
    assert_eq!(listed(&on, "", &groups, 9).await, one);
    touch(&on, &of_anna("a"), 2_000).await;
    let later = [entity("Bern", 1, 2_000), entity("Tom", 1, 2_000)];
    assert_eq!(listed(&on, "", &groups, 9).await, later);

    let (_, more) = source(&on, "anna", "b", &["three"]).await;
    let knows = fact("Tom", "knows", "Eva", ObjectKind::Entity);
    on.chunks.keep_facts(vec![found(more[0], "rules", vec![knows])]).await.unwrap();
    let three = [entity("Bern", 1, 2_000), entity("Tom", 2, 2_000), entity("Eva", 1, 1_000)];
    assert_eq!(listed(&on, "", &groups, 9).await, three);
    source(&on, "anna", "a", &["other"]).await;
    let left = [entity("Eva", 1, 1_000), entity("Tom", 1, 1_000)];
    assert_eq!(listed(&on, "", &groups, 9).await, left, "the facts of the old text are gone");
    on.chunks.remove(&of_anna("b")).await.unwrap();
    assert_eq!(listed(&on, "", &groups, 9).await, []);
}

pub(crate) async fn the_newest_entities_of_all_groups_come_first_with_all_their_facts(on: Backend) {
    let mut groups = Vec::new();
    for number in 0..4 {
        let path = number.to_string();
        let (group, chunks) = source(&on, "anna", &path, &["one"]).await;
        let facts = [format!("E{number}"), "Tom".to_owned()];
        let facts = facts.map(|name| fact(&name, "phone", "123", ObjectKind::Value)).to_vec();
        on.chunks.keep_facts(vec![found(chunks[0], "rules", facts)]).await.unwrap();
        touch(&on, &of_anna(&path), number * 10).await;
        groups = vec![group];
    }
    let (other, chunks) = source(&on, "bert", "a", &["one"]).await;
    groups.push(other);
    let facts = ["Fay", "Tom"].map(|name| fact(name, "phone", "123", ObjectKind::Value)).to_vec();
    on.chunks.keep_facts(vec![found(chunks[0], "rules", facts)]).await.unwrap();
    let all = [
        entity("Fay", 1, 1_000),
        entity("Tom", 5, 1_000),
        entity("E3", 1, 30),
        entity("E2", 1, 20),
        entity("E1", 1, 10),
        entity("E0", 1, 0),
    ];
    for limit in [1, 2, 3, 6, 9] {
        let expected = &all[..all.len().min(limit as usize)];
        assert_eq!(listed(&on, "", &groups, limit).await, expected, "the first {limit}");
    }
    assert_eq!(listed(&on, "e", &groups, 2).await, all[2..4]);
}

pub(crate) async fn facts_go_with_their_chunk_and_take_the_place_of_their_maker(on: Backend) {
    let (group, chunks) = source(&on, "anna", "a", &["one"]).await;
    let keep = async |maker: &str, object: &str| {
        let facts = vec![fact("Tom", "lives in", object, ObjectKind::Value)];
        on.chunks.keep_facts(vec![found(chunks[0], maker, facts)]).await.unwrap();
    };
    keep("rules", "Bern").await;
    keep("model", "Basel").await;
    keep("rules", "Chur").await;
    assert_eq!(said(&on, "tom", &[group]).await, ["Tom lives in Chur.", "Tom lives in Basel."]);
    source(&on, "anna", "a", &["other"]).await;
    assert_eq!(said(&on, "tom", &[group]).await, [""; 0]);
    let all = on.chunks.chunks_after(ChunkId(0), 9).await.unwrap();
    assert_eq!(all.iter().map(|chunk| chunk.row.text.as_str()).collect::<Vec<_>>(), ["other"]);
    assert_eq!(on.chunks.chunks_after(all[0].id, 9).await.unwrap(), []);
}

pub(crate) async fn a_reading_is_kept_by_its_text(on: Backend) {
    let text = Hash::of(b"text");
    assert_eq!(on.chunks.reading(text, "model").await.unwrap(), None);
    let facts = vec![fact("Tom", "lives in", "Bern\0", ObjectKind::Entity)];
    on.chunks.keep_reading(text, "model", &facts).await.unwrap();
    assert_eq!(on.chunks.reading(text, "model").await.unwrap(), Some(facts));
    on.chunks.keep_reading(text, "model", &[]).await.unwrap();
    assert_eq!(on.chunks.reading(text, "model").await.unwrap(), Some(vec![]));
    assert_eq!(on.chunks.reading(text, "other").await.unwrap(), None);
    let standing = on.chunks.standing().await.unwrap();
    assert_eq!((standing.last_change, standing.served_vectors), (0, None));
}
