use onyx_storage::{
    SessionChange, SessionFilter, SessionMarks, SessionMeta, SessionStatus, StoreError,
    TitleSource, UnusedSession,
};
use onyx_types::{
    EntityRef, LaneOrder, ModelId, PersonId, RunStatus, SessionId, SessionKey, SessionOrigin,
    Timestamp, Usage,
};

use super::Backend;
use crate::support::Maker;

fn anna() -> PersonId {
    "anna".parse().unwrap()
}

pub(super) fn meta(make: &mut Maker, updated: i64) -> SessionMeta {
    let key = make.key();
    SessionMeta {
        session_id: key.session,
        agents: vec![key.agent.clone()],
        agent: key.agent,
        origin: SessionOrigin::Chat,
        mode: LaneOrder::Sequential,
        title: None,
        titled_by: TitleSource::Words,
        status: SessionStatus::Active,
        created_at: Timestamp::from_millis(1),
        updated_at: Timestamp::from_millis(updated),
        message_count: 3,
        token_count: 4,
        preview: "preview".into(),
        root: key.session,
        fork_turn: None,
        last_run: None,
        last_run_status: None,
        marks: SessionMarks::default(),
    }
}

async fn ids(on: &Backend, filter: SessionFilter) -> Vec<SessionId> {
    let page = on.ledger.sessions(&anna(), &filter).await.unwrap();
    if filter == SessionFilter::default() {
        for most in [1, 2, 50] {
            let counted = on.ledger.count_sessions(&anna(), most).await.unwrap() as usize;
            assert_eq!(counted, page.len().min(most as usize));
        }
    }
    page.into_iter().map(|meta| meta.session_id).collect()
}

pub(crate) async fn a_row_comes_back_as_it_was_put(on: Backend) {
    let mut make = Maker::new();
    let plain = meta(&mut make, 5);
    let full = SessionMeta {
        origin: SessionOrigin::AgentEditor,
        title: Some("Title".into()),
        titled_by: TitleSource::Person,
        agents: vec!["ada".parse().unwrap(), "bob".parse().unwrap()],
        mode: LaneOrder::Parallel,
        status: SessionStatus::Archived,
        fork_turn: Some(make.user("x").id),
        root: plain.root,
        last_run: Some(make.run()),
        last_run_status: Some(RunStatus::AwaitingClient),
        ..meta(&mut make, 6)
    };
    for put in [&plain, &full] {
        on.ledger.put_session(&anna(), put).await.unwrap();
        let got = on.ledger.session(&anna(), put.session_id).await.unwrap();
        assert_eq!(got.as_ref(), Some(put));
    }
    let changed = SessionMeta { title: None, ..full.clone() };
    on.ledger.put_session(&anna(), &changed).await.unwrap();
    assert_eq!(on.ledger.session(&anna(), full.session_id).await.unwrap(), Some(changed));
}

pub(crate) async fn a_foreign_session_is_not_there(on: Backend) {
    let mut make = Maker::new();
    let mine = meta(&mut make, 5);
    on.ledger.put_session(&anna(), &mine).await.unwrap();
    let bert = "bert".parse().unwrap();
    assert_eq!(on.ledger.session(&bert, mine.session_id).await.unwrap(), None);
    assert_eq!(on.ledger.sessions(&bert, &SessionFilter::default()).await.unwrap(), []);
    on.ledger.delete_session(&bert, mine.session_id).await.unwrap();
    assert!(on.ledger.session(&anna(), mine.session_id).await.unwrap().is_some());
}

pub(crate) async fn deleting_is_idempotent(on: Backend) {
    let mut make = Maker::new();
    let row = meta(&mut make, 5);
    on.ledger.put_session(&anna(), &row).await.unwrap();
    on.ledger.delete_session(&anna(), row.session_id).await.unwrap();
    on.ledger.delete_session(&anna(), row.session_id).await.unwrap();
    assert_eq!(on.ledger.session(&anna(), row.session_id).await.unwrap(), None);
}

pub(crate) async fn every_filter_narrows(on: Backend) {
    let mut make = Maker::new();
    let rows = [
        SessionMeta { agent: "other".parse().unwrap(), ..meta(&mut make, 10) },
        SessionMeta { status: SessionStatus::Archived, ..meta(&mut make, 20) },
        SessionMeta { origin: SessionOrigin::Job, ..meta(&mut make, 30) },
        meta(&mut make, 40),
    ];
    for row in &rows {
        on.ledger.put_session(&anna(), row).await.unwrap();
    }
    let id = |n: usize| rows[n].session_id;
    let all = SessionFilter::default();
    assert_eq!(ids(&on, all.clone()).await, [id(3), id(2), id(1), id(0)]);
    let other = SessionFilter { agent: Some("other".parse().unwrap()), ..all.clone() };
    assert_eq!(ids(&on, other).await, [id(0)]);
    let archived = SessionFilter { status: Some(SessionStatus::Archived), ..all.clone() };
    assert_eq!(ids(&on, archived).await, [id(1)]);
    let jobs = SessionFilter { origin: Some(SessionOrigin::Job), ..all.clone() };
    assert_eq!(ids(&on, jobs).await, [id(2)]);
    let since = SessionFilter { since: Some(Timestamp::from_millis(30)), ..all.clone() };
    assert_eq!(ids(&on, since).await, [id(3), id(2)]);
    let until = SessionFilter { until: Some(Timestamp::from_millis(30)), ..all.clone() };
    assert_eq!(ids(&on, until).await, [id(1), id(0)]);
    assert_eq!(ids(&on, SessionFilter { limit: 1, ..all }).await, [id(3)]);
}

pub(crate) async fn text_is_found_in_any_case(on: Backend) {
    let mut make = Maker::new();
    let by_title = SessionMeta { title: Some("Über Katzen".into()), ..meta(&mut make, 10) };
    let by_preview = SessionMeta { preview: "100% ÜBERRASCHT".into(), ..meta(&mut make, 20) };
    let neither = meta(&mut make, 30);
    for row in [&by_title, &by_preview, &neither] {
        on.ledger.put_session(&anna(), row).await.unwrap();
    }
    let find = |text: &str| SessionFilter { text: Some(text.into()), ..SessionFilter::default() };
    assert_eq!(ids(&on, find("über")).await, [by_preview.session_id, by_title.session_id]);
    assert_eq!(ids(&on, find("0% ü")).await, [by_preview.session_id]);
    assert_eq!(ids(&on, find("_")).await, []);
    let one = SessionFilter { limit: 1, before: Some(by_preview.session_id), ..find("ÜBER") };
    assert_eq!(ids(&on, one).await, [by_title.session_id]);
    // The ledger does not contain what was said, so the caller passes the sessions that hold the
    // text.
    let fork = SessionMeta { root: neither.session_id, ..meta(&mut make, 40) };
    on.ledger.put_session(&anna(), &fork).await.unwrap();
    let said = |session| SessionFilter { holding: vec![session], ..find("über") };
    let both = [by_preview.session_id, by_title.session_id];
    assert_eq!(ids(&on, said(by_title.session_id)).await, both);
    let with_fork = [fork.session_id, by_preview.session_id, by_title.session_id];
    assert_eq!(ids(&on, said(neither.session_id)).await, with_fork, "by another of its family");
    assert_eq!(ids(&on, said(fork.session_id)).await, with_fork);
}

pub(crate) async fn pages_cover_the_list_newest_first(on: Backend) {
    let mut make = Maker::new();
    // Many sessions have the same time, so the cursor must tell them apart.
    let mut rows: Vec<_> = (0..23).map(|n| meta(&mut make, 10 * (n / 5))).collect();
    for row in &rows {
        on.ledger.put_session(&anna(), row).await.unwrap();
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.updated_at, row.session_id)));
    let expected: Vec<_> = rows.iter().map(|row| row.session_id).collect();
    for limit in [1, 4, 22, 23, 24] {
        let mut collected: Vec<SessionId> = Vec::new();
        loop {
            let before = collected.last().copied();
            let page = ids(&on, SessionFilter { limit, before, ..SessionFilter::default() }).await;
            if page.is_empty() {
                break;
            }
            collected.extend(page);
        }
        assert_eq!(collected, expected, "pages of {limit}");
    }
}

pub(crate) async fn a_cursor_that_is_gone_is_told(on: Backend) {
    let before = Some(Maker::new().key().session);
    let page = on.ledger.sessions(&anna(), &SessionFilter { before, ..Default::default() }).await;
    assert!(matches!(page, Err(StoreError::NotFound)));
}

pub(crate) async fn a_list_shows_the_newest_of_each_family(on: Backend) {
    let mut make = Maker::new();
    let root = meta(&mut make, 10);
    let older = SessionMeta { root: root.session_id, ..meta(&mut make, 20) };
    let newest = SessionMeta {
        root: root.session_id,
        created_at: Timestamp::from_millis(2),
        status: SessionStatus::Archived,
        ..meta(&mut make, 30)
    };
    let alone = meta(&mut make, 15);
    for row in [&root, &older, &newest, &alone] {
        on.ledger.put_session(&anna(), row).await.unwrap();
    }
    let all = SessionFilter::default();
    assert_eq!(ids(&on, all.clone()).await, [newest.session_id, alone.session_id]);
    let active = SessionFilter { status: Some(SessionStatus::Active), ..all };
    assert_eq!(ids(&on, active.clone()).await, [alone.session_id], "put away as a whole");
    let family = on.ledger.family(&anna(), root.session_id).await.unwrap();
    assert_eq!(family, [root.clone(), older.clone(), newest.clone()]);
    on.ledger.delete_session(&anna(), newest.session_id).await.unwrap();
    assert_eq!(ids(&on, active).await, [older.session_id, alone.session_id]);
    assert_eq!(on.ledger.family(&"bert".parse().unwrap(), root.session_id).await.unwrap(), []);
}

pub(crate) async fn a_change_touches_only_what_it_names(on: Backend) {
    let mut make = Maker::new();
    let row = SessionMeta { title: Some("hi".into()), ..meta(&mut make, 5) };
    on.ledger.put_session(&anna(), &row).await.unwrap();
    let id = row.session_id;
    let change = SessionChange {
        agents: Some(vec!["bob".parse().unwrap()]),
        mode: Some(LaneOrder::Parallel),
        ..SessionChange::default()
    };
    let changed = on.ledger.change_session(&anna(), id, &change).await.unwrap();
    let expected =
        SessionMeta { agents: vec!["bob".parse().unwrap()], mode: LaneOrder::Parallel, ..row };
    assert_eq!(changed, expected);
    assert_eq!(on.ledger.session(&anna(), id).await.unwrap(), Some(expected.clone()));
    let archived =
        SessionChange { status: Some(SessionStatus::Archived), ..SessionChange::default() };
    let changed = on.ledger.change_session(&anna(), id, &archived).await.unwrap();
    assert_eq!(changed, SessionMeta { status: SessionStatus::Archived, ..expected });
    let foreign = on.ledger.change_session(&"bert".parse().unwrap(), id, &archived).await;
    assert!(matches!(foreign, Err(StoreError::NotFound)));
}

pub(crate) async fn a_title_by_a_person_is_replaced_by_a_person_only(on: Backend) {
    let mut make = Maker::new();
    let row = SessionMeta { title: Some("hi".into()), ..meta(&mut make, 5) };
    on.ledger.put_session(&anna(), &row).await.unwrap();
    for (title, by, expected) in [
        ("Greetings", TitleSource::Model, "Greetings"),
        ("Mine", TitleSource::Person, "Mine"),
        ("Theirs", TitleSource::Model, "Mine"),
        ("Mine too", TitleSource::Person, "Mine too"),
    ] {
        let change =
            SessionChange { title: Some((title.to_owned(), by)), ..SessionChange::default() };
        let changed = on.ledger.change_session(&anna(), row.session_id, &change).await.unwrap();
        assert_eq!(changed.title.as_deref(), Some(expected));
    }
}

pub(crate) async fn what_is_booked_counts_for_session_and_person(on: Backend) {
    let mut make = Maker::new();
    let row = meta(&mut make, 5);
    on.ledger.put_session(&anna(), &row).await.unwrap();
    let key = SessionKey { person: anna(), agent: row.agent.clone(), session: row.session_id };
    let usage = Usage { input: 7, output: 3, cost: Some(0.25), ..Usage::default() };
    for _ in 0..2 {
        let model = ModelId::new("mine/m");
        on.ledger.book(&key, &model, usage, Timestamp::from_millis(0)).await.unwrap();
    }
    let after = on.ledger.session(&anna(), row.session_id).await.unwrap().unwrap();
    assert_eq!(after.token_count, row.token_count + 20);
    assert_eq!(on.ledger.spent(&anna(), "1970-01-01").await.unwrap(), 0.5);
}

pub(crate) async fn what_was_answered_is_unread_until_it_is_read(on: Backend) {
    use onyx_storage::{BeginIn, BeginRun, RunOutcome};
    let mut make = Maker::new();
    for (origin, is_unread) in [(SessionOrigin::Job, true), (SessionOrigin::Api, false)] {
        let key = make.key();
        let run = make.run();
        let begin = BeginRun {
            run,
            key: key.clone(),
            input_turn: make.user("hi").id,
            started_at: make.tick(),
            session: BeginIn::New(origin),
        };
        on.ledger.begin_run(begin).await.unwrap();
        let unread = async || {
            let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
            let filter = SessionFilter { origin: Some(origin), ..SessionFilter::default() };
            let listed = on.ledger.sessions(&key.person, &filter).await.unwrap();
            assert_eq!(listed[0].marks, meta.marks);
            meta.marks.unread
        };
        assert!(!unread().await);
        let ended = RunOutcome {
            run,
            status: RunStatus::Done,
            ended_at: make.tick(),
            usage: Usage::default(),
            used: Vec::new(),
            messages_added: 2,
            preview: None,
            title: None,
        };
        on.ledger.end_run(ended).await.unwrap();
        assert_eq!(unread().await, is_unread);
        // Rebuilding the list from the logs marks nothing as read or unread.
        let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
        let rebuilt = SessionMeta { marks: SessionMarks::default(), ..meta };
        on.ledger.put_session(&key.person, &rebuilt).await.unwrap();
        assert_eq!(unread().await, is_unread);
        assert_eq!(on.ledger.mark_read(&key.person, key.session).await.unwrap(), is_unread);
        assert!(!unread().await);
        assert!(!on.ledger.mark_read(&key.person, key.session).await.unwrap());
    }
}

pub(crate) async fn tags_and_what_it_is_about_belong_to_a_conversation_with_its_forks(on: Backend) {
    let mut make = Maker::new();
    let (first, other) = (meta(&mut make, 5), meta(&mut make, 6));
    let fork = SessionMeta { root: first.session_id, ..meta(&mut make, 7) };
    for put in [&first, &other, &fork] {
        on.ledger.put_session(&anna(), put).await.unwrap();
    }
    let roses = EntityRef::of_path("spaces/garden/tasks/roses.md").unwrap();
    let change = SessionChange {
        tags: Some(vec!["garden".to_owned(), "spring".to_owned()]),
        attached: Some(Some(roses.clone())),
        ..SessionChange::default()
    };
    on.ledger.change_session(&anna(), first.session_id, &change).await.unwrap();
    let tag = SessionChange { tags: Some(vec!["spring".to_owned()]), ..SessionChange::default() };
    on.ledger.change_session(&anna(), other.session_id, &tag).await.unwrap();
    let tagged =
        |tag: &str| SessionFilter { tag: Some(tag.to_owned()), ..SessionFilter::default() };
    assert_eq!(ids(&on, tagged("garden")).await, [fork.session_id]);
    assert_eq!(ids(&on, tagged("spring")).await, [fork.session_id, other.session_id]);
    let about = SessionFilter { attached: Some(roses.clone()), ..SessionFilter::default() };
    assert_eq!(ids(&on, about.clone()).await, [fork.session_id]);
    // Rebuilding the row from the log preserves the tags and what the session is about.
    on.ledger.put_session(&anna(), &first).await.unwrap();
    let kept = on.ledger.session(&anna(), first.session_id).await.unwrap().unwrap();
    assert_eq!(kept.marks.tags, ["garden", "spring"]);
    assert_eq!(kept.marks.attached, Some(roses));
    let counts = on.ledger.session_tags(&anna()).await.unwrap();
    let counts: Vec<_> = counts.iter().map(|one| (one.tag.as_str(), one.conversations)).collect();
    assert_eq!(counts, [("garden", 1), ("spring", 2)]);
    let nothing =
        SessionChange { tags: Some(Vec::new()), attached: Some(None), ..SessionChange::default() };
    on.ledger.change_session(&anna(), fork.session_id, &nothing).await.unwrap();
    assert_eq!(ids(&on, about).await, []);
    let counts = on.ledger.session_tags(&anna()).await.unwrap();
    assert_eq!(counts.len(), 1);
}

pub(crate) async fn a_conversation_is_pinned_with_its_forks(on: Backend) {
    let mut make = Maker::new();
    let (first, other) = (meta(&mut make, 5), meta(&mut make, 6));
    let fork = SessionMeta { root: first.session_id, ..meta(&mut make, 7) };
    for put in [&first, &other, &fork] {
        on.ledger.put_session(&anna(), put).await.unwrap();
    }
    let pin = |pinned| SessionChange { pinned: Some(pinned), ..SessionChange::default() };
    let only = |pinned| SessionFilter { pinned: Some(pinned), ..SessionFilter::default() };
    let changed = on.ledger.change_session(&anna(), first.session_id, &pin(true)).await.unwrap();
    assert!(changed.marks.pinned);
    // Of the family, the newest session is listed, and it is pinned because the other one was.
    assert_eq!(ids(&on, only(true)).await, [fork.session_id]);
    assert_eq!(ids(&on, only(false)).await, [other.session_id]);
    // Rebuilding the row from the log preserves the pin.
    on.ledger.put_session(&anna(), &first).await.unwrap();
    let kept = on.ledger.session(&anna(), first.session_id).await.unwrap().unwrap();
    assert!(kept.marks.pinned);
    on.ledger.change_session(&anna(), fork.session_id, &pin(false)).await.unwrap();
    assert_eq!(ids(&on, only(true)).await, []);
}

pub(crate) async fn passing_sessions_are_unused_with_their_whole_family(on: Backend) {
    let mut make = Maker::new();
    let bert: PersonId = "bert".parse().unwrap();
    let mut passing = |origin, created: i64, updated: i64| SessionMeta {
        origin,
        created_at: Timestamp::from_millis(created),
        ..meta(&mut make, updated)
    };
    let until = Timestamp::from_millis(100);
    let api = passing(SessionOrigin::Api, 20, 99);
    let fork = SessionMeta { root: api.session_id, ..passing(SessionOrigin::Api, 30, 40) };
    let temporary = passing(SessionOrigin::Temporary, 10, 10);
    let used = passing(SessionOrigin::Api, 10, 100);
    let of_used = SessionMeta { root: used.session_id, ..passing(SessionOrigin::Api, 20, 20) };
    let chat = passing(SessionOrigin::Chat, 1, 1);
    for put in [&api, &fork, &used, &of_used, &chat] {
        on.ledger.put_session(&anna(), put).await.unwrap();
    }
    on.ledger.put_session(&bert, &temporary).await.unwrap();

    let row = |person: &PersonId, meta: &SessionMeta| UnusedSession {
        created_at: meta.created_at,
        person: person.clone(),
        session: meta.session_id,
    };
    let expected = [row(&bert, &temporary), row(&anna(), &api), row(&anna(), &fork)];
    let all = on.ledger.unused_sessions(until, None, 9).await.unwrap();
    assert_eq!(all, expected);
    let first = on.ledger.unused_sessions(until, None, 1).await.unwrap();
    assert_eq!(first, expected[..1]);
    let later = on.ledger.unused_sessions(until, first.last(), 9).await.unwrap();
    assert_eq!(later, expected[1..]);
}
