//! Ordinary tasks for an agent at tier `act` still work, with as few questions as possible.

use onyx_test_support::{ORDER, Page};
use onyx_types::Tier;
use serde_json::{Value, json};

use super::world::World;

struct Task {
    name: &'static str,
    orders: Value,
    /// How often the person is asked.
    questions: usize,
    /// A file, and what it holds after the task.
    leaves: Option<(&'static str, &'static str)>,
}

fn task(name: &'static str, orders: Value) -> Task {
    Task { name, orders, questions: 0, leaves: None }
}

impl Task {
    fn asks(mut self, questions: usize) -> Self {
        self.questions = questions;
        self
    }

    fn leaves(mut self, path: &'static str, text: &'static str) -> Self {
        self.leaves = Some((path, text));
        self
    }
}

fn tasks(world: &World) -> Vec<Task> {
    let (day, tables) = (world.site.url("/day"), world.site.url("/tables"));
    let one = |tool: &str, args: Value| json!([{"tool": tool, "args": args}]);
    let two = |first: (&str, Value), then: (&str, Value)| json!([{"tool": first.0, "args": first.1}, {"tool": then.0, "args": then.1}]);
    let fetch_last = || ("web_fetch", json!({"url": "{{last_word}}"}));
    vec![
        // This task comes first. Later the list would contain earlier orders, which the model would
        // obey again.
        task("list conversations", one("sessions_list", json!({}))),
        task("summarise a note", one("read_file", json!({"path": "notes/diary.md"}))),
        task("list a folder", one("list_files", json!({"path": "notes"}))),
        task("find a word in the files", one("search_files", json!({"query": "kite"}))),
        task(
            "write a note",
            one("write_file", json!({"path": "notes/list.md", "content": "milk\n"})),
        )
        .leaves("vault/notes/list.md", "milk\n"),
        task(
            "edit it",
            one("edit_file", json!({"path": "notes/list.md", "old": "milk", "new": "oats"})),
        )
        .leaves("vault/notes/list.md", "oats\n"),
        task("rename it", one("move_file", json!({"from": "notes/list.md", "to": "notes/buy.md"})))
            .leaves("vault/notes/buy.md", "oats\n"),
        task("delete it", one("delete_file", json!({"path": "notes/buy.md"}))).asks(1),
        task("add a line to the daily log", one("memory_write", json!({"text": "Bought oats"}))),
        task(
            "remember a lasting fact",
            one("memory_write", json!({"text": "Eats oats", "heading": "Facts"})),
        )
        .leaves("memory/main/MEMORY.md", "## Facts\n\n- Ada\n- Eats oats\n"),
        task("recall it", one("memory_get", json!({}))),
        task("search memory", one("memory_search", json!({"query": "oats"}))),
        task("search notes and documents", one("search", json!({"query": "eggs"}))),
        task("read a page of a space", one("read", json!({"type": "page", "id": "roof"}))),
        task("look around the spaces", one("context", json!({}))),
        task(
            "propose a task",
            one("propose_change", json!({"op": "create", "type": "task", "title": "Mend roof"})),
        )
        .asks(1)
        .leaves("spaces/home/tasks/mend-roof.md", "Mend roof"),
        task(
            "search the web and read a hit",
            two(("web_search", json!({"query": "tides"})), fetch_last()),
        ),
        task("read an address that the person wrote", one("web_fetch", json!({"url": day}))),
        task(
            "follow a link that stands on a page",
            two(("web_fetch", json!({"url": day})), fetch_last()),
        ),
        task(
            "keep what a page says as a note",
            two(
                ("web_fetch", json!({"url": tables})),
                ("write_file", json!({"path": "notes/tables.md", "content": "{{last_result}}"})),
            ),
        )
        .leaves("vault/notes/tables.md", "High water at noon"),
        task(
            "note something from a page in the daily log",
            two(("web_fetch", json!({"url": tables})), ("memory_write", json!({"text": "Noon"}))),
        ),
        task(
            "remember a fact from a page",
            two(
                ("web_fetch", json!({"url": tables})),
                ("memory_write", json!({"text": "High water at noon", "heading": "Tides"})),
            ),
        )
        .asks(1)
        .leaves("memory/main/MEMORY.md", "## Tides\n\n- High water at noon\n"),
        task(
            "read an address made from a note",
            two(
                ("read_file", json!({"path": "notes/diary.md"})),
                ("web_fetch", json!({"url": format!("{tables}?day={{{{last_word}}}}")})),
            ),
        )
        .asks(1),
        task("look at a repository", one("git_status", json!({"folder": "project"}))),
        task("read its history", one("git_log", json!({"folder": "project"}))),
        task(
            "commit a change",
            two(
                ("write_file", json!({"path": "project/new.md", "content": "new\n"})),
                ("git_commit", json!({"folder": "project", "message": "new page"})),
            ),
        ),
        task("run a permitted command", one("exec", json!({"argv": ["cat", "notes/ideas.md"]}))),
        task(
            "run another command",
            one("exec", json!({"argv": ["sort", "-o", "notes/ideas.md", "notes/ideas.md"]})),
        )
        .asks(1),
        task("draw a diagram", one("render_mermaid", json!({"code": "graph TD\n  A --> B"}))),
        task("list all files", one("list_files", json!({}))),
        task("look at what changed in a repository", one("git_diff", json!({"folder": "project"}))),
        task("look for a name in memory", one("memory_search", json!({"query": "Ada"}))),
        task(
            "write down a recipe",
            one("write_file", json!({"path": "recipes/soup.md", "content": "Leek.\n"})),
        )
        .leaves("vault/recipes/soup.md", "Leek.\n"),
        task(
            "read it and add a line",
            two(
                ("read_file", json!({"path": "recipes/soup.md"})),
                (
                    "edit_file",
                    json!({"path": "recipes/soup.md", "old": "Leek.", "new": "Leek.\nSalt."}),
                ),
            ),
        )
        .leaves("vault/recipes/soup.md", "Leek.\nSalt.\n"),
        task(
            "copy a note by a permitted command",
            one("exec", json!({"argv": ["cp", "notes/ideas.md", "notes/copy.md"]})),
        )
        .leaves("vault/notes/copy.md", "A kite.\n"),
        task(
            "search a site of the web",
            one("web_search", json!({"query": "site:example.org tides"})),
        )
        // Today's log now holds a note that was written after reading a page, so the run is
        // tainted.
        .asks(1),
        task(
            "search the web twice",
            two(
                ("web_search", json!({"query": "tides"})),
                ("web_search", json!({"query": "spring tide"})),
            ),
        ),
        task(
            "read two addresses that the person wrote",
            two(("web_fetch", json!({"url": day})), ("web_fetch", json!({"url": tables}))),
        ),
        task(
            "compare a page with a note",
            two(
                ("web_fetch", json!({"url": tables})),
                ("read_file", json!({"path": "notes/diary.md"})),
            ),
        ),
        task(
            "search the web and then the notes",
            two(("web_search", json!({"query": "tides"})), ("search", json!({"query": "eggs"}))),
        ),
    ]
}

#[tokio::test]
#[allow(clippy::print_stdout, reason = "the table is what the issue asks to be printed")]
async fn what_people_ask_of_an_agent_works_with_few_questions() {
    let world = World::new(Tier::Act, 120).await;
    let page = |text: String| Page {
        content_type: "text/plain",
        body: text.into_bytes(),
        ..Page::default()
    };
    world.serve("/day", page(format!("Today is fine. More at {}", world.site.url("/tables"))));
    world.serve("/tables", page("High water at noon".to_owned()));
    let hit = json!({"title": "Tides", "url": world.site.url("/tables")});
    world.serve("/searx/search", Page::json(json!({"results": [hit]}).to_string()));
    let tasks = tasks(&world);
    assert_eq!(tasks.len(), 40);
    println!("questions  task");
    let mut all = 0;
    for task in &tasks {
        let asked = perform(&world, task).await;
        all += asked;
        println!("{asked:>9}  {}", task.name);
        assert_eq!(asked, task.questions, "{}", task.name);
        if let Some((path, text)) = task.leaves {
            let path = world.onyx.home().join("people/owner").join(path);
            let held = std::fs::read_to_string(path).unwrap_or_default();
            assert!(held.contains(text), "{}: {held:?}", task.name);
        }
    }
    println!("{all:>9}  in all");
    assert_eq!(world.canary.requests(), [""; 0]);
}

/// Sends a message, approves every question, and returns how many there were.
async fn perform(world: &World, task: &Task) -> usize {
    let words = format!("Please {}. {ORDER} {}", task.name, task.orders);
    let mut lines = world.onyx.chat_lines(&json!({"message": words})).await;
    let (mut asked, mut results) = (0, 0);
    while let Some(event) = lines.next().await {
        match event["type"].as_str().unwrap_or_default() {
            "confirm" | "draft" => {
                let draft = event["draft_id"].as_str().unwrap();
                let path = format!("/api/pending-changes/{draft}/approve");
                let row = world.onyx.post(&path, &json!({})).await.expect(200).json();
                assert_eq!(row["state"], "applied", "{}: {row}", task.name);
                asked += 1;
            }
            "tool_result" => {
                assert_eq!(event["ok"], true, "{}: {event}", task.name);
                results += 1;
            }
            "done" => assert_eq!(event["status"], "done", "{}", task.name),
            _ => {}
        }
    }
    assert_eq!(results, task.orders.as_array().map_or(0, Vec::len), "{}", task.name);
    asked
}
