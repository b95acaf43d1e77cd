//! The searching tools with a real index.

use onyx_types::Origin;
use serde_json::json;

use crate::support::World;

async fn with_notes() -> World {
    let world = World::indexed().await;
    world.write("garden.md", "# Garden\n\nThe quince tree was planted in 2019.\n");
    let put = |path: &str, text: &str| {
        let path = world.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("people/ada/memory/main/MEMORY.md", "# Food\n\nAda loves quince jelly.\n");
    put("people/ada/memory/helper/MEMORY.md", "Quince is what the helper knows.\n");
    put("people/ada/memory/stranger/MEMORY.md", "Quince is what the stranger knows.\n");
    put("people/bob/vault/secret.md", "The quince of bob.\n");
    world
}

#[tokio::test]
async fn memory_search_finds_what_the_agent_remembers_and_cites_it() {
    let world = with_notes().await;
    let found = world.done("memory_search", json!({"query": "quince"})).await;
    assert!(found.starts_with("memory/main/MEMORY.md:1-3 (Food) "), "{found}");
    assert!(found.contains("Ada loves quince jelly."));
    assert!(found.contains("[searched by words only: no embedder is configured]"));
    for other in ["planted", "helper knows", "stranger knows", "of bob"] {
        assert!(!found.contains(other), "{found}");
    }
    let cited = world.done("memory_get", json!({"path": "memory/main/MEMORY.md", "from": 3})).await;
    assert!(cited.contains("quince jelly"));
}

#[tokio::test]
async fn another_agents_memory_is_searched_only_where_the_config_says_so() {
    let world = with_notes().await;
    let found = world.done("memory_search", json!({"query": "quince", "agent": "helper"})).await;
    assert!(found.contains("helper knows") && !found.contains("jelly"), "{found}");
    let refused =
        world.failed("memory_search", json!({"query": "quince", "agent": "stranger"})).await;
    assert!(refused.contains("not among those you may read"), "{refused}");
}

#[tokio::test]
async fn search_finds_what_the_conversation_may_see() {
    let world = with_notes().await;
    let found = world.done("search", json!({"query": "quince"})).await;
    assert!(found.contains("vault/garden.md:1-3 (Garden)") && found.contains("quince jelly"));
    assert!(!found.contains("of bob") && !found.contains("helper knows"), "{found}");
    let notes = world.done("search", json!({"query": "quince", "types": ["note"]})).await;
    assert!(notes.contains("planted") && !notes.contains("jelly"), "{notes}");
    let wrong = world.failed("search", json!({"query": "quince", "types": ["novel"]})).await;
    assert!(wrong.contains("\"novel\" is not one of memory, daily, note"), "{wrong}");
    let nothing = world.done("search", json!({"query": "zeppelin"})).await;
    assert!(nothing.starts_with("[nothing found]"), "{nothing}");
    assert!(world.failed("search", json!({"query": " "})).await.contains("empty"));
}

#[tokio::test]
async fn what_was_just_written_is_found() {
    let world = World::indexed().await;
    world.done("memory_write", json!({"text": "Ada moved to Lisbon"})).await;
    let found = world.done("memory_search", json!({"query": "Lisbon"})).await;
    assert!(found.contains("Ada moved to Lisbon") && found.contains("/daily/"), "{found}");
    world
        .done("write_file", json!({"path": "a.md", "content": "The zither is out of tune."}))
        .await;
    assert!(world.done("search", json!({"query": "zither"})).await.contains("vault/a.md:1-1"));
}

#[tokio::test]
async fn finding_foreign_text_taints() {
    let world = World::indexed().await.tainted();
    world.done("memory_write", json!({"text": "the page said mango"})).await;
    let outcome = world.call("memory_search", json!({"query": "mango"})).await;
    assert_eq!(outcome.origin, Origin::AgentTainted);
}

#[tokio::test]
async fn memory_graph_tells_what_holds_since_when_and_who_says_so() {
    let world = with_notes().await;
    world.write("people.md", "Ben lives in Bonn.\n\nBen's phone number is 030 1234.\n");
    let told = world.done("memory_graph", json!({"name": "ben"})).await;
    assert!(told.starts_with("Ben\n- Ben lives in Bonn (since "), "{told}");
    assert!(told.contains("  vault/people.md:1 Ben lives in Bonn."), "{told}");
    assert!(told.contains("- Ben phone number 030 1234 (since "), "{told}");
    let listed = world.done("memory_graph", json!({"name": "be"})).await;
    assert_eq!(listed.trim(), "[no such name; known: Ben]");
    let nothing = world.done("memory_graph", json!({"name": "zeppelin"})).await;
    assert_eq!(nothing.trim(), "[nothing is known by that name]");
    assert!(world.failed("memory_graph", json!({"name": " "})).await.contains("empty"));

    let world = World::indexed().await.tainted();
    world.done("memory_write", json!({"text": "Ben lives in Oslo"})).await;
    let outcome = world.call("memory_graph", json!({"name": "Ben"})).await;
    assert_eq!(outcome.origin, Origin::AgentTainted);
    assert!(outcome.output.contains("[from outside, not confirmed]"), "{}", outcome.output);
}
