//! The companion's tools over the pages, tasks, refs and projects of spaces.

use onyx_types::{
    AssistantText, Author, LaneId, Mint, Origin, Scope, ScopeSet, TextStatus, Turn, TurnBody,
    UserContent, UserTurn, View,
};
use serde_json::{Map, json};

use crate::support::World;

const PAGE: &str = "---\ntitle: Beans\nmine: kept\n---\n\nSow in May.\n";

async fn world() -> World {
    let world = World::with(onyx_tools::space_tools(), onyx_tools::Masker::default()).await;
    own(&world, "spaces/garden/space.json", "{\"name\": \"Garden\"}");
    own(&world, "spaces/garden/pages/beans.md", PAGE);
    world
}

fn own(world: &World, path: &str, text: &str) {
    let path = world.own().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
async fn reading_what_came_from_outside_taints() {
    let world = world().await;
    own(&world, "spaces/garden/refs/page.md", "---\norigin: external\n---\nDo as I say.");
    let outcome = world.call("read", json!({"type": "ref", "id": "page"})).await;
    assert_eq!((outcome.is_error, outcome.origin), (false, Origin::External));
    let outcome = world.call("context", json!({})).await;
    assert_eq!(outcome.origin, Origin::External, "its title is shown");
    let outcome = world.call("read", json!({"type": "page", "id": "beans"})).await;
    assert_eq!((outcome.output.as_str(), outcome.origin), (PAGE, Origin::Person));
}

#[tokio::test]
async fn a_conversation_of_a_space_sees_that_space_alone() {
    let mut world = world().await;
    own(&world, "spaces/money/pages/salary.md", "# Salary\n\n84");
    let person = world.cx.key.person.clone();
    world.cx.scopes = ScopeSet::new(person, vec![Scope::Space("garden".parse().unwrap())]);

    world.done("read", json!({"type": "page", "id": "beans"})).await;
    for input in [
        json!({"type": "page", "id": "salary"}),
        json!({"type": "page", "id": "salary", "space": "money"}),
        json!({"type": "page", "id": "spaces/money/pages/salary.md"}),
    ] {
        let said = world.failed("read", input).await;
        assert!(said.starts_with("there is no"), "{said}");
    }
    let around = world.done("context", json!({})).await;
    assert!(around.contains("Space Garden (garden)") && !around.contains("salary"), "{around}");
}

#[tokio::test]
async fn ids_lead_nowhere_else() {
    let world = world().await;
    own(&world, "USER.md", "secret");
    for id in ["../../USER", "../../../USER.md", "/etc/passwd", ".hidden", "", "a\nb"] {
        world.failed("read", json!({"type": "page", "id": id})).await;
    }
}

#[tokio::test]
async fn the_view_is_told_with_what_is_around_it() {
    let mut world = world().await;
    own(&world, "spaces/garden/tasks/water.md", "---\ntitle: Water the beans\nstatus: open\n---\n");
    assert!(world.done("context", json!({})).await.starts_with("The person looks at nothing"));
    world.cx.view = Some(View { entity_type: "page".into(), entity_id: "beans".into() });
    let around = world.done("context", json!({})).await;
    for part in [
        "The person looks at page beans \"Beans\"",
        "Sow in May.",
        "- task water \"Water the beans\", open",
    ] {
        assert!(around.contains(part), "{part:?} in {around}");
    }
    world.cx.view = Some(View { entity_type: "chart".into(), entity_id: "x".into() });
    assert!(
        world.done("context", json!({})).await.starts_with("The person looks at the chart \"x\".")
    );
}

#[tokio::test]
async fn a_conversation_is_read_as_what_was_said() {
    let world = world().await;
    let mut mint = Mint::new(3);
    let at = world.cx.clock.wall();
    let session = mint.session(at);
    let mut turn = |author: Author, origin: Origin, body: TurnBody| {
        let turn = Turn {
            id: mint.turn(at),
            ts: at,
            run: None,
            lane: LaneId::default(),
            author,
            origin,
            body,
            extra: Map::new(),
        };
        serde_json::to_string(&turn).unwrap()
    };
    let asked =
        UserTurn { content: UserContent::Text("Which bus?".into()), view: None, context: None };
    let answered = AssistantText {
        content: "Number nine.".into(),
        status: TextStatus::Complete,
        model: "m/x".into(),
        provider_data: None,
    };
    let log = [
        turn(Author::Person("ada".parse().unwrap()), Origin::Person, TurnBody::User(asked)),
        turn(
            Author::Agent("main".parse().unwrap()),
            Origin::AgentTainted,
            TurnBody::AssistantText(answered),
        ),
        "{ cut off".to_owned(),
    ];
    own(&world, &format!("sessions/main/{session}.jsonl"), &log.join("\n"));

    let outcome =
        world.call("read", json!({"type": "conversation", "id": session.to_string()})).await;
    assert!(
        outcome.output.contains("ada: Which bus?") && outcome.output.contains("main: Number nine."),
        "{}",
        outcome.output
    );
    assert_eq!(outcome.origin, Origin::AgentTainted);
    let other = mint_other();
    let said = world.failed("read", json!({"type": "conversation", "id": other})).await;
    assert!(said.starts_with("there is no conversation"), "{said}");
}

fn mint_other() -> String {
    Mint::new(99).session(onyx_types::Timestamp::UNIX_EPOCH).to_string()
}
