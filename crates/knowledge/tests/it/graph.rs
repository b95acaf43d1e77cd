//! Tests that the graph knows what texts say about a person, since when, and which text says so.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_knowledge::{EntityPage, FactFinder, FactPassage, FoundFact, FoundFacts};
use onyx_storage::{Area, Expect, NameDecisions, ObjectKey};
use onyx_test_support::{ManualClock, wait_for};
use onyx_types::{
    Cancel, ModelFailure, ModelFailureClass, PersonId, ScopeSet, SessionOrigin, Timestamp,
};

use crate::talk::Talk;
use crate::world::{Meaning, World, chat};

const SOON: Duration = Duration::from_secs(60);

async fn page(world: &World, name: &str) -> Option<EntityPage> {
    world.index.graph_entity(&chat("anna"), name).await.unwrap()
}

/// Each fact in one line: what holds, until when, and the places that say so.
async fn facts(world: &World, name: &str) -> Vec<String> {
    let Some(page) = page(world, name).await else { return Vec::new() };
    let told = page.facts.iter().map(|fact| {
        let (subject, object) = (&fact.subject.name, &fact.object.name);
        let until = fact.until.map(|at| format!(" until {}", at.utc_date())).unwrap_or_default();
        let doubt = if fact.is_trusted { "" } else { " (foreign)" };
        let places =
            fact.said_by.iter().map(|said| format!("{}:{}", said.source.path, said.row.line));
        let places: Vec<String> = places.collect();
        format!("{subject} {} {object}{until}{doubt} <- {}", fact.relation, places.join(", "))
    });
    told.collect()
}

fn anna() -> PersonId {
    "anna".parse().unwrap()
}

#[tokio::test]
async fn a_newer_text_closes_what_an_older_one_said_and_both_are_cited() {
    let world = World::new().await;
    let daily = "people/anna/memory/main/daily";
    world.write(&format!("{daily}/2026-01-05.md"), "- 10:00 Ben lives in Bonn\n");
    world.write(&format!("{daily}/2026-03-01.md"), "- 09:00 had tea\n- 10:00 Ben moved to Rome\n");
    world.write("people/bert/vault/a.md", "Ben lives in Oslo\n");
    let expected = [
        "Ben lives in Rome <- memory/main/daily/2026-03-01.md:2",
        "Ben lives in Bonn until 2026-03-01 <- memory/main/daily/2026-01-05.md:1",
    ];
    assert_eq!(facts(&world, "ben").await, expected);
    let rome = facts(&world, "Rome").await;
    assert_eq!(rome, expected[..1], "it is found from its other end too");
    // Facts of a deleted text disappear as if they had never been said.
    std::fs::remove_file(world.path(&format!("{daily}/2026-03-01.md"))).unwrap();
    world.index.sync().await.unwrap();
    assert_eq!(
        facts(&world, "Ben").await,
        ["Ben lives in Bonn <- memory/main/daily/2026-01-05.md:1"]
    );
    assert_eq!(page(&world, "Rome").await, None);
}

#[tokio::test]
async fn a_second_child_leaves_the_first_one_and_a_new_address_closes_the_old_one() {
    let world = World::new().await;
    let daily = "people/anna/memory/main/daily";
    let older = "Anna's child is Ben\nAnna's address is Mill Lane 3\n";
    let newer = "Anna's child is Mia\nAnna's address is High Street 7\n";
    world.write(&format!("{daily}/2026-01-05.md"), older);
    world.write(&format!("{daily}/2026-03-01.md"), newer);
    let mut told = facts(&world, "Anna").await;
    told.iter_mut().for_each(|fact| fact.truncate(fact.find(" <-").unwrap()));
    assert_eq!(
        told,
        [
            "Anna address High Street 7",
            "Anna address Mill Lane 3 until 2026-03-01",
            "Anna child Mia",
            "Anna child Ben",
        ]
    );
}

#[tokio::test]
async fn what_is_said_in_conversations_counts_and_what_may_not_be_seen_does_not() {
    let world = World::new().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    let run = talk.run(&world, &["I live in Graz".into(), "I live in a computer".into()]).await;
    let mut thread = Talk::new(&world, "anna", SessionOrigin::Thread);
    thread.run(&world, &["I work at Acme".into()]).await;
    let place = format!("sessions/{}/{run}:1", talk.key.session);
    assert_eq!(facts(&world, "anna").await, [format!("anna lives in Graz <- {place}")]);
    let all: ScopeSet = world.index.all_scopes(&anna()).await.unwrap();
    let page = world.index.graph_entity(&all, "anna").await.unwrap().unwrap();
    assert_eq!(page.facts.len(), 2, "the person sees what was said in their thread too");
    let known = world.index.graph_entities(&all, "", 10).await.unwrap();
    let mut names: Vec<&str> = known.iter().map(|entity| entity.name.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Acme", "Graz", "anna"]);
    let part = world.index.graph_entities(&all, "gra", 10).await.unwrap();
    assert_eq!(part.iter().map(|entity| entity.facts).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn text_from_outside_is_marked_and_closes_nothing() {
    let world = World::new().await;
    let space = "0193b3a0-0000-7000-8000-000000000001";
    world.write("people/anna/memory/main/MEMORY.md", "Ben lives in Bonn.\n");
    let source = format!("people/anna/memory/main/sources/{space}/page.md");
    world.write(&source, "Ben moved to Oslo.\n");
    let mut told = facts(&world, "Ben").await;
    told.sort();
    assert_eq!(
        told,
        [
            "Ben lives in Bonn <- memory/main/MEMORY.md:1".to_owned(),
            format!("Ben lives in Oslo (foreign) <- memory/main/sources/{space}/page.md:1"),
        ]
    );
}

#[tokio::test]
async fn names_are_made_one_and_taken_apart_by_hand() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "Bob lives in Bonn.\n");
    world.write("people/anna/vault/b.md", "Robert Miller works at Acme.\nBob likes figs.\n");
    let files = &*world.store.files;
    let merge = |decisions: &mut NameDecisions| decisions.merge("Robert Miller", &["Bob".into()]);
    NameDecisions::change(files, &anna(), merge).await.unwrap();
    let one = page(&world, "bob").await.unwrap();
    assert_eq!(
        (one.name.as_str(), one.also, one.facts.len()),
        ("Robert Miller", vec!["Bob".into()], 3)
    );
    let entities = world.index.graph_entities(&chat("anna"), "", 10).await.unwrap();
    assert!(entities.iter().all(|entity| entity.name.name != "Bob"), "{entities:?}");

    let unmerge = |decisions: &mut NameDecisions| decisions.unmerge("bob");
    NameDecisions::change(files, &anna(), unmerge).await.unwrap();
    assert_eq!(page(&world, "Bob").await.unwrap().facts.len(), 2);
    let split = |decisions: &mut NameDecisions| {
        decisions.split("Bob", "Bob (uncle)", &["vault/a.md".into()]);
    };
    NameDecisions::change(files, &anna(), split).await.unwrap();
    assert_eq!(facts(&world, "Bob (uncle)").await, ["Bob (uncle) lives in Bonn <- vault/a.md:1"]);
    assert_eq!(facts(&world, "Bob").await, ["Bob likes figs <- vault/b.md:2"]);
}

#[tokio::test]
async fn the_list_of_entities_follows_the_texts() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "Bob lives in Bonn.\n");
    world.write("people/anna/vault/b.md", "Bob works at Acme.\nBen lives in Bonn.\n");
    let listed = async || {
        let rows = world.index.graph_entities(&chat("anna"), "", 10).await.unwrap();
        let mut named: Vec<_> = rows.into_iter().map(|row| (row.name.name, row.facts)).collect();
        named.sort();
        named
    };
    let entity = |name: &str, facts: u64| (name.to_owned(), facts);
    let all = [entity("Acme", 1), entity("Ben", 1), entity("Bob", 2), entity("Bonn", 2)];
    assert_eq!(listed().await, all);
    let merge = |decisions: &mut NameDecisions| decisions.merge("Bob", &["Ben".into()]);
    NameDecisions::change(&*world.store.files, &anna(), merge).await.unwrap();
    let merged = [entity("Acme", 1), entity("Bob", 3), entity("Bonn", 2)];
    assert_eq!(listed().await, merged);
    std::fs::remove_file(world.path("people/anna/vault/b.md")).unwrap();
    world.index.sync().await.unwrap();
    assert_eq!(listed().await, [entity("Bob", 1), entity("Bonn", 1)]);
}

/// A finder that says of every text that its first word knows its last.
#[derive(Default)]
struct Reader {
    calls: AtomicUsize,
}

impl FactFinder for Reader {
    fn name(&self) -> String {
        "test/reader".into()
    }

    fn find(&self, passage: FactPassage) -> BoxFuture<'_, Result<FoundFacts, ModelFailure>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let text = passage.text.trim().to_owned();
        let word = |word: Option<&str>| word.unwrap_or_default().to_owned();
        let fact = |quote: String| FoundFact {
            subject: word(text.split(' ').next()),
            relation: "Knows".into(),
            object: word(text.split(' ').next_back()),
            quote,
            from: Some("2020-01-01T00:00:00Z".parse::<Timestamp>().unwrap()),
            until: None,
            has_ended: false,
        };
        let facts = vec![fact(text.clone()), fact("nobody wrote this".into())];
        async move { Ok(FoundFacts { facts, tokens: 60 }) }.boxed()
    }
}

#[tokio::test]
async fn a_model_reads_within_its_budget_and_only_what_the_text_bears_out_is_kept() {
    let world = World::new().await;
    for (name, text) in
        [("a", "Ben has long been a friend of Mia"), ("b", "Tom has long been a friend of Ida")]
    {
        world.write(&format!("people/anna/vault/{name}.md"), text);
    }
    let reader = Arc::new(Reader::default());
    world.index.set_fact_finder(Some(Arc::clone(&reader) as _), 100);
    world.index.catch_up().await.unwrap();
    let known = facts(&world, "Mia").await;
    assert_eq!(known, ["Ben knows Mia <- vault/a.md:1"]);
    assert_eq!(facts(&world, "Ida").await, ["Tom knows Ida <- vault/b.md:1"]);
    // The second text was begun within the budget, but the third is not.
    world.write("people/anna/vault/c.md", "Eva has long been a friend of Max");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!((facts(&world, "Max").await.len(), reader.calls.load(Ordering::Relaxed)), (0, 2));
    // A text that is moved is not paid for again.
    std::fs::rename(world.path("people/anna/vault/a.md"), world.path("people/anna/vault/d.md"))
        .unwrap();
    std::fs::remove_file(world.path("people/anna/vault/c.md")).unwrap();
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!(facts(&world, "Mia").await, ["Ben knows Mia <- vault/d.md:1"]);
    assert_eq!(reader.calls.load(Ordering::Relaxed), 2);
}

/// A finder like `Reader` that cannot read some texts, and that a certain person may not ask.
struct Moody {
    reader: Reader,
    asked: Mutex<Vec<String>>,
    may_not_ask: Mutex<Option<PersonId>>,
}

impl Moody {
    fn new(may_not_ask: Option<PersonId>) -> Arc<Self> {
        let may_not_ask = Mutex::new(may_not_ask);
        Arc::new(Self { reader: Reader::default(), asked: Mutex::default(), may_not_ask })
    }

    /// How often the finder was asked about texts with this word.
    fn asked(&self, word: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|text| text.contains(word)).count()
    }
}

impl FactFinder for Moody {
    fn name(&self) -> String {
        self.reader.name()
    }

    fn find(&self, passage: FactPassage) -> BoxFuture<'_, Result<FoundFacts, ModelFailure>> {
        self.asked.lock().unwrap().push(passage.text.clone());
        let class = if self.may_not_ask.lock().unwrap().as_ref() == Some(&passage.person) {
            ModelFailureClass::Budget
        } else if passage.text.contains("unreadable") {
            ModelFailureClass::InvalidRequest
        } else {
            return self.reader.find(passage);
        };
        async move { Err(ModelFailure::new(class, "not now")) }.boxed()
    }
}

#[tokio::test]
async fn a_text_that_fails_is_left_after_a_few_tries_and_holds_up_no_other() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "Some unreadable text that nobody can take in");
    world.write("people/anna/vault/b.md", "Ben has long been a friend of Mia");
    let moody = Moody::new(None);
    world.index.set_fact_finder(Some(Arc::clone(&moody) as _), 100_000);
    world.index.catch_up().await.unwrap();
    assert_eq!(facts(&world, "Mia").await, ["Ben knows Mia <- vault/b.md:1"]);
    for _ in 0..5 {
        world.index.catch_up().await.unwrap();
    }
    assert_eq!((moody.asked("unreadable"), moody.asked("Mia")), (3, 1));
    // Later texts are read, even by another process.
    let world = world.reopen().await;
    world.index.set_fact_finder(Some(Arc::clone(&moody) as _), 100_000);
    world.write("people/anna/vault/c.md", "Tom has long been a friend of Ida");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!(facts(&world, "Ida").await, ["Tom knows Ida <- vault/c.md:1"]);
    assert_eq!((moody.asked("unreadable"), moody.asked("Mia")), (3, 1));
}

#[tokio::test]
async fn a_person_who_has_no_budget_left_holds_up_nobody_else() {
    let clock = Arc::new(ManualClock::new());
    let world = World::with_clock(Arc::clone(&clock) as _).await;
    world.write("people/anna/vault/a.md", "Ben has long been a friend of Mia");
    world.write("people/anna/vault/b.md", "Eva has long been a friend of Max");
    world.write("people/bert/vault/c.md", "Tom has long been a friend of Ida");
    let moody = Moody::new(Some(anna()));
    world.index.set_fact_finder(Some(Arc::clone(&moody) as _), 100_000);
    for _ in 0..3 {
        world.index.catch_up().await.unwrap();
    }
    let ida = world.index.graph_entity(&chat("bert"), "Ida").await.unwrap();
    assert_eq!(ida.map(|page| page.facts.len()), Some(1));
    assert_eq!((moody.asked("Mia"), moody.asked("Max"), moody.asked("Ida")), (1, 0, 1));
    // The person may have budget again later.
    *moody.may_not_ask.lock().unwrap() = None;
    clock.advance(Duration::from_secs(6 * 60));
    world.index.catch_up().await.unwrap();
    assert_eq!(facts(&world, "Mia").await, ["Ben knows Mia <- vault/a.md:1"]);
    assert_eq!(facts(&world, "Max").await, ["Eva knows Max <- vault/b.md:1"]);
    assert_eq!(moody.asked("Ida"), 1);
}

/// A finder that is asked but never answers.
#[derive(Default)]
struct Silent(AtomicUsize);

impl FactFinder for Silent {
    fn name(&self) -> String {
        "test/silent".into()
    }

    fn find(&self, _: FactPassage) -> BoxFuture<'_, Result<FoundFacts, ModelFailure>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn texts_are_found_by_meaning_while_a_model_still_reads_them_for_facts() {
    let world = World::new().await;
    let silent = Arc::new(Silent::default());
    world.index.set_embedder(Some(Arc::new(Meaning::default())));
    world.index.set_fact_finder(Some(Arc::clone(&silent) as _), 100_000);
    world.write("people/anna/vault/a.md", "The car has long been a friend of Mia");
    let stop = Cancel::new();
    let (index, ends) = (world.index.clone(), stop.clone());
    let tending = tokio::spawn(async move { index.tend(ends).await });
    wait_for("the model to read", SOON, async || {
        (silent.0.load(Ordering::Relaxed) > 0).then_some(())
    })
    .await;
    let new: ObjectKey = "b.md".parse().unwrap();
    let vault = world.store.files.objects(&Area::Vault(anna())).unwrap();
    vault.put(&new, b"The physician is on holiday", Expect::Absent).await.unwrap();
    wait_for("the new text to have a vector", SOON, async || {
        world.paths("doctor").await.iter().any(|path| path.ends_with("b.md")).then_some(())
    })
    .await;
    stop.cancel();
    tending.await.unwrap();
}
