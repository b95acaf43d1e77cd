use onyx_storage::{
    ChunkCounts, ChunkId, ChunkRow, GroupId, Message, OutlinedMessage, SourceKey, SourceKind,
    SourceRow, Stamp, StoredVector,
};
use onyx_types::{Hash, Origin, Scope, Timestamp};

use super::Backend;

fn source(person: Option<&str>, path: &str, text: &str) -> SourceRow {
    SourceRow {
        key: SourceKey { person: person.map(|id| id.parse().unwrap()), path: path.into() },
        kind: SourceKind::Memory,
        scope: Scope::Agent("main".parse().unwrap()),
        origin: Origin::External,
        title: format!("Title of {path}"),
        checksum: Hash::of(text.as_bytes()),
        stamp: Stamp { size: 5, modified: Timestamp::from_millis(3) },
        chunking: "1".to_owned(),
        problem: None,
        indexed_at: Timestamp::from_millis(7),
        conversation: None,
        dated: None,
    }
}

fn chunk(line: u32, text: &str) -> ChunkRow {
    ChunkRow {
        start_line: line,
        end_line: line + 3,
        heading: "A > B".into(),
        origin: Origin::AgentTainted,
        text: text.into(),
        hash: Hash::of(text.as_bytes()),
        message: None,
    }
}

pub(crate) async fn a_source_comes_back_with_its_chunks(on: Backend) {
    let mut row = source(Some("anna"), "vault/a.md", "1");
    assert_eq!(on.chunks.source(&row.key).await.unwrap(), None);
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), []);
    let chunks = [chunk(1, "first"), chunk(4, "second")];
    on.chunks.replace(&row, &chunks).await.unwrap();
    assert_eq!(on.chunks.source(&row.key).await.unwrap().as_ref(), Some(&row));
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), chunks);
    row.stamp = Stamp { size: 9, modified: Timestamp::from_millis(8) };
    row.indexed_at = Timestamp::from_millis(11);
    on.chunks.touch(&row.key, row.stamp, row.indexed_at).await.unwrap();
    assert_eq!(on.chunks.source(&row.key).await.unwrap(), Some(row));
}

pub(crate) async fn several_sources_are_replaced_together(on: Backend) {
    let rows = ["a", "b", "c"].map(|path| source(Some("anna"), path, "1"));
    let of = |row: &SourceRow| vec![chunk(1, &format!("text of {}", row.key.path))];
    on.chunks.replace(&rows[1], &[chunk(1, "before")]).await.unwrap();
    let last = on.chunks.replace_all(rows.iter().map(|row| (row.clone(), of(row))).collect());
    let last = last.await.unwrap();
    for row in &rows {
        assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), of(row));
    }
    let changes = on.chunks.changes(0, 9).await.unwrap();
    assert_eq!((changes.len(), changes[2].seq), (3, last), "each has a change of its own");
    assert_eq!(on.chunks.last_change().await.unwrap(), last);
}

pub(crate) async fn replacing_leaves_nothing_of_the_old(on: Backend) {
    let old = source(Some("anna"), "vault/a.md", "1");
    on.chunks.replace(&old, &[chunk(1, "a"), chunk(2, "b")]).await.unwrap();
    let new = SourceRow { scope: Scope::Person, ..source(Some("anna"), "vault/a.md", "2") };
    let chunks = [chunk(9, "c")];
    on.chunks.replace(&new, &chunks).await.unwrap();
    assert_eq!(on.chunks.source(&new.key).await.unwrap().as_ref(), Some(&new));
    assert_eq!(on.chunks.chunks(&new.key).await.unwrap(), chunks);
}

pub(crate) async fn removing_is_a_change_too(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    let made = on.chunks.replace(&row, &[chunk(1, "a")]).await.unwrap();
    let source = on.chunks.changes(0, 10).await.unwrap()[0].source;
    let removed = on.chunks.remove(&row.key).await.unwrap();
    assert!(removed > made);
    assert_eq!(on.chunks.source(&row.key).await.unwrap(), None);
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), []);
    assert_eq!(on.chunks.contents(&[source]).await.unwrap(), [None]);
    let changes = on.chunks.changes(made, 10).await.unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].seq, changes[0].source), (removed, source));
}

pub(crate) async fn everything_under_a_path_goes_at_once(on: Backend) {
    for (person, path) in [("anna", "s/one#1"), ("anna", "s/one#2"), ("anna", "s/two#1")] {
        on.chunks.replace(&source(Some(person), path, "1"), &[chunk(1, path)]).await.unwrap();
    }
    on.chunks.replace(&source(Some("bert"), "s/one#1", "1"), &[]).await.unwrap();
    let anna = "anna".parse().unwrap();
    let under = on.chunks.paths_under(Some(&anna), "s/one#").await.unwrap();
    assert_eq!(under, ["s/one#1", "s/one#2"]);
    assert_eq!(on.chunks.remove_under(Some(&anna), "s/one#").await.unwrap(), 2);
    let left = on.chunks.sources(Some(&anna)).await.unwrap();
    assert_eq!(left.iter().map(|row| row.key.path.as_str()).collect::<Vec<_>>(), ["s/two#1"]);
    assert_eq!(on.chunks.counts(Some(&"bert".parse().unwrap()), None).await.unwrap().sources, 1);
}

pub(crate) async fn sources_are_listed_by_person(on: Backend) {
    let rows = [
        source(Some("anna"), "b", "1"),
        SourceRow { problem: Some("no text".into()), ..source(Some("anna"), "a", "1") },
        source(Some("bert"), "a", "1"),
        source(None, "shared/a", "1"),
        SourceRow { kind: SourceKind::Session, ..source(Some("anna"), "s", "1") },
    ];
    for row in &rows {
        on.chunks.replace(row, &[]).await.unwrap();
    }
    let anna = "anna".parse().unwrap();
    let mine = on.chunks.sources(Some(&anna)).await.unwrap();
    assert_eq!(mine, [rows[1].clone(), rows[0].clone()]);
    assert_eq!(on.chunks.sources(None).await.unwrap(), [rows[3].clone()]);
    assert_eq!(on.chunks.problems(Some(&anna), 9).await.unwrap(), [rows[1].clone()]);
    let counts = ChunkCounts { sources: 3, chunks: 0, vectors: 0, problems: 1 };
    assert_eq!(on.chunks.counts(Some(&anna), None).await.unwrap(), counts);
}

pub(crate) async fn changes_come_in_order_once_a_source(on: Backend) {
    let (a, b) = (source(Some("anna"), "a", "1"), source(None, "b", "1"));
    let epoch = on.chunks.epoch().await.unwrap();
    let first = on.chunks.replace(&a, &[]).await.unwrap();
    let second = on.chunks.replace(&b, &[]).await.unwrap();
    let third = on.chunks.replace(&a, &[]).await.unwrap();
    assert!(first < second && second < third);
    let seqs = async |after, limit| {
        let changes = on.chunks.changes(after, limit).await.unwrap();
        changes.iter().map(|change| change.seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(0, 10).await, [second, third]);
    assert_eq!(seqs(first, 1).await, [second]);
    assert_eq!(seqs(second, 10).await, [third]);
    assert_eq!(seqs(third, 10).await, [0; 0]);
    assert_eq!(on.chunks.epoch().await.unwrap(), epoch);
}

pub(crate) async fn vectors_are_kept_by_chunk_and_follow_its_words(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    on.chunks.replace(&row, &[chunk(1, "one"), chunk(5, "two")]).await.unwrap();
    let text_seq = on.chunks.changes(0, 9).await.unwrap()[0].seq;
    let missing = on.chunks.without_vector("mini", ChunkId(0), 9).await.unwrap();
    assert_eq!(missing.iter().map(|c| c.row.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(missing[0].source, row);
    let one = missing[0].id;
    let vector = vec![0.5, -1.0, f32::MIN];
    on.chunks
        .keep_vectors("mini", vec![(one, vector.clone()), (ChunkId(999), vec![1.0])])
        .await
        .unwrap();
    let change = on.chunks.changes(text_seq, 9).await.unwrap();
    assert_eq!((change.len(), change[0].text_seq), (1, text_seq), "the text is as it was");
    assert_eq!(on.chunks.vectors("mini", &[one]).await.unwrap(), [(one, vector.clone())]);
    assert_eq!(on.chunks.without_vector("mini", ChunkId(0), 9).await.unwrap().len(), 1);

    // The chunk keeps its vector when the text around it is edited, and a copy elsewhere gets the
    // vector too; another model has none.
    on.chunks.replace(&row, &[chunk(1, "new"), chunk(9, "one")]).await.unwrap();
    let copy = source(Some("anna"), "vault/b.md", "1");
    on.chunks.replace(&copy, &[chunk(1, "one")]).await.unwrap();
    let all = on.chunks.vectors_after("mini", ChunkId(0), 9).await.unwrap();
    assert_eq!(all.iter().map(|v| v.vector.clone()).collect::<Vec<_>>(), [vector.clone(), vector]);
    let StoredVector { chunk: first, source: of, group, .. } = all[0].clone();
    assert_eq!(group, GroupId(1));
    assert_eq!(on.chunks.vectors_of("mini", &[of]).await.unwrap(), all[..1]);
    assert_eq!(on.chunks.vectors_after("mini", first, 9).await.unwrap(), all[1..]);
}

pub(crate) async fn vectors_of_tokens_go_where_the_vector_of_their_chunk_goes(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    on.chunks.replace(&row, &[chunk(1, "one"), chunk(5, "two")]).await.unwrap();
    let missing = on.chunks.without_vector("mini", ChunkId(0), 9).await.unwrap();
    let (one, two) = (missing[0].id, missing[1].id);
    let tokens = |chunk: ChunkId| vec![(chunk, vec![1, 2, 3]), (ChunkId(999), vec![9])];
    on.chunks.keep_tokens("mini", tokens(one)).await.unwrap();
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 0, "there is no vector yet");
    on.chunks.keep_vectors("mini", vec![(one, vec![0.5]), (two, vec![0.5])]).await.unwrap();
    on.chunks.keep_tokens("mini", tokens(one)).await.unwrap();
    let lacking = on.chunks.without_tokens("mini", ChunkId(0), 9).await.unwrap();
    assert_eq!(lacking.iter().map(|chunk| chunk.id).collect::<Vec<_>>(), [two]);
    assert_eq!(on.chunks.tokens("mini", &[two, one]).await.unwrap(), [(one, vec![1, 2, 3])]);
    assert_eq!(on.chunks.tokens("other", &[one]).await.unwrap(), []);
    // A copy with the same text takes the token vectors over, and a removed source loses its own.
    let copy = source(Some("anna"), "vault/b.md", "1");
    on.chunks.replace(&copy, &[chunk(1, "one")]).await.unwrap();
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 6);
    on.chunks.remove(&row.key).await.unwrap();
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 3);
    on.chunks.serve_vectors_of("other").await.unwrap();
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 0);
}

pub(crate) async fn the_oldest_vectors_of_tokens_make_room(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    let words = ["one", "two", "three", "four", "five"];
    let chunks: Vec<ChunkRow> = (1..).zip(words).map(|(line, word)| chunk(line, word)).collect();
    on.chunks.replace(&row, &chunks).await.unwrap();
    let all = on.chunks.without_vector("mini", ChunkId(0), 9).await.unwrap();
    let ids: Vec<ChunkId> = all.iter().map(|chunk| chunk.id).collect();
    let vectors = ids.iter().map(|id| (*id, vec![0.5])).collect();
    assert_eq!(on.chunks.newest_vector("mini").await.unwrap(), None);
    on.chunks.keep_vectors("mini", vectors).await.unwrap();
    assert_eq!(on.chunks.newest_vector("mini").await.unwrap(), Some(ids[4]));
    let lacking = async |before: ChunkId, limit| {
        let lacking = on.chunks.without_tokens_before("mini", before, limit).await.unwrap();
        lacking.iter().map(|chunk| chunk.id).collect::<Vec<_>>()
    };
    assert_eq!(lacking(ChunkId(999), 2).await, [ids[4], ids[3]], "the newest come first");
    assert_eq!(lacking(ids[1], 9).await, [ids[0]]);
    let tokens: Vec<_> = ids.iter().map(|id| (*id, vec![7; 10])).collect();
    on.chunks.keep_tokens("mini", tokens).await.unwrap();
    // Token vectors that are stored again count once, with their new size.
    on.chunks.keep_tokens("mini", vec![(ids[4], vec![7; 15])]).await.unwrap();
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 55);
    assert_eq!(on.chunks.drop_oldest_tokens("mini", 55).await.unwrap(), None);
    assert_eq!(on.chunks.drop_oldest_tokens("mini", 40).await.unwrap(), Some(ids[1]));
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 35);
    assert_eq!(lacking(ChunkId(999), 9).await, [ids[1], ids[0]]);
    assert_eq!(on.chunks.drop_oldest_tokens("mini", 0).await.unwrap(), Some(ids[4]));
    assert_eq!(on.chunks.token_bytes("mini").await.unwrap(), 0);
    assert_eq!(on.chunks.drop_oldest_tokens("other", 0).await.unwrap(), None);
}

pub(crate) async fn messages_come_back_and_are_outlined(on: Backend) {
    let row = SourceRow {
        kind: SourceKind::Session,
        conversation: Some("talk".into()),
        ..source(Some("anna"), "sessions/talk/1", "1")
    };
    let message = Message {
        turn: Some("0193b3a0-0000-7000-8000-000000000001".parse().unwrap()),
        author: "Tom".into(),
        at: Some(Timestamp::from_millis(50)),
        position: 17,
    };
    let said = ChunkRow { message: Some(message), ..chunk(1, "Tom: hello") };
    on.chunks.replace(&row, std::slice::from_ref(&said)).await.unwrap();
    let note = source(Some("anna"), "vault/a.md", "1");
    on.chunks.replace(&note, &[chunk(1, "note")]).await.unwrap();
    assert_eq!(on.chunks.chunks(&row.key).await.unwrap(), [said]);
    assert_eq!(on.chunks.source(&row.key).await.unwrap().unwrap(), row);
    let anna = "anna".parse().unwrap();
    let sources = on.chunks.source_ids(Some(&anna)).await.unwrap();
    let all = on.chunks.outline_of(&sources).await.unwrap();
    let told: Vec<_> = all.iter().map(|chunk| (chunk.at.as_millis(), &chunk.message)).collect();
    let spot = OutlinedMessage {
        person: Some("anna".parse().unwrap()),
        conversation: "talk".into(),
        author: "Tom".into(),
        position: 17,
    };
    assert_eq!(told, [(50, &Some(spot)), (3, &None)]);
    assert_eq!(on.chunks.outline_of(&[all[1].source]).await.unwrap(), all[1..]);
    assert_eq!(on.chunks.outline_of(&[]).await.unwrap(), []);
}

pub(crate) async fn vectors_of_one_model_serve_while_those_of_another_are_made(on: Backend) {
    let row = source(Some("anna"), "vault/a.md", "1");
    on.chunks.replace(&row, &[chunk(1, "one"), chunk(5, "two")]).await.unwrap();
    let all = on.chunks.without_vector("old", ChunkId(0), 9).await.unwrap();
    let ids: Vec<ChunkId> = all.iter().map(|chunk| chunk.id).collect();
    let keep = async |model: &str, chunk: ChunkId, number: f32| {
        on.chunks.keep_vectors(model, vec![(chunk, vec![number])]).await.unwrap();
    };
    let held = async |model: &str| on.chunks.vectors(model, &ids).await.unwrap().len();
    keep("old", ids[0], 1.0).await;
    keep("old", ids[1], 2.0).await;
    assert_eq!(on.chunks.served_vectors().await.unwrap(), None);
    on.chunks.serve_vectors_of("old").await.unwrap();
    keep("new", ids[0], 3.0).await;
    assert_eq!((held("old").await, held("new").await), (2, 1));
    let lacking = on.chunks.without_vector("new", ChunkId(0), 9).await.unwrap();
    assert_eq!(lacking.iter().map(|chunk| chunk.id).collect::<Vec<_>>(), ids[1..]);
    let anna = "anna".parse().unwrap();
    assert_eq!(on.chunks.counts(Some(&anna), Some("new")).await.unwrap().vectors, 1);
    assert_eq!(on.chunks.counts(Some(&anna), Some("old")).await.unwrap().vectors, 2);

    // A third model never replaces the one that searches use, and an edited source keeps the
    // vectors of both.
    keep("third", ids[0], 4.0).await;
    assert_eq!((held("old").await, held("new").await, held("third").await), (2, 0, 1));
    on.chunks.replace(&row, &[chunk(2, "one")]).await.unwrap();
    let known = async |model: &str| {
        on.chunks.vectors_after(model, ChunkId(0), 9).await.unwrap()[0].vector.clone()
    };
    assert_eq!((known("old").await, known("third").await), (vec![1.0], vec![4.0]));

    on.chunks.serve_vectors_of("third").await.unwrap();
    assert_eq!(on.chunks.served_vectors().await.unwrap().as_deref(), Some("third"));
    assert_eq!(known("third").await, [4.0]);
    assert_eq!(on.chunks.vectors_after("old", ChunkId(0), 9).await.unwrap(), []);
}

pub(crate) async fn sources_alike_share_a_group_and_chunks_know_theirs(on: Backend) {
    let rows = [
        source(Some("anna"), "a", "1"),
        source(Some("anna"), "b", "1"),
        source(None, "c", "1"),
        SourceRow { kind: SourceKind::Daily, ..source(Some("anna"), "d", "1") },
    ];
    for row in &rows {
        on.chunks.replace(row, &[chunk(1, &row.key.path)]).await.unwrap();
    }
    let groups = on.chunks.groups_after(GroupId(0)).await.unwrap();
    let of = groups.iter().map(|group| (group.person.is_some(), group.kind)).collect::<Vec<_>>();
    let (memory, daily) = (SourceKind::Memory, SourceKind::Daily);
    assert_eq!(of, [(true, memory), (false, memory), (true, daily)]);
    // Nobody writes now, so whoever has read these groups reads only those that come later.
    let settled = on.chunks.groups_settled_through().await.unwrap();
    assert!(settled >= groups[2].id, "{settled:?}");
    let after = async |group: GroupId| on.chunks.groups_after(group).await.unwrap();
    assert_eq!(after(groups[0].id).await, groups[1..]);
    assert_eq!(after(groups[2].id).await, []);
    let note = SourceRow { kind: SourceKind::Note, ..source(Some("anna"), "e", "1") };
    on.chunks.replace(&note, &[]).await.unwrap();
    let new = after(groups[2].id).await;
    assert_eq!(new.iter().map(|group| group.kind).collect::<Vec<_>>(), [SourceKind::Note]);
    let change = on.chunks.changes(0, 9).await.unwrap();
    let gone = onyx_storage::SourceId(999);
    let contents = on.chunks.contents(&[gone, change[1].source]).await.unwrap();
    let [None, Some(contents)] = contents.as_slice() else { panic!("{contents:?}") };
    assert_eq!((contents.group, contents.title.as_str()), (groups[0].id, "Title of b"));
    let (id, row) = contents.chunks[0].clone();
    let stored = on.chunks.stored(&[ChunkId(999), id]).await.unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!((stored[0].id, &stored[0].source, &stored[0].row), (id, &rows[1], &row));
}

pub(crate) async fn all_vectors_of_one_person_are_read_by_their_sources(on: Backend) {
    let mut written = Vec::new();
    for (person, path) in
        [(Some("anna"), "a"), (Some("bert"), "b"), (None, "c"), (Some("anna"), "d")]
    {
        let row = source(person, path, "1");
        on.chunks.replace(&row, &[chunk(1, path), chunk(5, "more")]).await.unwrap();
        written.push(row.key);
    }
    let missing = on.chunks.without_vector("mini", ChunkId(0), 99).await.unwrap();
    assert_eq!(missing.len(), 8);
    let vectors = missing.iter().map(|chunk| (chunk.id, vec![0.5])).collect();
    on.chunks.keep_vectors("mini", vectors).await.unwrap();
    let anna: onyx_types::PersonId = "anna".parse().unwrap();
    let bert: onyx_types::PersonId = "bert".parse().unwrap();
    for (person, places) in
        [(Some(&anna), vec![0_usize, 3]), (Some(&bert), vec![1]), (None, vec![2])]
    {
        let ids = on.chunks.source_ids(person).await.unwrap();
        assert!(ids.is_sorted() && ids.len() == places.len(), "{ids:?}");
        let found = on.chunks.vectors_of("mini", &ids).await.unwrap();
        let of_person = missing
            .iter()
            .filter(|chunk| places.iter().any(|place| written[*place] == chunk.source.key))
            .map(|chunk| chunk.id);
        let chunks: Vec<ChunkId> = found.iter().map(|vector| vector.chunk).collect();
        assert_eq!(chunks, of_person.collect::<Vec<_>>());
        assert_eq!(on.chunks.outline_of(&ids).await.unwrap().len(), found.len());
    }
    on.chunks.remove(&written[0]).await.unwrap();
    assert_eq!(on.chunks.source_ids(Some(&anna)).await.unwrap().len(), 1);
}

pub(crate) async fn marks_are_found_by_the_start_of_their_names(on: Backend) {
    for (name, value) in [("s:1", "a"), ("s:2", "b"), ("t", "c"), ("s:1", "d")] {
        on.chunks.set_mark(name, value).await.unwrap();
    }
    let marks = on.chunks.marks("s:").await.unwrap();
    assert_eq!(marks, [("s:1".to_owned(), "d".to_owned()), ("s:2".to_owned(), "b".to_owned())]);
    // Counts are kept per period, and none is lost when several callers count at once.
    let add = |period, by| on.chunks.add_to_mark("s:3", period, by);
    assert_eq!(add("2026-11-18", 5).await.unwrap(), 5);
    assert_eq!(add("2026-11-18", 2).await.unwrap(), 7);
    assert_eq!(add("2026-11-19", 0).await.unwrap(), 0, "a new day begins at zero");
    let all = tokio::join!(add("2026-11-19", 3), add("2026-11-19", 3), add("2026-11-19", 3));
    assert!(matches!(all, (Ok(_), Ok(_), Ok(_))), "{all:?}");
    assert_eq!(add("2026-11-19", 0).await.unwrap(), 9);
    assert_eq!(on.chunks.marks("s:3").await.unwrap(), [("s:3".into(), "2026-11-19 9".into())]);
}
