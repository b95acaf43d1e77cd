//! The companion's tools over the pages, tasks, refs and projects of spaces.

use onyx_storage::Draft;
use onyx_tools::{Approval, Masker, Spaces, space_tools};
use onyx_types::{
    AssistantText, Author, DraftState, IdGenerator, LaneId, Origin, Scope, ScopeSet, Taint,
    TextStatus, Tier, Turn, TurnBody, UserContent, UserTurn, View,
};
use serde_json::{Map, Value, json};

use crate::support::World;

const PAGE: &str = "---\ntitle: Beans\nmine: kept\n---\n\nSow in May.\n";

async fn world() -> World {
    let world = World::with(Vec::new(), Masker::default()).await;
    let spaces = Spaces::new(world.folder.path().to_owned());
    let tools = space_tools(&spaces, &world.store.ledger);
    let world = world.with_tools(tools, Masker::default());
    assert!(
        offered(&world).is_empty(),
        "without spaces there is nothing to read or change in them"
    );
    own(&world, "spaces/garden/space.json", "{\"name\": \"Garden\"}");
    own(&world, "spaces/garden/pages/beans.md", PAGE);
    assert_eq!(offered(&world), ["read", "context", "propose_change"]);
    world
}

fn offered(world: &World) -> Vec<String> {
    let offers = world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
    offers.offers().iter().map(|offer| offer.name.clone()).collect()
}

fn own(world: &World, path: &str, text: &str) {
    let path = world.own().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn text(world: &World, path: &str) -> Option<String> {
    std::fs::read_to_string(world.own().join(path)).ok()
}

async fn drafted(world: &World, input: Value) -> Draft {
    let outcome = world.call("propose_change", input).await;
    let proposal = outcome.draft.unwrap_or_else(|| panic!("{}", outcome.output));
    let person = &world.cx.key.person;
    world.store.drafts.draft(person, proposal.draft).await.unwrap().unwrap()
}

async fn approved(world: &World, draft: Draft) -> DraftState {
    let person = world.cx.key.person.clone();
    let yes = Approval { person, reason: None, seen: None };
    world.toolbox.approve(draft, &yes, &world.policy, &world.cx).await.unwrap().state
}

#[tokio::test]
async fn a_proposal_only_ever_drafts_and_an_approval_makes_it_so() {
    for tier in [Tier::Suggest, Tier::Act] {
        let world = world().await.at(tier);
        let input = json!({"op": "create", "type": "task", "title": "Buy stakes", "body": "Ten of them",
            "status": "open", "fields": {"due": "2026-05-01"}});
        let draft = drafted(&world, input).await;
        let path = "spaces/garden/tasks/buy-stakes.md";
        assert_eq!(text(&world, path), None, "{tier:?}");

        assert_eq!(approved(&world, draft).await, DraftState::Applied);
        let made = text(&world, path).unwrap();
        for part in
            ["title: Buy stakes\n", "status: open\n", "due: \"2026-05-01\"\n", "\nTen of them\n"]
        {
            assert!(made.contains(part), "{part:?} in {made}");
        }
    }
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name_and_a_deletion_takes_the_file() {
    let world = world().await;
    let input = json!({"op": "update", "type": "page", "id": "beans", "body": "Sow in June."});
    let draft = drafted(&world, input).await;
    assert_eq!(approved(&world, draft).await, DraftState::Applied);
    let changed = text(&world, "spaces/garden/pages/beans.md").unwrap();
    assert!(
        changed.contains("title: Beans\nmine: kept\n") && changed.ends_with("\nSow in June.\n"),
        "{changed}"
    );

    let cited = "spaces/garden/pages/beans.md";
    let draft = drafted(&world, json!({"op": "delete", "type": "page", "id": cited})).await;
    assert!(text(&world, cited).is_some());
    assert_eq!(approved(&world, draft).await, DraftState::Applied);
    assert_eq!(text(&world, cited), None);
}

#[tokio::test]
async fn later_proposals_build_on_those_that_wait() {
    let world = world().await;
    let create = || json!({"op": "create", "type": "page", "title": "Plan", "body": "one"});
    let first = drafted(&world, create()).await;
    let second = drafted(&world, create()).await;
    assert_eq!(first.plan.targets[0].target.to_string(), "people/ada/spaces/garden/pages/plan.md");
    assert_eq!(
        second.plan.targets[0].target.to_string(),
        "people/ada/spaces/garden/pages/plan-2.md"
    );

    let input = json!({"op": "update", "type": "page", "id": "beans", "status": "done"});
    drafted(&world, input).await;
    let input = json!({"op": "update", "type": "page", "id": "beans", "body": "Later."});
    let both = drafted(&world, input).await;
    let read = world.done("read", json!({"type": "page", "id": "beans"})).await;
    assert!(
        read.starts_with("[as draft ") && read.contains("status: done") && read.contains("Later."),
        "{read}"
    );
    assert_eq!(approved(&world, both).await, DraftState::Applied);
    let changed = text(&world, "spaces/garden/pages/beans.md").unwrap();
    assert!(changed.contains("status: done\n") && changed.ends_with("\nLater.\n"), "{changed}");
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
async fn what_a_tainted_run_proposes_stays_tainted() {
    let mut world = world().await;
    world.cx.taint = Taint::Tainted;
    let draft =
        drafted(&world, json!({"op": "create", "type": "page", "title": "Sly", "body": "x"})).await;
    approved(&world, draft).await;
    assert!(
        text(&world, "spaces/garden/pages/sly.md").unwrap().contains("origin: agent_tainted\n")
    );
    world.cx.taint = Taint::Clean;
    let outcome = world.call("read", json!({"type": "page", "id": "sly"})).await;
    assert_eq!(outcome.origin, Origin::AgentTainted);
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
    let create = json!({"op": "create", "type": "page", "title": "x", "space": "money"});
    assert!(world.call("propose_change", create).await.draft.is_none());
}

#[tokio::test]
async fn ids_lead_nowhere_else() {
    let world = world().await;
    own(&world, "USER.md", "secret");
    for id in ["../../USER", "../../../USER.md", "/etc/passwd", ".hidden", "", "a\nb"] {
        world.failed("read", json!({"type": "page", "id": id})).await;
        let update = json!({"op": "update", "type": "page", "id": id, "body": "x"});
        assert!(world.call("propose_change", update).await.draft.is_none(), "{id:?}");
    }
    let empty = json!({"op": "update", "type": "page", "id": "beans"});
    assert!(world.failed("propose_change", empty).await.contains("say what to change"));
}

#[tokio::test]
async fn the_view_is_told_with_what_is_around_it() {
    let mut world = world().await;
    own(&world, "spaces/garden/tasks/water.md", "---\ntitle: Water the beans\nstatus: open\n---\n");
    assert!(
        world.done("context", json!({})).await.starts_with("The person is not looking at anything")
    );
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
    let mut mint = IdGenerator::new(3);
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
    let asked = UserTurn::from(UserContent::Text("Which bus?".into()));
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
    IdGenerator::new(99).session(onyx_types::Timestamp::UNIX_EPOCH).to_string()
}
