use std::sync::Arc;

use onyx_storage::ChainState;
use onyx_tools::{Execution, Masker, Policy, Services, Tool, ToolSettings, Toolbox, builtin_tools};
use onyx_types::{
    Actor, Attendance, CallReport, CallState, DecisionTiming, DraftState, ErrorCode, Origin,
    Preview, Rehearsal, Tier, ToolEffect, ToolOutcome, Verdict,
};
use serde_json::json;

use crate::support::{Behaviour, BrokenAudit, Probe, World};

async fn world_with(probe: &Arc<Probe>) -> World {
    let world = World::with(vec![probe.clone() as Arc<dyn Tool>], Masker::default()).await;
    probe.watches(Arc::clone(&world.store.ledger));
    world
}

fn says(effect: ToolEffect) -> Arc<Probe> {
    Probe::new(effect, Behaviour::Says("done".into()))
}

#[tokio::test]
async fn an_allowed_call_gives_its_outcome() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await;
    let outcome = world.call("probe", json!({"word": "x"})).await;
    let report = CallReport { effect: Some(ToolEffect::Write), ..CallReport::default() };
    assert_eq!(outcome, ToolOutcome { report, ..ToolOutcome::ok("done", "Probe x") });
    assert_eq!(outcome.origin, Origin::Person);
}

#[tokio::test]
async fn a_tool_that_the_agent_does_not_have_is_refused_and_audited() {
    let world = World::new().await;
    assert_eq!(
        world.failed("exec", json!({"command": "ls"})).await,
        "there is no tool \"exec\"; yours: list_files, read_file, write_file, edit_file, delete_file, \
         move_file, search_files, memory_get, memory_write, render_mermaid"
    );
    let settings = ToolSettings { allow: Some(Vec::new()), ..ToolSettings::default() };
    let (policy, _) =
        Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap();
    let world = World { policy, ..world };
    assert_eq!(
        world.failed("read_file", json!({"path": "a.md"})).await,
        "there is no tool \"read_file\"; yours: none"
    );
    assert_eq!(
        world.audit_lines().await,
        [
            "exec - deny : the agent has no such tool",
            "read_file - deny : the agent has no such tool",
        ]
    );
}

#[tokio::test]
async fn arguments_are_checked_before_anything_else_happens() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await;
    assert_eq!(
        world.failed("probe", json!({"wrd": "x"})).await,
        "wrong arguments: there is no wrd, only word; \"word\" is missing. Nothing was done; call \
         it again"
    );
    assert_eq!(probe.seen().plans, 0);
    assert_eq!(world.audit_lines().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_effect_has_a_row_before_it_happens_and_one_with_its_result() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await;
    world.done("probe", json!({"word": "x"})).await;
    let rows = world.audit().await;
    assert_eq!(probe.seen().row_during.as_ref(), rows.first());
    assert_eq!(
        world.audit_lines().await,
        ["probe write allow Probe x: started", "probe write allow Probe x: ok (started in row 1)",]
    );
    let entry = &rows[1].entry;
    assert_eq!(entry.actor, Actor::Agent("main".parse().unwrap()));
    assert_eq!((entry.session, entry.run), (Some(world.cx.key.session), Some(world.cx.run)));
    let chain = world.store.ledger.verify_audit(&world.cx.key.person).await.unwrap();
    assert_eq!(chain, ChainState::Whole { rows: 2 });
}

#[tokio::test]
async fn what_only_reads_has_one_row() {
    let world = world_with(&says(ToolEffect::Read)).await;
    world.done("probe", json!({"word": "x"})).await;
    assert_eq!(world.audit_lines().await, ["probe read allow Probe x: ok"]);
}

#[tokio::test]
async fn a_failure_is_told_and_audited() {
    let world = world_with(&Probe::new(ToolEffect::Write, Behaviour::Fails)).await;
    assert_eq!(world.failed("probe", json!({"word": "x"})).await, "there is no such thing");
    assert_eq!(
        world.audit_lines().await[1],
        "probe write allow Probe x: failed: there is no such thing (started in row 1)"
    );
}

#[tokio::test]
async fn what_the_tier_denies_is_not_invoked() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await.at(Tier::Read);
    assert_eq!(
        world.failed("probe", json!({"word": "x"})).await,
        "denied: this agent may not write; nothing was done. Tell the person what you would do"
    );
    assert_eq!(probe.seen().invokes, 0);
    assert_eq!(world.audit_lines().await, ["probe write deny Probe x: nothing was done"]);
}

#[tokio::test]
async fn what_needs_a_person_is_drafted_and_changes_nothing() {
    for (effect, tier, attendance, verdict) in [
        (ToolEffect::Write, Tier::Suggest, Attendance::Attended, Verdict::Draft),
        (ToolEffect::Destroy, Tier::Act, Attendance::Attended, Verdict::Confirm),
        (ToolEffect::Reach, Tier::Act, Attendance::Unattended, Verdict::Draft),
    ] {
        let probe = says(effect);
        let mut world = world_with(&probe).await.at(tier);
        world.attendance = attendance;
        let outcome = world.call("probe", json!({"word": "x"})).await;
        let proposal = outcome.draft.unwrap();
        let answer = match verdict {
            Verdict::Confirm => DecisionTiming::Awaited,
            _ => DecisionTiming::Later,
        };
        assert_eq!((proposal.summary.as_str(), proposal.answer), ("Probe x", answer));
        assert_eq!(
            (outcome.report.state, outcome.report.effect),
            (CallState::Waiting, Some(effect))
        );
        assert_eq!(probe.seen().invokes, 0);
        let draft = world.store.drafts.draft(&world.cx.key.person, proposal.draft).await;
        assert_eq!(draft.unwrap().unwrap().state, DraftState::Pending);
        let rows: Vec<_> = world.audit().await.into_iter().map(|row| row.entry.decision).collect();
        assert_eq!(rows, [Some(verdict)]);
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_plan_and_invokes_nothing() {
    for effect in [ToolEffect::Read, ToolEffect::Write] {
        let probe = says(effect);
        let mut world = world_with(&probe).await;
        world.execution = Execution::DryRun;
        let outcome = world.call("probe", json!({"word": "x"})).await;
        assert_eq!(
            outcome.output,
            format!("dry run, nothing was done: Probe x ({}: allow)\na preview", effect.as_str())
        );
        let rehearsal = Rehearsal {
            summary: "Probe x".to_owned(),
            verdict: Verdict::Allow,
            preview: Preview::Text { text: "a preview".to_owned() },
        };
        let (state, effect, rehearsal) = (CallState::Rehearsed, Some(effect), Some(rehearsal));
        assert_eq!(
            outcome.report,
            CallReport { state, effect, lines: None, rehearsal, artifact: None }
        );
        assert_eq!(probe.seen().invokes, 0);
    }
}

#[tokio::test]
async fn a_call_reports_what_came_of_it_and_what_it_did() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await;
    let done = world.call("probe", json!({"word": "x"})).await.report;
    assert_eq!((done.state, done.effect), (CallState::Done, Some(ToolEffect::Write)));
    let absent = world.call("rm", json!({})).await.report;
    assert_eq!((absent.state, absent.effect), (CallState::Refused, None));
    let wrong = world.call("probe", json!({"word": 7})).await.report;
    assert_eq!((wrong.state, wrong.effect), (CallState::Failed, None));
    let world = world_with(&says(ToolEffect::Write)).await.at(Tier::Read);
    assert_eq!(world.call("probe", json!({"word": "x"})).await.report.state, CallState::Refused);
}

#[tokio::test]
async fn without_an_audit_row_nothing_happens() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await;
    let broken = BrokenAudit { inner: Arc::clone(&world.store.ledger), good_rows: 0 };
    let world = world.audited_by(vec![probe.clone()], Arc::new(broken));
    assert_eq!(world.failed("probe", json!({"word": "x"})).await, "the disk is full");
    assert_eq!(probe.seen().invokes, 0);
}

#[tokio::test]
async fn what_happened_is_told_even_when_its_result_cannot_be_audited() {
    let probe = says(ToolEffect::Write);
    let world = world_with(&probe).await;
    let broken = BrokenAudit { inner: Arc::clone(&world.store.ledger), good_rows: 1 };
    let world = world.audited_by(vec![probe.clone()], Arc::new(broken));
    assert_eq!(
        world.done("probe", json!({"word": "x"})).await,
        "done\n[this result could not be written to the audit log]"
    );
}

#[tokio::test]
async fn a_reading_that_cannot_be_audited_is_withheld() {
    let probe = says(ToolEffect::Read);
    let world = world_with(&probe).await;
    let broken = BrokenAudit { inner: Arc::clone(&world.store.ledger), good_rows: 0 };
    let world = world.audited_by(vec![probe], Arc::new(broken));
    assert_eq!(world.failed("probe", json!({"word": "x"})).await, "the disk is full");
}

#[tokio::test]
async fn two_tools_of_one_name_and_a_schema_that_is_none_are_refused() {
    let world = World::new().await;
    let services = || Services {
        ledger: Arc::clone(&world.store.ledger),
        drafts: Arc::clone(&world.store.drafts),
        artifacts: onyx_tools::Artifacts::new(
            world.store.files.objects(&onyx_storage::Area::Shared).unwrap(),
        ),
        masker: Masker::default(),
    };
    let twice = builtin_tools().into_iter().chain(builtin_tools()).collect();
    let fault =
        Toolbox::new(vec![Probe::with_schema(json!({"type": 3}))], services()).err().unwrap();
    assert_eq!(fault.code, ErrorCode::Internal);
    assert!(fault.message.starts_with("the schema of probe: "), "{fault}");
    let fault = Toolbox::new(twice, services()).err().unwrap();
    assert_eq!(
        (fault.code, fault.message.as_str()),
        (ErrorCode::InvalidRequest, "two tools are called list_files")
    );
}
