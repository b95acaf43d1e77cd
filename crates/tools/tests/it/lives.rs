//! Calls of a gateway whose work others have taken over. It checks its leases immediately before
//! each effect.

use std::sync::Arc;

use onyx_storage::Draft;
use onyx_tools::{Approval, ToolCx};
use onyx_types::{DraftState, ErrorCode, Tier, ToolEffect};
use serde_json::json;

use crate::support::{Behaviour, LostLife, Probe, World};

const WHY: &str =
    "this gateway was silent for too long, and others may have taken over; nothing was done";

/// The context of the same call after the gateway has lost its leases.
fn lost(cx: &ToolCx) -> ToolCx {
    ToolCx { files: Arc::new(LostLife(Arc::clone(&cx.files))), ..cx.clone() }
}

async fn drafted(world: &World, tool: &str, input: serde_json::Value) -> Draft {
    let proposal = world.call(tool, input).await.draft.expect("it waits for a person");
    let person = &world.cx.key.person;
    world.store.drafts.draft(person, proposal.draft).await.unwrap().unwrap()
}

fn yes(world: &World) -> Approval {
    Approval { person: world.cx.key.person.clone(), reason: None, seen: None }
}

#[tokio::test]
async fn a_lost_gateway_makes_no_call_that_changes_anything_and_says_why() {
    for (effect, invokes) in [(ToolEffect::Write, 0), (ToolEffect::Read, 1)] {
        let probe = Probe::new(effect, Behaviour::Says("done".into()));
        let mut world = World::with(vec![probe.clone()], Default::default()).await;
        world.cx = lost(&world.cx);
        let outcome = world.call("probe", json!({"word": "x"})).await;
        assert_eq!(probe.seen().invokes, invokes, "{effect:?}");
        if invokes == 0 {
            assert!(outcome.is_error && outcome.output.contains(WHY), "{}", outcome.output);
            let audit = world.audit_lines().await;
            assert!(audit[1].contains("failed: this gateway was silent"), "{audit:?}");
        }
    }
}

#[tokio::test]
async fn what_a_lost_gateway_was_to_do_outside_is_not_done_and_the_draft_says_why() {
    for effect in [ToolEffect::Reach, ToolEffect::Execute] {
        let probe = Probe::new(effect, Behaviour::Says("done".into()));
        let world = World::with(vec![probe.clone()], Default::default()).await;
        let draft = drafted(&world, "probe", json!({"word": "x"})).await;
        let cx = lost(&world.cx);
        let done = world.toolbox.approve(draft, &yes(&world), &world.policy, &cx).await.unwrap();
        assert_eq!((done.state, probe.seen().invokes), (DraftState::Failed, 0), "{effect:?}");
        assert_eq!(done.output_text(), Some(WHY));
    }
}

#[tokio::test]
async fn a_file_that_a_lost_gateway_was_to_change_is_left_to_those_who_took_over() {
    let world = World::new().await.at(Tier::Suggest);
    let input = json!({"path": "a.md", "content": "approved"});
    let draft = drafted(&world, "write_file", input).await;
    let (id, cx) = (draft.id, lost(&world.cx));
    let refused = world.toolbox.approve(draft, &yes(&world), &world.policy, &cx).await;
    assert_eq!(refused.unwrap_err().fault.code, ErrorCode::StorageUnavailable);
    let left = world.store.drafts.draft(&world.cx.key.person, id).await.unwrap().unwrap();
    assert_eq!((left.state, world.vault().join("a.md").exists()), (DraftState::Applying, false));
    let refused = world.toolbox.recover_draft(left.clone(), &cx).await;
    assert!(refused.is_err(), "{refused:?}");
    let done = world.toolbox.recover_draft(left, &world.cx).await.unwrap();
    assert_eq!((done.state, world.text("a.md").as_str()), (DraftState::Applied, "approved"));
}
