use onyx_storage::{ContentRecord, OriginNote};
use onyx_types::{Hash, Origin, Timestamp};

use super::Backend;

pub(super) const ANNA: &str = "people/anna";
/// A time that is later than anything a test records.
const LATE: Timestamp = Timestamp::from_millis(i64::MAX);

pub(super) fn note(path: &str, content: Option<&str>, origin: Origin) -> OriginNote {
    OriginNote {
        path: path.to_owned(),
        hash: content.map(|content| Hash::of(content.as_bytes())),
        origin,
        prints: Vec::new(),
        names: Vec::new(),
    }
}

pub(crate) async fn a_content_is_known_here_elsewhere_and_by_what_was_there_before(on: Backend) {
    let origins = on.files.origins();
    let known = async |path: &str, content: &str| {
        let mut known = origins.known(ANNA, path, Hash::of(content.as_bytes())).await.unwrap();
        // The time of recording is the store's own, so the test replaces it.
        known.elsewhere = known.elsewhere.map(|(origin, _)| (origin, Timestamp::UNIX_EPOCH));
        known
    };
    assert_eq!(known("a", "one").await, ContentRecord::default());
    let notes = vec![
        note("a", Some("one"), Origin::External),
        note("a", Some("two"), Origin::Agent),
        note("b", Some("one"), Origin::AgentTainted),
    ];
    origins.note(ANNA, notes).await.unwrap();
    let here = |origin| ContentRecord { here: Some(origin), ..ContentRecord::default() };
    assert_eq!(known("a", "one").await, here(Origin::External));
    assert_eq!(known("a", "two").await, here(Origin::Agent));
    let changed = ContentRecord { before: Some(Origin::Agent), ..ContentRecord::default() };
    assert_eq!(known("a", "three").await, changed);
    let worst = Origin::External.max(Origin::AgentTainted);
    let copied = ContentRecord {
        elsewhere: Some((worst, Timestamp::UNIX_EPOCH)),
        ..ContentRecord::default()
    };
    assert_eq!(known("c", "one").await, copied);
    let of_bert = origins.known("people/bert", "a", Hash::of(b"one")).await.unwrap();
    assert_eq!(of_bert, ContentRecord::default(), "nothing is answered from another owner's rows");
    // A content that returns is the newest of its path again, and a path whose file was removed has
    // no content before.
    origins.note(ANNA, vec![note("a", Some("one"), Origin::Person)]).await.unwrap();
    assert_eq!(known("a", "one").await, here(Origin::Person));
    let back = ContentRecord { before: Some(Origin::Person), ..ContentRecord::default() };
    assert_eq!(known("a", "four").await, back);
    origins.note(ANNA, vec![note("a", None, Origin::Person)]).await.unwrap();
    assert_eq!(known("a", "four").await, ContentRecord::default());
}

pub(crate) async fn texts_alike_are_known_by_half_of_what_is_kept(on: Backend) {
    let origins = on.files.origins();
    assert!(!origins.has_foreign_text(ANNA).await.unwrap());
    let prints = vec![1, 2, 3, u64::MAX];
    let foreign = OriginNote { prints, ..note("a", Some("one"), Origin::External) };
    origins.note(ANNA, vec![foreign.clone()]).await.unwrap();
    assert!(origins.has_foreign_text(ANNA).await.unwrap());
    assert!(!origins.has_foreign_text("people/bert").await.unwrap());
    let alike = async |owner: &str, prints: &[u64], by| {
        origins.alike(owner, prints.to_vec(), by).await.unwrap()
    };
    assert_eq!(alike(ANNA, &[u64::MAX, 2, 77], LATE).await, Some(Origin::External));
    assert_eq!(alike(ANNA, &[2, 77], LATE).await, None, "one is chance");
    assert_eq!(alike(ANNA, &[1, 2, 3], Timestamp::UNIX_EPOCH).await, None, "not known by then");
    assert_eq!(alike("people/bert", &[1, 2, 3], LATE).await, None);
    // When the content is recorded again with fewer prints, only those count.
    let less = OriginNote { prints: vec![8, 9], ..foreign };
    origins.note(ANNA, vec![less]).await.unwrap();
    assert_eq!(alike(ANNA, &[1, 2, 3], LATE).await, None);
    assert_eq!(alike(ANNA, &[8, 9], LATE).await, Some(Origin::External));
}

pub(crate) async fn names_belong_to_the_worst_who_gave_one(on: Backend) {
    let origins = on.files.origins();
    let names = vec!["vault/x".to_owned(), "vault/x/y.md".to_owned()];
    let named = OriginNote { names, ..note("vault/x/y.md", Some("1"), Origin::External) };
    origins.note(ANNA, vec![named]).await.unwrap();
    let by = async |owner: &str, paths: &[&str]| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        origins.named_by(owner, paths).await.unwrap()
    };
    assert_eq!(by(ANNA, &["vault", "vault/x"]).await, Origin::External);
    assert_eq!(by(ANNA, &["vault"]).await, Origin::Person);
    assert_eq!(by("people/bert", &["vault/x"]).await, Origin::Person);
    let accepted = OriginNote {
        names: vec!["vault/x".to_owned()],
        ..note("vault/x/y.md", Some("1"), Origin::Person)
    };
    origins.note(ANNA, vec![accepted]).await.unwrap();
    assert_eq!(by(ANNA, &["vault/x"]).await, Origin::Person);
}

pub(crate) async fn commands_are_open_until_they_end(on: Backend) {
    let origins = on.files.origins();
    assert_eq!(origins.command_since(ANNA).await.unwrap(), None);
    let first = origins.begin_command(ANNA).await.unwrap();
    let second = origins.begin_command(ANNA).await.unwrap();
    assert_eq!(origins.open_commands().await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(origins.command_since(ANNA).await.unwrap(), Some(first.started_at));
    assert_eq!(origins.command_since("people/bert").await.unwrap(), None);
    origins.end_command(first.id).await.unwrap();
    assert_eq!(origins.command_since(ANNA).await.unwrap(), Some(second.started_at));
    origins.end_command(second.id).await.unwrap();
    assert_eq!(origins.open_commands().await.unwrap(), []);
}

pub(crate) async fn every_change_has_another_version(on: Backend) {
    let origins = on.files.origins();
    let mut seen = vec![origins.version(ANNA).await.unwrap()];
    origins.note(ANNA, vec![note("a", Some("one"), Origin::External)]).await.unwrap();
    seen.push(origins.version(ANNA).await.unwrap());
    let command = origins.begin_command(ANNA).await.unwrap();
    seen.push(origins.version(ANNA).await.unwrap());
    origins.end_command(command.id).await.unwrap();
    seen.push(origins.version(ANNA).await.unwrap());
    assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
    assert_eq!(origins.version(ANNA).await.unwrap(), seen[3]);
}
