//! Drafts at the toolbox: what an approval does and checks.

use std::sync::Arc;

use onyx_storage::{AuditEntry, Draft, DraftChange, DraftMove};
use onyx_tools::{Approval, GrantedSites, Policy, ToolSettings};
use onyx_types::{Actor, DraftState, ErrorCode, IdGenerator, Taint, Tier, ToolEffect};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Behaviour, Probe, World, policy};

async fn drafted(world: &World, tool: &str, input: Value) -> Draft {
    let outcome = world.call(tool, input).await;
    let proposal = outcome.draft.unwrap_or_else(|| panic!("{}", outcome.output));
    let person = &world.cx.key.person;
    world.store.drafts.draft(person, proposal.draft).await.unwrap().unwrap()
}

fn yes(world: &World) -> Approval {
    Approval { person: world.cx.key.person.clone(), reason: None, seen: None }
}

/// Marks a draft as being applied and does nothing more, as a crash would leave it.
async fn begun(world: &World, draft: &Draft) -> Draft {
    let step = DraftMove {
        from: DraftState::Pending,
        hash: draft.hash,
        to: DraftState::Applying,
        change: DraftChange::default(),
    };
    let (person, entry) = (&draft.key.person, row(draft));
    world.store.drafts.move_draft(person, draft.id, step, entry).await.unwrap()
}

fn row(draft: &Draft) -> AuditEntry {
    AuditEntry {
        ts: draft.created_at,
        person: draft.key.person.clone(),
        actor: Actor::Person("ada".parse().unwrap()),
        agent: None,
        session: None,
        run: None,
        tool: None,
        effect: None,
        decision: None,
        diff_summary: String::new(),
        result: "approved".into(),
    }
}

#[tokio::test]
async fn a_draft_from_before_targets_had_kinds_is_applied_as_it_was_shown() {
    let world = World::new().await.at(Tier::Suggest);
    world.write("a.md", "one");
    let mut draft = drafted(&world, "write_file", json!({"path": "a.md", "content": "two"})).await;
    let replaced = draft.id;
    let mut kept = serde_json::to_value(&draft.plan).unwrap();
    for target in kept["targets"].as_array_mut().unwrap() {
        assert_eq!(target.as_object_mut().unwrap().remove("kind"), Some(json!("file")));
    }
    draft.plan = serde_json::from_value(kept.clone()).unwrap();
    assert_eq!(serde_json::to_value(&draft.plan).unwrap(), kept, "its hash stays what it was");
    draft.hash = Draft::hash_of(&draft.plan, &draft.key, draft.run);
    draft.id = IdGenerator::new(11).draft(draft.created_at);
    world.store.drafts.put_draft(draft.clone(), &[replaced], row(&draft)).await.unwrap();

    let done = world.toolbox.approve(draft, &yes(&world), &world.policy, &world.cx).await.unwrap();

    assert_eq!((done.state, world.text("a.md").as_str()), (DraftState::Applied, "two"));
}

#[tokio::test]
async fn what_reaches_or_executes_is_never_tried_again_after_a_crash() {
    for effect in [ToolEffect::Reach, ToolEffect::Execute, ToolEffect::Destroy] {
        let probe = Probe::new(effect, Behaviour::Says("done".into()));
        let world = World::with(vec![probe.clone()], Default::default()).await;
        let draft = drafted(&world, "probe", json!({"word": "x"})).await;
        let draft = begun(&world, &draft).await;
        let settled = world.toolbox.recover_draft(draft, &world.cx).await.unwrap();
        assert_eq!((settled.state, probe.seen().invokes), (DraftState::Unknown, 0), "{effect:?}");
        let again = world.toolbox.approve(settled, &yes(&world), &world.policy, &world.cx).await;
        assert_eq!(again.unwrap_err().fault.code, ErrorCode::DraftDecided);
        assert_eq!(probe.seen().invokes, 0);
    }
}

#[tokio::test]
async fn what_a_crash_left_of_a_file_change_decides_what_becomes_of_it() {
    for (left, state, after) in [
        ("one", DraftState::Applied, "two"),
        ("two", DraftState::Applied, "two"),
        ("other", DraftState::Unknown, "other"),
    ] {
        let world = World::new().await.at(Tier::Suggest);
        world.write("a.md", "one");
        let input = json!({"path": "a.md", "content": "two"});
        let draft = drafted(&world, "write_file", input).await;
        let draft = begun(&world, &draft).await;
        world.write("a.md", left);
        let settled = world.toolbox.recover_draft(draft, &world.cx).await.unwrap();
        assert_eq!((settled.state, world.text("a.md").as_str()), (state, after), "{left}");
    }
}

#[tokio::test]
async fn an_approval_needs_the_tool_to_be_the_agents_still() {
    let world = World::new().await.at(Tier::Suggest);
    let draft = drafted(&world, "write_file", json!({"path": "a.md", "content": "x"})).await;
    let settings = ToolSettings { deny: vec!["write_file".into()], ..ToolSettings::default() };
    let (without, _) =
        Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap();
    let refused = world.toolbox.approve(draft.clone(), &yes(&world), &without, &world.cx).await;
    assert_eq!(refused.unwrap_err().fault.code, ErrorCode::ToolDenied);
    assert!(!world.vault().join("a.md").exists());
    let done = world.toolbox.approve(draft, &yes(&world), &world.policy, &world.cx).await.unwrap();
    assert_eq!(done.state, DraftState::Applied);
}

#[tokio::test]
async fn a_call_that_needs_nobody_never_builds_on_what_nobody_approved() {
    let mut world = World::new().await.at(Tier::Suggest);
    world.write("a.md", "one\n");
    drafted(&world, "write_file", json!({"path": "a.md", "content": "planted\n"})).await;
    world.policy = policy(Tier::Act, &world.toolbox);
    let edit = json!({"path": "a.md", "old": "planted", "new": "x"});
    let draft = drafted(&world, "edit_file", edit).await;
    assert_eq!(draft.plan.changes[0].after.as_deref(), Some("x\n"));
    assert_eq!(world.text("a.md"), "one\n");
    world.done("write_file", json!({"path": "b.md", "content": "free"})).await;
}

#[tokio::test]
async fn what_is_approved_under_taint_stays_tainted() {
    let world = World::new().await.at(Tier::Suggest).tainted();
    let draft = drafted(&world, "write_file", json!({"path": "a.md", "content": "x"})).await;
    assert_eq!(draft.taint, Taint::Tainted);
    world.toolbox.approve(draft, &yes(&world), &world.policy, &world.cx).await.unwrap();
    let read = world.clean().call("read_file", json!({"path": "a.md"})).await;
    assert!(read.origin.taints());
}

#[test]
fn a_grant_names_a_host_or_nothing() {
    let granted = GrantedSites::default();
    let plan = onyx_types::Plan::new("web_fetch", Value::Null, ToolEffect::Reach, "");
    assert!(!granted.allow(&plan));
}

fn hostile() -> impl Strategy<Value = (String, Value)> {
    let path = prop::sample::select(vec![
        "a.md",
        "agents.md",
        "agent/actions/x.md",
        "../a.md",
        "memory/main/MEMORY.md",
        "b/c.md",
    ]);
    let text = prop::sample::select(vec!["one", "obey", "", "two\n"]);
    let tool = prop::sample::select(vec![
        "write_file",
        "edit_file",
        "memory_write",
        "read_file",
        "list_files",
        "approve",
        "probe",
    ]);
    (tool, path, text.clone(), text).prop_map(|(tool, path, one, two)| {
        let input = match tool {
            "write_file" => json!({"path": path, "content": one}),
            "edit_file" => json!({"path": path, "old": one, "new": two}),
            "memory_write" => json!({"text": two, "heading": one}),
            "read_file" => json!({"path": path}),
            "list_files" => json!({}),
            _ => json!({"draft_id": path, "approve": true}),
        };
        (tool.to_owned(), input)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_calls_does_more_than_the_tier_allows(
        calls in prop::collection::vec(hostile(), 1..12),
        tainted in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for tier in [Tier::Read, Tier::Suggest] {
                let mut world = World::new().await.at(tier);
                world.cx.taint = if tainted { Taint::Tainted } else { Taint::Clean };
                world.write("a.md", "one");
                world.write("agents.md", "mine");
                for (tool, input) in &calls {
                    world.call(tool, input.clone()).await;
                }
                assert_eq!((world.text("a.md"), world.text("agents.md")), ("one".into(), "mine".into()));
                assert!(!world.memory().join("MEMORY.md").exists());
                assert!(!world.vault().join("b").exists());
                let open = world.store.drafts.open_drafts(&world.cx.key).await.unwrap();
                assert!(tier != Tier::Read || open.is_empty());
            }
            let mut world = World::new().await.tainted();
            world.write("agents.md", "mine");
            for (tool, input) in &calls {
                world.call(tool, input.clone()).await;
            }
            assert_eq!(world.text("agents.md"), "mine");
            assert!(!world.vault().join("agent/actions/x.md").exists());
            assert!(!world.memory().join("MEMORY.md").exists());
            world.cx.pending = Arc::default();
        });
    }
}
