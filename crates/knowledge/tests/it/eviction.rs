//! Tests that the tables of people who have not searched for a while leave memory, and come back
//! with their next search.

use std::sync::Arc;

use futures::future::join_all;
use onyx_knowledge::{
    Chunking, Index, IndexSettings, LoadedTables, Retrieval, RetrievedHits, Search, SearchResults,
    SearchSettings,
};
use onyx_storage::{Area, Expect, Home, Membership, Store};
use onyx_test_support::ServerPlace;
use onyx_types::{Clock, PersonId, Scope, SystemClock};

use crate::gateways::open_stores;
use crate::world::{Meaning, chat};

const PEOPLE: [&str; 3] = ["anna", "bert", "cleo"];

/// An index over the files of several people, on one machine or on a gateway.
struct Shelf {
    store: Store,
    index: Index,
    _membership: Option<Membership>,
    _folder: tempfile::TempDir,
}

impl Shelf {
    async fn embedded() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let home = Home::open(folder.path()).unwrap();
        let store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
        Self::filled(store, clock, None, folder).await
    }

    async fn server(place: &ServerPlace) -> Self {
        place.migrate().await;
        let clock = Arc::new(SystemClock::new());
        let (store, membership) = open_stores(place, "one", &clock).await;
        Self::filled(store, clock, Some(membership), tempfile::tempdir().unwrap()).await
    }

    /// Writes notes and a conversation for each person, and shared ones.
    async fn filled(
        store: Store,
        clock: Arc<dyn Clock>,
        membership: Option<Membership>,
        folder: tempfile::TempDir,
    ) -> Self {
        let home = IndexSettings { home: folder.path().to_owned(), chunking: Chunking::default() };
        let index = Index::new(store.clone(), clock, home);
        index.set_embedder(Some(Arc::new(Meaning::default())));
        let shelf = Self { store, index, _membership: membership, _folder: folder };
        for person in PEOPLE {
            let vault = Area::Vault(person.parse().unwrap());
            let talk = format!(
                "Tom: how is {person} today?\nRosa: busy with the roof\nTom: is the automobile \
                 repaired?\nRosa: on Tuesday, said {person}\nTom: then we wait\n"
            );
            shelf.write(&vault, "talk.md", &talk).await;
            shelf.write(&vault, "tyres.md", &format!("The vehicle of {person} is old.")).await;
            shelf.write(&vault, "bread.md", "Flour, water, salt.").await;
        }
        let talk = "Kim: the auto of the club is away\nLee: who has it?\nKim: nobody told me\n";
        shelf.write(&Area::Shared, "talk.md", talk).await;
        shelf.catch_up().await;
        shelf
    }

    async fn write(&self, area: &Area, name: &str, text: &str) {
        let objects = self.store.files.objects(area).unwrap();
        objects.put(&name.parse().unwrap(), text.as_bytes(), Expect::Anything).await.unwrap();
    }

    async fn catch_up(&self) {
        self.index.sync().await.unwrap();
        self.index.catch_up().await.unwrap();
    }

    async fn ask(&self, person: &str, text: &str) -> SearchResults {
        let search =
            Search { text: text.into(), scopes: chat(person), kinds: Vec::new(), limit: 10 };
        self.index.search(&search).await.unwrap()
    }

    async fn paths(&self, person: &str, text: &str) -> Vec<String> {
        self.ask(person, text).await.hits.iter().map(onyx_knowledge::Hit::path).collect()
    }

    async fn retrieve(&self, person: &str) -> RetrievedHits {
        let retrieval = Retrieval {
            person: person.parse().unwrap(),
            groups: Retrieval::separately([Scope::Person, Scope::Shared]),
            session: None,
            text: "Tom asks when the car is repaired".to_owned(),
            max_tokens: 2_000,
        };
        self.index.retrieve(&retrieval).await.unwrap()
    }

    fn allow(&self, bytes: u64) {
        let settings = SearchSettings { most_table_bytes: bytes, ..SearchSettings::default() };
        self.index.set_search(settings);
    }

    /// The people whose tables are in memory; whoever searched longest ago comes first.
    fn loaded(&self) -> Vec<String> {
        let people = self.index.loaded().people;
        people.iter().map(PersonId::to_string).collect()
    }
}

const QUESTION: &str = "what does Tom say of the car";

async fn those_who_come_back_find_the_same(shelf: &Shelf) {
    assert_eq!(shelf.index.loaded(), LoadedTables::default(), "nobody has searched yet");
    let mut before = Vec::new();
    for person in PEOPLE {
        before.push(shelf.ask(person, QUESTION).await);
    }
    let paths: Vec<_> = before[0].hits.iter().map(onyx_knowledge::Hit::path).collect();
    for path in ["vault/talk.md", "vault/tyres.md", "shared/talk.md"] {
        assert!(paths.iter().any(|found| found == path), "{path} is not in {paths:?}");
    }
    assert_eq!(before[0].degraded, None);
    assert_eq!(shelf.loaded(), PEOPLE);
    let all = shelf.index.loaded().bytes;

    // Whoever searched longest ago goes first.
    shelf.ask("anna", QUESTION).await;
    shelf.allow(all - 1);
    shelf.ask("cleo", QUESTION).await;
    assert_eq!(shelf.loaded(), ["anna", "cleo"]);
    assert!(shelf.index.loaded().bytes < all);

    // There is room for one person, and each finds what they found before.
    shelf.allow(1);
    for _ in 0..2 {
        for (person, before) in PEOPLE.iter().zip(&before) {
            assert_eq!(shelf.ask(person, QUESTION).await, *before);
            assert_eq!(shelf.loaded(), [*person]);
        }
    }
}

async fn what_is_written_meanwhile_is_found(shelf: &Shelf) {
    shelf.allow(1);
    let vault = Area::Vault("bert".parse().unwrap());
    assert!(shelf.paths("bert", "doctor").await.is_empty());
    shelf.ask("anna", QUESTION).await;
    assert_eq!(shelf.loaded(), ["anna"]);
    shelf.write(&vault, "health.md", "The physician said to rest.").await;
    shelf.write(&vault, "bread.md", "Cheerful bakers of rye.").await;
    let objects = shelf.store.files.objects(&vault).unwrap();
    objects.delete(&"tyres.md".parse().unwrap(), Expect::Anything).await.unwrap();
    shelf.catch_up().await;
    assert_eq!(shelf.loaded(), ["anna"], "work in the background loads nobody");

    assert_eq!(shelf.paths("bert", "doctor").await, ["vault/health.md"]);
    assert_eq!(shelf.loaded(), ["bert"]);
    assert_eq!(shelf.paths("bert", "glad").await, ["vault/bread.md"]);
    assert!(!shelf.paths("bert", "vehicle").await.contains(&"vault/tyres.md".to_owned()));
    assert!(shelf.paths("anna", "doctor").await.is_empty());
    // What is written while the tables are in memory is found too.
    shelf.write(&Area::Shared, "surgeon.md", "A surgeon lives next door.").await;
    shelf.catch_up().await;
    assert_eq!(shelf.paths("anna", "doctor").await, ["shared/surgeon.md"]);
    assert!(shelf.paths("bert", "doctor").await.contains(&"shared/surgeon.md".to_owned()));
}

async fn nobody_loses_tables_in_use(shelf: &Shelf) {
    let mut alone = Vec::new();
    for person in PEOPLE {
        alone.push(shelf.retrieve(person).await);
    }
    let mut texts = alone[0].hits.iter().map(|hit| &hit.text);
    assert!(texts.any(|text| text.contains("repaired?") && text.contains("Tuesday")), "{alone:?}");
    shelf.allow(1);
    for _ in 0..10 {
        let at_once = join_all(PEOPLE.map(|person| shelf.retrieve(person))).await;
        assert_eq!(at_once, alone);
    }
}

#[tokio::test]
async fn those_who_come_back_to_a_home_find_the_same() {
    those_who_come_back_find_the_same(&Shelf::embedded().await).await;
}

#[tokio::test]
async fn what_is_written_to_a_home_meanwhile_is_found() {
    what_is_written_meanwhile_is_found(&Shelf::embedded().await).await;
}

#[tokio::test]
async fn nobody_in_a_home_loses_tables_in_use() {
    nobody_loses_tables_in_use(&Shelf::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_come_back_to_a_gateway_find_the_same() {
    let place = ServerPlace::new().await;
    those_who_come_back_find_the_same(&Shelf::server(&place).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_to_a_gateway_meanwhile_is_found() {
    let place = ServerPlace::new().await;
    what_is_written_meanwhile_is_found(&Shelf::server(&place).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_at_a_gateway_loses_tables_in_use() {
    let place = ServerPlace::new().await;
    nobody_loses_tables_in_use(&Shelf::server(&place).await).await;
}

#[tokio::test]
async fn a_home_with_one_person_never_loads_again() {
    let shelf = Shelf::embedded().await;
    shelf.allow(1);
    for _ in 0..2 {
        shelf.ask("anna", QUESTION).await;
        shelf.catch_up().await;
        assert_eq!(shelf.loaded(), ["anna"], "however much the tables take");
    }
}
