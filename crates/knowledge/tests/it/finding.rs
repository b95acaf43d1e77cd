//! Tests the search by words.

use std::sync::{Arc, Mutex};

use onyx_storage::SourceKind;
use onyx_types::{Clock, MatchType, Now, Origin, PersonId, Scope, SystemClock, Zone};

use crate::world::World;

#[tokio::test]
async fn a_note_is_found_with_its_lines_and_where_it_is_from() {
    let world = World::new().await;
    world.write("people/anna/vault/garden/plan.md", "# Garden\n\nSow carrots in March.\n");
    let hits = world.find("when do I sow carrots").await;
    assert_eq!(hits.len(), 1);
    let hit = &hits[0];
    assert_eq!(hit.path(), "vault/garden/plan.md");
    assert_eq!(
        (hit.kind, &hit.scope, hit.origin),
        (SourceKind::Note, &Scope::Person, Origin::Person)
    );
    assert_eq!((hit.title.as_str(), hit.start_line, hit.end_line), ("Garden", 1, 3));
    assert_eq!(hit.match_type, MatchType::Fts);
    assert!(hit.score > 0.0 && hit.score <= 1.0);
    let marked: Vec<_> =
        hit.snippet.iter().filter(|part| part.hit).map(|p| p.text.as_str()).collect();
    assert_eq!(marked, ["Sow", "carrots"]);
}

#[tokio::test]
async fn words_are_found_in_other_forms_in_the_language_of_the_text() {
    let world = World::new().await;
    for (name, text) in [
        ("en", "She was running with the dogs and that is the story."),
        ("de", "Die Häuser der Nachbarn sind nicht mit dem Bus zu erreichen."),
        ("fr", "Nous avons mangé des pommes dans le jardin avec les voisins."),
        ("ru", "Мы читали интересные книги для детей и не спали."),
        ("zh", "我们明天去北京大学开会。"),
    ] {
        world.write(&format!("people/anna/vault/{name}.md"), text);
    }
    for (query, name) in [
        ("run dog", "en"),
        ("Haus Nachbar", "de"),
        ("hauser", "de"),
        ("pomme mangée", "fr"),
        ("книга дети", "ru"),
        ("北京", "zh"),
        ("大学", "zh"),
    ] {
        assert_eq!(world.paths(query).await.first(), Some(&format!("vault/{name}.md")), "{query}");
    }
}

#[tokio::test]
async fn one_word_in_two_spellings_is_one_word() {
    let world = World::new().await;
    // Some editors and file systems write `ü` as `u` and a separate accent.
    world.write(
        "people/anna/vault/apart.md",
        "Ein Mu\u{308}sli mit Cafe\u{301}, für \u{1e9b}\u{323}.",
    );
    world.write("people/anna/vault/Ko\u{308}nigsberg.md", "Nothing but a name.");
    world.write("people/anna/vault/whole.md", "Ein Brötchen mit Käse.");
    for (query, path) in [
        ("Müsli", "vault/apart.md"),
        ("Mu\u{308}sli", "vault/apart.md"),
        ("musli", "vault/apart.md"),
        ("\"müsli mit café\"", "vault/apart.md"),
        ("Königsberg", "vault/Ko\u{308}nigsberg.md"),
        ("Bro\u{308}tchen", "vault/whole.md"),
        ("Ka\u{308}s*", "vault/whole.md"),
    ] {
        assert_eq!(world.paths(query).await, [path], "{query}");
    }
    let marked = world.find("Müsli").await.remove(0).snippet;
    let marked: Vec<_> = marked.iter().filter(|part| part.hit).map(|p| p.text.as_str()).collect();
    assert_eq!(marked, ["Mu\u{308}sli"]);
}

#[tokio::test]
async fn korean_words_are_found_whatever_is_joined_to_them() {
    let world = World::new().await;
    world.write("people/anna/vault/friend.md", "어제 친구를 만났다.");
    world.write("people/anna/vault/book.md", "새 책을 읽었다.");
    // The syllables are written here as their separate letters.
    world.write("people/anna/vault/school.md", "\u{1112}\u{1161}\u{11a8}\u{1100}\u{116d}에 갔다.");
    for (query, path) in [
        ("친구", "vault/friend.md"),
        ("친구가", "vault/friend.md"),
        ("책", "vault/book.md"),
        ("학교", "vault/school.md"),
        ("\"친구를 만났다\"", "vault/friend.md"),
    ] {
        assert_eq!(world.paths(query).await, [path], "{query}");
    }
}

#[tokio::test]
async fn phrases_beginnings_and_identifiers() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "The red bike stands in the garage.");
    world.write("people/anna/vault/b.md", "The bike is not red, the garage is.");
    world.write("people/anna/vault/c.md", "Call `fetchUserProfile` before parse_config_file runs.");
    assert_eq!(world.paths("\"red bike\"").await, ["vault/a.md"]);
    assert_eq!(world.paths("gara*").await.len(), 2);
    assert_eq!(world.paths("\"red bike\" cellar").await, ["vault/a.md"]);
    for query in [
        "fetchUserProfile",
        "fetchuserprofile",
        "user profile",
        "parse_config_file",
        "config",
        "\"parse config file\"",
    ] {
        assert_eq!(world.paths(query).await, ["vault/c.md"], "{query}");
    }
    assert_eq!(world.paths("\"bike red\"").await, [""; 0]);
    assert_eq!(world.paths("zebra").await, [""; 0]);
    assert_eq!(world.paths("").await, [""; 0]);
    assert_eq!(world.paths("\" ( ) AND OR +- : ^ ~ *").await, [""; 0]);
}

#[tokio::test]
async fn everything_of_a_person_is_one_index() {
    let world = World::new().await;
    let files = [
        ("people/anna/memory/main/MEMORY.md", SourceKind::Memory),
        ("people/anna/memory/main/daily/2026-01-05.md", SourceKind::Daily),
        ("people/anna/vault/note.txt", SourceKind::Note),
        ("shared/handbook.md", SourceKind::Shared),
    ];
    for (path, _) in files {
        world.write(path, "The code word is marzipan.");
    }
    for hidden in [
        "people/anna/vault/.git/config",
        "people/anna/history/x.md",
        "people/anna/USER.md",
        "people/anna/vault/agent/runs/2026/01/01/r.md",
        "agents/main/SOUL.md",
    ] {
        world.write(hidden, "The code word is marzipan.");
    }
    let mut found: Vec<_> = world.find("marzipan").await.iter().map(|hit| hit.kind).collect();
    found.sort();
    assert_eq!(found, files.map(|(_, kind)| kind));
}

#[tokio::test]
async fn titles_headings_and_dates_are_part_of_what_is_found() {
    let world = World::new().await;
    world.write("people/anna/memory/main/daily/2026-01-05.md", "- 10:00 met Berta\n");
    world.write("people/anna/memory/main/daily/2026-01-06.md", "- 10:00 met Carl\n");
    world.write("people/anna/vault/x.md", "# Insurance\n\n## Bicycle\n\nThe number is 4711.\n");
    assert_eq!(world.paths("2026-01-05").await[0], "memory/main/daily/2026-01-05.md");
    assert_eq!(world.paths("bicycle insurance").await[0], "vault/x.md");
}

/// A clock that notes the names of the threads that ask for a time zone, as a search does between
/// its questions to the chunk table.
#[derive(Debug, Default)]
struct ThreadNotes {
    clock: SystemClock,
    asked: Mutex<Vec<String>>,
}

impl Clock for ThreadNotes {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn zone_of(&self, person: &PersonId) -> Zone {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push(name);
        self.clock.zone_of(person)
    }
}

/// The chunk table is asked several times for a search, and handing each question to another thread
/// costs more than most answers.
#[tokio::test]
async fn a_search_is_answered_on_the_thread_that_reads_the_table() {
    let clock = Arc::new(ThreadNotes::default());
    let world = World::with_clock(Arc::clone(&clock) as _).await;
    world.write("people/anna/vault/a.md", "walnut cake");
    world.index.catch_up().await.unwrap();
    clock.asked.lock().unwrap().clear();
    assert_eq!(world.paths("walnut").await, ["vault/a.md"]);
    assert_eq!(*clock.asked.lock().unwrap(), ["onyx-disk"]);
}
