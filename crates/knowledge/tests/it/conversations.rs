//! Tests that what was said is found and cited by its messages, and that indexing it does no
//! needless work.

use onyx_knowledge::{Chunking, Hit, Search};
use onyx_storage::SourceKind;
use onyx_types::{PersonId, Scope, ScopeSet, SessionOrigin};

use crate::talk::Talk;
use crate::world::{World, chat};

async fn find(world: &World, text: &str) -> Vec<Hit> {
    let kinds = vec![SourceKind::Session];
    let search = Search { text: text.to_owned(), scopes: chat("anna"), kinds, limit: 10 };
    world.index.search(&search).await.unwrap().hits
}

fn lines(count: usize, word: &str) -> String {
    vec![format!("{word} {}", "and so on ".repeat(10)); count].join("\n")
}

#[tokio::test]
async fn a_conversation_is_cited_by_run_and_message() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let long = lines(40, "filler");
    let words = ["Where is the key?", long.as_str(), "And then?", "Under the flowerpot."];
    let first = talk.run(&world, &words.map(str::to_owned)).await;
    let second = talk.run(&world, &["Thanks, flowerpot friend".to_owned()]).await;
    let session = talk.key.session;
    let hits = find(&world, "flowerpot").await;
    let mut cited: Vec<_> =
        hits.iter().map(|hit| (hit.path(), hit.start_line <= 4, hit.end_line)).collect();
    cited.sort();
    let mut expected = vec![
        (format!("sessions/{session}/{first}"), true, 4),
        (format!("sessions/{session}/{second}"), true, 1),
    ];
    expected.sort();
    assert_eq!(cited, expected);
    let question = find(&world, "key").await;
    assert_eq!(
        (question[0].start_line, question[0].text.lines().next()),
        (1, Some("anna: Where is the key?"))
    );
    let answer = find(&world, "filler").await;
    assert!(
        answer
            .iter()
            .all(|hit| (1..=4).contains(&hit.start_line) && hit.start_line <= hit.end_line)
    );
}

#[tokio::test]
async fn of_endless_messages_and_runs_a_bounded_part_is_found() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let endless = format!("{} ending", format!("{} ", "x".repeat(60)).repeat(6_000));
    let mut words = vec!["oldest".to_owned()];
    words.extend((0..12).map(|n| format!("part{n} {endless}")));
    talk.run(&world, &words).await;
    let anna: PersonId = "anna".parse().unwrap();
    assert_eq!(find(&world, "part11").await[0].start_line, 13);
    assert_eq!(find(&world, "ending").await, [], "of a message the end");
    assert_eq!(find(&world, "part0").await, [], "of a run the beginning");
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!(status.sources, 1);
}

#[tokio::test]
async fn what_is_said_after_a_search_in_the_middle_of_a_run_is_found() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let run = talk.begin(&world).await;
    talk.say(&world, run, "Where does the marten live?").await;
    assert_eq!(find(&world, "marten").await.len(), 1);
    talk.say(&world, run, "Under the roof, in a nest of hay.").await;
    assert_eq!(find(&world, "hay").await[0].end_line, 2);
}

#[tokio::test]
async fn conversations_stay_where_they_were_held() {
    let world = World::new().await;
    let (space, other) =
        ("0193b3a0-0000-7000-8000-000000000001", "0193b3a0-0000-7000-8000-000000000002");
    let mut chat_ = Talk::new(&world, "anna", SessionOrigin::Chat);
    let mut thread = Talk::new(&world, "anna", SessionOrigin::Thread);
    let mut companion = Talk::new(&world, "anna", SessionOrigin::Companion);
    chat_.run(&world, &["saffron in the chat".to_owned()]).await;
    thread.run(&world, &["saffron in the thread".to_owned()]).await;
    companion.run(&world, &["saffron with the companion".to_owned()]).await;
    let card = |of: &str| format!("people/anna/spaces/{of}/space.json");
    let of = |talk: &Talk| format!("{{\"companion\": \"{}\"}}", talk.key.session);
    world.write(&card(space), of(&companion));
    let anna: PersonId = "anna".parse().unwrap();
    let said = async |scope: Scope| {
        let scopes = ScopeSet::new(anna.clone(), vec![scope]);
        let hits = world.ask("saffron", &scopes).await.hits;
        hits.iter().map(|hit| hit.text.trim().to_owned()).collect::<Vec<_>>()
    };
    let in_space = |id: &str| Scope::Space(id.parse().unwrap());
    let in_thread = Scope::Thread(thread.key.session.to_string().parse().unwrap());
    assert_eq!(said(Scope::Agent("main".parse().unwrap())).await, ["anna: saffron in the chat"]);
    assert_eq!(said(in_thread).await, ["anna: saffron in the thread"]);
    assert_eq!(said(in_space(space)).await, ["anna: saffron with the companion"]);
    assert_eq!(said(in_space(other)).await, [""; 0]);
    // The owner finds all of it, wherever it was said.
    let all = world.index.all_scopes(&anna).await.unwrap();
    assert_eq!(world.ask("saffron", &all).await.hits.len(), 3);

    // A companion that now belongs to another space is moved there by the next look, and nothing
    // stays behind.
    world.write(&card(space), "{}");
    world.write(&card(other), of(&companion));
    world.index.sync().await.unwrap();
    assert_eq!(said(in_space(space)).await, [""; 0]);
    assert_eq!(said(in_space(other)).await, ["anna: saffron with the companion"]);
}

#[tokio::test]
async fn conversations_are_cut_anew_when_the_cutting_changes() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    talk.run(&world, &[lines(60, "juniper")]).await;
    world.write("people/anna/vault/broken.txt", b"caf\xe9");
    let before = find(&world, "juniper").await.len();
    let smaller = Chunking { tokens: 100, overlap: 20 };
    let world = world.reopen_cut(smaller).await;
    world.index.sync().await.unwrap();
    let after = find(&world, "juniper").await.len();
    assert!(after > before, "{before} chunks before, {after} after");
    // A file that cannot be read is noted with the new chunking too, and is not read with every
    // sync.
    let anna: PersonId = "anna".parse().unwrap();
    let rows = world.store.chunks.sources(Some(&anna)).await.unwrap();
    let [broken] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(broken.chunking, smaller.fingerprint());
    assert!(broken.problem.is_some());
}

#[tokio::test]
async fn a_list_of_conversations_holds_those_in_which_all_of_the_words_were_said() {
    let world = World::new().await;
    let anna: PersonId = "anna".parse().unwrap();
    let mut both = Talk::new(&world, "anna", SessionOrigin::Chat);
    let mut one = Talk::new(&world, "anna", SessionOrigin::Thread);
    let mut others = Talk::new(&world, "bert", SessionOrigin::Chat);
    both.run(&world, &["I like figs".to_owned(), "Figs ripen in autumn".to_owned()]).await;
    both.run(&world, &["In autumn the figs are ripe".to_owned()]).await;
    one.run(&world, &["The figs are in the thread".to_owned()]).await;
    others.run(&world, &["figs in autumn".to_owned()]).await;
    let found = async |text: &str| {
        let hits = world.index.search_sessions(&anna, text).await.unwrap();
        let mut sessions: Vec<_> = hits.iter().map(|hit| hit.session().unwrap().0).collect();
        sessions.sort();
        sessions
    };
    let mut all = vec![both.key.session, one.key.session];
    all.sort();
    assert_eq!(found("fig").await, all, "each once, in any form of the word");
    assert_eq!(found("autumn figs").await, [both.key.session]);
    assert_eq!(found("\"figs ripen\"").await, [both.key.session]);
    assert_eq!(found("figs zeppelin").await, []);
    assert_eq!(found("").await, []);
}
