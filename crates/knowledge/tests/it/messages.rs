//! Tests that messages are found one by one, with their author, their time and the messages around
//! them.

use std::sync::Arc;

use onyx_knowledge::{Hit, Retrieval, Search};
use onyx_storage::{SourceKind, TitleSource};
use onyx_types::{Scope, SessionOrigin};

use crate::talk::Talk;
use crate::world::{Meaning, World, chat};

async fn said(world: &World, text: &str) -> Vec<Hit> {
    let kinds = vec![SourceKind::Session];
    let search = Search { text: text.to_owned(), scopes: chat("anna"), kinds, limit: 10 };
    world.index.search(&search).await.unwrap().hits
}

fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.text.as_str()).collect()
}

#[tokio::test]
async fn a_hit_names_run_turn_author_and_time() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let words = ["Where is the key?", "Under the flowerpot."].map(str::to_owned);
    let run = talk.run(&world, &words).await;
    let hits = said(&world, "flowerpot").await;
    let [hit] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!(hit.session(), Some((talk.key.session, Some(run))));
    let log = world.store.turns.tail(&talk.key, None, 9).await.unwrap().turns;
    let message = hit.message.as_ref().unwrap();
    assert_eq!((message.turn, message.at), (Some(log[1].id), Some(log[1].ts)));
    assert_eq!((message.author.as_str(), hit.start_line), ("main", 2));
}

#[tokio::test]
async fn what_was_said_around_an_answer_is_found_with_it() {
    let world = World::new().await;
    world.index.set_embedder(Some(Arc::new(Meaning::default())));
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let mut words: Vec<String> = (0..30).map(|n| format!("filler{n} words{n} here{n}")).collect();
    words[11] = "Is the automobile repaired?".to_owned();
    words[12] = "Tuesday, they promised.".to_owned();
    talk.run(&world, &words).await;
    world.index.catch_up().await.unwrap();
    let hits = said(&world, "when is the car repaired").await;
    let found = texts(&hits);
    assert_eq!(found[0], "main: Is the automobile repaired?");
    assert!(found[1..4].contains(&"anna: Tuesday, they promised."), "{found:?}");
}

#[tokio::test]
async fn whoever_the_question_names_is_looked_for_first() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let words = ["Tom: plums are sour", "Rosa: plums, Tom! Tom, plums! Ask Tom of plums"];
    talk.run(&world, &words.map(str::to_owned)).await;
    // Rosa's message contains the words more often than Tom's.
    for (asked, name) in [("what of plums", "Rosa"), ("what does Tom say of plums", "Tom")] {
        let hits = said(&world, asked).await;
        let author = &hits[0].message.as_ref().unwrap().author;
        assert_eq!((author.as_str(), hits.len()), (name, 2), "{asked}");
    }
}

#[tokio::test]
async fn a_message_is_found_by_the_day_it_was_said() {
    // The month below is that of Greenwich, wherever the test runs.
    let world = World::in_zone("Etc/UTC").await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    talk.run(&world, &["plums again".to_owned()]).await;
    let now = jiff::Timestamp::from_millisecond(world.clock().wall().as_millis()).unwrap();
    let today = now.strftime("%B %Y").to_string();
    assert_eq!(texts(&said(&world, &format!("what of {today}")).await), ["anna: plums again"]);
}

#[tokio::test]
async fn what_is_of_the_time_that_is_named_comes_first() {
    let world = World::new().await;
    for day in ["2023-05-07", "2023-06-20", "2024-05-09"] {
        let path = format!("people/anna/memory/main/daily/{day}.md");
        world.write(&path, "plums and the fence");
    }
    world.index.sync().await.unwrap();
    for (asked, day) in [
        ("plums in June 2023", "2023-06-20"),
        ("plums on 9 May 2024", "2024-05-09"),
        ("plums in May 2023", "2023-05-07"),
    ] {
        let hits = world.find(asked).await;
        assert!(hits[0].path().contains(day), "{asked}: {}", hits[0].path());
        assert_eq!(hits.len(), 3, "the others are found too");
    }
}

#[tokio::test]
async fn days_are_those_of_the_zone_that_the_person_lives_in() {
    // The zone is fourteen hours ahead of Greenwich, so a day begins there at ten in the morning of
    // the day before.
    let world = World::in_zone("Pacific/Kiritimati").await;
    let chat = "07/05/2023, 23:30 - Tom: plums at night\n08/05/2023, 00:30 - Rosa: plums again\n\
                08/05/2023, 23:30 - Tom: plums once more\n09/05/2023, 00:30 - Rosa: plums for breakfast\n";
    world.write("people/anna/vault/chat.md", chat);
    world.write("people/anna/memory/main/daily/2023-05-10.md", "plums and the fence");
    world.index.sync().await.unwrap();
    for (day, wanted) in [
        ("7 May", vec!["Tom: plums at night"]),
        ("8 May", vec!["Rosa: plums again", "Tom: plums once more"]),
        ("9 May", vec!["Rosa: plums for breakfast"]),
        ("10 May", vec!["plums and the fence"]),
    ] {
        let hits = world.find(&format!("plums on {day} 2023")).await;
        assert_eq!(hits.len(), 5, "the others are found too");
        let mut first = texts(&hits[..wanted.len()]);
        first.sort();
        assert_eq!(first, wanted, "{day}");
    }
}

#[tokio::test]
async fn turns_that_no_run_holds_are_found_after_a_rebuild() {
    let world = World::new().await;
    let session = "0193b3a0-0000-7000-8000-0000000000aa";
    let turn = |n: u32, who: &str, words: &str| {
        format!(
            "{{\"id\":\"0193b3a0-0000-7000-8000-00000000000{n}\",\"ts\":\"2023-05-08T13:0{n}:00Z\",\
             \"author\":\"{who}\",\"origin\":\"person\",\"type\":\"user\",\"content\":\"{words}\"}}\n"
        )
    };
    let log = turn(1, "person:tom", "the marten is back") + &turn(2, "person:rosa", "in the hay");
    world.write(&format!("people/anna/sessions/main/{session}.jsonl"), log);
    let anna = "anna".parse().unwrap();
    let store = &world.store;
    onyx_storage::rebuild_person(&*store.turns, &*store.ledger, &*store.files, &anna)
        .await
        .unwrap();
    world.index.rebuild().await.unwrap();
    let hits = said(&world, "marten").await;
    let [hit] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!(hit.session(), Some((session.parse().unwrap(), None)));
    let message = hit.message.as_ref().unwrap();
    assert_eq!(message.author, "tom");
    assert_eq!(message.turn, Some("0193b3a0-0000-7000-8000-000000000001".parse().unwrap()));
}

#[tokio::test]
async fn a_note_that_is_a_transcript_is_cut_by_turn() {
    let world = World::new().await;
    let note = "# With Rosa\n\nTom: is the shed dry?\nRosa: no, the roof leaks\nat the back\n\
                Tom: then it must wait\n";
    world.write("people/anna/vault/talk.md", note);
    world.write("people/anna/vault/list.md", "Roof: leaks\nWall: dry\nDoor: painted\n");
    let hits = world.find("roof").await;
    let cited: Vec<_> = hits
        .iter()
        .map(|hit| (hit.path(), hit.start_line, hit.end_line, hit.message.is_some()))
        .collect();
    assert!(cited.contains(&("vault/talk.md".to_owned(), 4, 5, true)), "{cited:?}");
    assert!(cited.contains(&("vault/list.md".to_owned(), 1, 3, false)), "{cited:?}");
}

#[tokio::test]
async fn what_moved_while_nobody_looked_is_taken_up_and_the_rest_is_left_alone() {
    let world = World::new().await;
    let mut talks = Vec::new();
    for n in 0..3 {
        let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
        talk.run(&world, &[format!("saffron number{n}")]).await;
        talks.push(talk.key);
    }
    world.index.sync().await.unwrap();
    assert_eq!(said(&world, "saffron").await.len(), 3);
    let world = world.reopen().await;
    world.store.ledger.delete_session(&talks[0].person, talks[0].session).await.unwrap();
    let title = Some(("Spices".to_owned(), TitleSource::Person));
    let change = onyx_storage::SessionChange { title, ..onyx_storage::SessionChange::default() };
    let renamed = world.store.ledger.change_session(&talks[1].person, talks[1].session, &change);
    renamed.await.unwrap();
    // The log was deleted without a reported change, so the session would not be found if its log
    // were read again.
    let log = format!("people/anna/sessions/main/{}.jsonl", talks[2].session);
    std::fs::remove_file(world.path(&log)).unwrap();
    world.index.sync().await.unwrap();
    let hits = said(&world, "saffron").await;
    let mut found: Vec<_> = hits
        .iter()
        .map(|hit| (hit.session().unwrap().0, hit.title.starts_with("Spices")))
        .collect();
    found.sort();
    let mut expected = vec![(talks[1].session, true), (talks[2].session, false)];
    expected.sort();
    assert_eq!(found, expected);
    // A rebuild reads every log again.
    world.index.rebuild().await.unwrap();
    assert_eq!(said(&world, "saffron").await.len(), 1);
}

#[tokio::test]
async fn a_message_is_given_with_its_neighbourhood_and_what_was_just_said_is_not_given_again() {
    let world = World::new().await;
    let mut old = Talk::new(&world, "anna", SessionOrigin::Thread);
    let words = ["a", "b", "where is the saffron", "behind the flour", "thanks", "c", "d"];
    old.run(&world, &words.map(|word| format!("{word} {word}"))).await;
    let mut now = Talk::new(&world, "anna", SessionOrigin::Thread);
    now.run(&world, &["I need saffron".to_owned()]).await;
    let mut private = Talk::new(&world, "anna", SessionOrigin::Chat);
    private.run(&world, &["saffron, between us".to_owned()]).await;
    world.index.catch_up().await.unwrap();
    let main = Scope::Agent("main".parse().unwrap());
    let thread = |talk: &Talk| Scope::Thread(talk.key.session.to_string().parse().unwrap());
    // What was said in a chat with the agent is found only by searches that ask for it.
    let groups = Retrieval::separately([thread(&old), thread(&now), main]);
    let retrieval = |session, max_tokens| Retrieval {
        person: "anna".parse().unwrap(),
        groups: groups.clone(),
        session,
        text: "saffron".to_owned(),
        max_tokens,
    };
    let retrieve = async |session, max_tokens| {
        world.index.retrieve(&retrieval(session, max_tokens)).await.unwrap().hits
    };
    let hits = retrieve(Some(now.key.session), 1_000).await;
    let [hit] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!((hit.start_line, hit.end_line, hit.text.matches("\n\n").count()), (1, 5, 4));
    assert!(hit.text.contains("behind the flour"), "{}", hit.text);
    assert_eq!(retrieve(None, 1_000).await.len(), 2, "elsewhere it is not what was just said");
    // If the messages around it do not fit, the message alone does.
    let words = "anna: where is the saffron where is the saffron";
    let tokens = onyx_types::estimate_tokens;
    let room = tokens(words) + tokens(&hit.path()) + 40;
    let alone = retrieve(Some(now.key.session), room).await;
    assert_eq!(
        alone.iter().map(|hit| (hit.start_line, hit.end_line)).collect::<Vec<_>>(),
        [(3, 3)]
    );
}

#[tokio::test]
async fn a_neighbourhood_goes_over_runs_and_is_cited_by_its_first_and_last_message() {
    let world = World::new().await;
    let mut old = Talk::new(&world, "anna", SessionOrigin::Thread);
    for said in [
        ["what is for dinner", "soup"],
        ["where are the bowls", "on the left"],
        ["where is the saffron", "behind the flour"],
        ["is there bread", "in the tin"],
        ["good night", "good night"],
    ] {
        old.run(&world, &said.map(str::to_owned)).await;
    }
    world.index.catch_up().await.unwrap();
    let retrieval = |session, max_tokens| Retrieval {
        person: "anna".parse().unwrap(),
        groups: vec![vec![Scope::Thread(old.key.session.to_string().parse().unwrap())]],
        session,
        text: "saffron".to_owned(),
        max_tokens,
    };
    let found = world.index.retrieve(&retrieval(None, 1_000)).await.unwrap();
    let [piece] = found.hits.as_slice() else { panic!("{:?}", found.hits) };
    let said: Vec<&str> =
        piece.text.split("\n\n").map(|said| said.split_once(": ").unwrap().1).collect();
    assert_eq!(
        said,
        [
            "where are the bowls",
            "on the left",
            "where is the saffron",
            "behind the flour",
            "is there bread"
        ]
    );
    let cited = (piece.path(), piece.start_line, piece.end_line);
    assert_eq!(cited, (format!("sessions/{}", old.key.session), 3, 7));
    // In its own session the prompt contains all of it already.
    let here = world.index.retrieve(&retrieval(Some(old.key.session), 1_000)).await.unwrap();
    assert_eq!(here.hits, []);
}
