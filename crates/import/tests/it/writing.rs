//! Tests what is written into a home, and what a second import finds there.

use onyx_import::{
    Counts, Import, ImportedMessage, ImportedPart, ImportedSession, Item, Kind, Mode, Outcome,
    Source, read_lines,
};
use onyx_storage::{Area, SessionFilter};
use onyx_types::{Author, Origin, RunStatus, SessionKey, Timestamp, TurnBody};

use super::support::{TestHome, agent, copy_of, files, person, read_copy};

fn new(count: u64) -> Counts {
    Counts { new: count, ..Counts::default() }
}

fn there(count: u64) -> Counts {
    Counts { already_there: count, ..Counts::default() }
}

#[tokio::test]
async fn everything_is_there_once_however_often_it_is_brought() {
    let copy = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, copy.path());
    let home = TestHome::open().await;
    let before = files(home.folder.path());
    let dry = home.bring(Source::OpenClaw, &import, Mode::DryRun).await;
    let kept = |files: std::collections::BTreeMap<String, Vec<u8>>| {
        files.into_keys().filter(|name| !name.starts_with("onyx.")).collect::<Vec<_>>()
    };
    assert_eq!(kept(files(home.folder.path())), kept(before), "a dry run writes nothing");

    let first = home.bring(Source::OpenClaw, &import, Mode::Write).await;
    let expected = [
        (Kind::Persona, new(5)),
        (Kind::Memory, new(4)),
        (Kind::File, new(2)),
        (Kind::Skill, new(2)),
        (Kind::Job, new(3)),
        (Kind::Session, new(3)),
    ];
    assert_eq!(first.counts, expected.into());
    assert_eq!(dry.counts, first.counts, "a dry run says what would be done");

    let after = files(home.folder.path().join("people").as_path());
    let second = home.bring(Source::OpenClaw, &import, Mode::Write).await;
    let expected = [
        (Kind::Persona, there(5)),
        (Kind::Memory, there(4)),
        (Kind::File, there(2)),
        (Kind::Skill, there(2)),
        (Kind::Job, there(3)),
        (Kind::Session, there(3)),
    ];
    assert_eq!(second.counts, expected.into());
    assert!(!second.has_changes());
    assert_eq!(files(home.folder.path().join("people").as_path()), after);
}

#[tokio::test]
async fn what_is_brought_is_foreign_but_for_what_makes_an_agent() {
    let copy = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, copy.path());
    let home = TestHome::open().await;
    home.bring(Source::OpenClaw, &import, Mode::Write).await;
    let of_person = Area::Person(person());
    for (area, path, expected) in [
        (Area::Agent(agent("main")), "SOUL.md", Origin::Person),
        (of_person.clone(), "memory/main/MEMORY.md", Origin::External),
        (of_person.clone(), "USER.md", Origin::External),
        (of_person.clone(), "vault/openclaw/main/notes.md", Origin::External),
        (of_person.clone(), "vault/agent/skills/bin-day/SKILL.md", Origin::External),
        (of_person, "vault/agent/jobs/morning-brief.md", Origin::External),
    ] {
        let key = path.parse().unwrap();
        let objects = home.store.files.objects(&area).unwrap();
        let object = objects.get(&key, 1024).await.unwrap().unwrap();
        let history = home.store.files.history_of(&area).unwrap();
        assert_eq!(history.origin(&key, &object).await.unwrap(), expected, "{path}");
    }
    // A daily log has the mark on each of its lines.
    assert_eq!(
        home.text("people/owner/memory/main/daily/2026-11-16.md"),
        "- Anna asked about the bins. <!-- agent_tainted -->\n"
    );
    assert_eq!(
        home.text("people/owner/vault/agent/jobs/morning-brief.md"),
        "---\ncron: \"0 7 * * *\"\ntimezone: \"Europe/Berlin\"\nagent: \"main\"\n---\nSay what is on today.\n"
    );
    assert_eq!(home.text("people/owner/vault/agent/skills/bin-day/bins.txt"), "blue: paper\n");
}

async fn turns_of(home: &TestHome, title: &str) -> (SessionKey, Vec<onyx_types::Turn>) {
    let filter = SessionFilter { limit: 50, ..SessionFilter::default() };
    let rows = home.store.ledger.sessions(&person(), &filter).await.unwrap();
    let row = rows.iter().find(|row| row.title.as_deref() == Some(title)).unwrap();
    let key = SessionKey { person: person(), agent: row.agent.clone(), session: row.session_id };
    let page = home.store.turns.tail(&key, None, 1_000).await.unwrap();
    assert_eq!(page.damage, []);
    (key, page.turns)
}

#[tokio::test]
async fn a_session_becomes_a_log_of_foreign_turns_in_runs() {
    let copy = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, copy.path());
    let home = TestHome::open().await;
    home.bring(Source::OpenClaw, &import, Mode::Write).await;
    let (key, turns) = turns_of(&home, "Good morning").await;
    let kinds: Vec<&str> = turns.iter().map(|turn| turn.body.kind()).collect();
    let run = |inside: &[&'static str]| [&["run_start", "user"][..], inside, &["run_end"]].concat();
    let expected = [
        run(&["assistant_text"]),
        run(&["assistant_text"]),
        run(&["tool_call", "tool_result", "assistant_text"]),
    ];
    assert_eq!(kinds, expected.concat());
    for turn in &turns {
        let says_something = !matches!(turn.body, TurnBody::RunStart(_) | TurnBody::RunEnd(_));
        assert_eq!(turn.origin == Origin::External, says_something);
    }
    assert_eq!(turns[1].author, Author::Person(person()));
    assert_eq!(turns[2].author, Author::Agent(agent("main")));
    assert_eq!(turns[1].ts, "2026-11-17T04:01:11.098Z".parse::<Timestamp>().unwrap());
    assert_eq!(turns[0].extra["imported_from"], "openclaw");
    let row = home.store.ledger.session(&person(), key.session).await.unwrap().unwrap();
    assert_eq!((row.message_count, row.last_run_status), (6, Some(RunStatus::Done)));
    assert_eq!(row.created_at, "2026-11-17T04:01:09.376Z".parse::<Timestamp>().unwrap());
    assert_eq!(row.updated_at, "2026-11-17T04:01:50.382Z".parse::<Timestamp>().unwrap());
    let (_, shopping) = turns_of(&home, "Shopping").await;
    assert_eq!(shopping.len(), 8);
}

fn grown(messages: usize) -> Import {
    let at = |second: i64| Timestamp::from_millis(1_700_000_000_000 + second * 1_000);
    let said = [
        ImportedPart::Person { text: "one".to_owned() },
        ImportedPart::Model { text: "two".to_owned(), model: "m/x".to_owned() },
        ImportedPart::Model { text: "three".to_owned(), model: "m/x".to_owned() },
        ImportedPart::Person { text: "four".to_owned() },
    ];
    let messages = said.into_iter().take(messages).zip(0..);
    let session = ImportedSession {
        key: "s".to_owned(),
        agent: None,
        title: Some("Grows".to_owned()),
        archived: false,
        created_at: at(0),
        messages: messages.map(|(said, second)| ImportedMessage { at: at(second), said }).collect(),
    };
    Import { items: vec![Item::Session(session)] }
}

#[tokio::test]
async fn a_session_that_went_on_there_goes_on_here_and_one_that_went_on_here_stays() {
    let home = TestHome::open().await;
    let outcome = async |count: usize| {
        let report = home.bring(Source::ChatGpt, &grown(count), Mode::Write).await;
        report.entries[0].outcome
    };
    assert_eq!(outcome(2).await, Outcome::New);
    assert_eq!(outcome(3).await, Outcome::Added);
    assert_eq!(outcome(3).await, Outcome::AlreadyThere);
    let (key, turns) = turns_of(&home, "Grows").await;
    let texts: Vec<&str> = turns
        .iter()
        .filter_map(|turn| match &turn.body {
            TurnBody::AssistantText(answer) => Some(answer.content.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["two", "three"]);
    let row = home.store.ledger.session(&person(), key.session).await.unwrap().unwrap();
    assert_eq!(row.message_count, 3);

    let lease = home.store.leases.acquire(&key, std::time::Duration::from_secs(5)).await.unwrap();
    let mut own = turns[1].clone();
    own.id = "01a1e665-629c-7000-8984-7b869cc76bb4".parse().unwrap();
    own.origin = Origin::Person;
    home.store.turns.append(&lease, &[own]).await.unwrap();
    home.store.leases.release(&lease).await.unwrap();
    assert_eq!(outcome(3).await, Outcome::AlreadyThere, "nothing new there");
    assert_eq!(outcome(4).await, Outcome::Kept, "it went on in both places");
    assert_eq!(turns_of(&home, "Grows").await.1.len(), turns.len() + 1);
}

/// The next import completes one that was killed between writing the log and the ledger's row.
#[tokio::test]
async fn an_import_that_was_cut_off_is_made_whole_by_the_next() {
    let home = TestHome::open().await;
    home.bring(Source::ChatGpt, &grown(3), Mode::Write).await;
    let (key, turns) = turns_of(&home, "Grows").await;
    home.store.ledger.delete_session(&person(), key.session).await.unwrap();
    let report = home.bring(Source::ChatGpt, &grown(3), Mode::Write).await;
    assert_eq!(report.entries[0].outcome, Outcome::AlreadyThere);
    assert_eq!(turns_of(&home, "Grows").await, (key, turns));

    // A part of a skill is not yet a skill, and the next import adds what is missing.
    let copy = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, copy.path());
    home.bring(Source::OpenClaw, &import, Mode::Write).await;
    let head = home.folder.path().join("people/owner/vault/agent/skills/bin-day/SKILL.md");
    let text = std::fs::read(&head).unwrap();
    std::fs::remove_file(&head).unwrap();
    let report = home.bring(Source::OpenClaw, &import, Mode::Write).await;
    assert_eq!(
        report.counts[&Kind::Skill],
        Counts { new: 1, already_there: 1, ..Counts::default() }
    );
    assert_eq!(std::fs::read(&head).unwrap(), text);
}

#[tokio::test]
async fn what_the_person_has_here_stays_and_memory_is_added_to() {
    let copy = copy_of("openclaw");
    let import = read_copy(Source::OpenClaw, copy.path());
    let home = TestHome::open().await;
    let write = |path: &str, text: &str| {
        let path = home.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("agents/main/SOUL.md", "# Mine\n");
    write("people/owner/memory/main/MEMORY.md", "- I like coffee.\n");
    write("people/owner/vault/agent/jobs/birthday.md", "mine\n");
    write("people/owner/vault/agent/skills/tea/SKILL.md", "mine\n");
    let report = home.bring(Source::OpenClaw, &import, Mode::Write).await;
    let kept: Vec<_> = report
        .entries
        .iter()
        .filter(|entry| entry.outcome == Outcome::Kept)
        .map(|entry| (entry.name.as_str(), entry.why.as_deref().unwrap()))
        .collect();
    assert_eq!(
        kept,
        [
            ("main/SOUL.md", "a different file with this name exists"),
            ("tea", "a different skill with this name exists"),
        ]
    );
    assert_eq!(home.text("agents/main/SOUL.md"), "# Mine\n");
    assert_eq!(home.text("people/owner/vault/agent/jobs/birthday.md"), "mine\n");
    let other = home.text("people/owner/vault/agent/jobs/birthday-openclaw.md");
    assert!(other.ends_with("Wish Ben a happy birthday.\n"), "{other}");
    let again = home.bring(Source::OpenClaw, &import, Mode::Write).await;
    assert_eq!(again.counts[&Kind::Job], there(3));
    assert_eq!(
        home.text("people/owner/memory/main/MEMORY.md"),
        "- I like coffee.\n\n# Memory\n\n- Anna prefers short answers.\n"
    );
    assert_eq!(report.counts[&Kind::Memory], Counts { new: 3, added: 1, ..Counts::default() });
}

#[test]
fn the_plain_form_says_everything_on_the_way_to_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let copy = copy_of("openclaw-legacy");
    let import = read_copy(Source::OpenClaw, copy.path());
    let path = folder.path().join("items");
    std::fs::write(&path, import.lines().unwrap()).unwrap();
    assert_eq!(read_lines(&path).unwrap(), import);
}
