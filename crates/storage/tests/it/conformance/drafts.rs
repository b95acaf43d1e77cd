use onyx_storage::{
    AuditEntry, ChainState, Draft, DraftChange, DraftCondition, DraftDecision, DraftFilter,
    DraftMove, DraftOutput, StoreError, WorkLife,
};
use onyx_types::{
    Actor, Artifact, DraftState, FileChange, Hash, HomePath, IdGenerator, Origin, Plan, PlanTarget,
    Preview, RunId, SessionKey, Taint, Target, Timestamp, ToolEffect, ToolUseId, Verdict,
};
use serde_json::json;

use super::Backend;
use crate::support::Maker;

pub(super) fn draft(
    make: &mut Maker,
    mint: &mut IdGenerator,
    key: &SessionKey,
    targets: &[&str],
) -> Draft {
    let at = make.tick();
    let target = |name: &&str| PlanTarget {
        target: Target::File(HomePath::new(*name)),
        base: Some(Hash::of(b"before")),
        instruction: false,
    };
    let change = |name: &&str| FileChange {
        target: HomePath::new(*name),
        after: Some("after".to_owned()),
        origin: Origin::Agent,
    };
    let input = json!({"z": 1, "path": "a.md", "a": "ü"});
    let plan = Plan {
        targets: targets.iter().map(target).collect(),
        changes: targets.iter().map(change).collect(),
        preview: Preview::diff("a.md", "-a\n+b\n"),
        ..Plan::new("write_file", input.clone(), ToolEffect::Write, "Write a.md")
    };
    let run: RunId = mint.run(at);
    Draft {
        id: mint.draft(at),
        key: key.clone(),
        agent: "helper".parse().unwrap(),
        run,
        call: ToolUseId("call_1".into()),
        input: Some(input),
        taint: Taint::Tainted,
        hash: Draft::hash_of(&plan, key, run),
        plan,
        state: DraftState::Pending,
        created_at: at,
        expires_at: Timestamp::from_millis(at.as_millis() + 1_000_000),
        decided: None,
        reason: None,
        output: None,
        superseded_by: None,
        delivered: false,
    }
}

fn audit(draft: &Draft, result: &str) -> AuditEntry {
    AuditEntry {
        ts: draft.created_at,
        person: draft.key.person.clone(),
        actor: Actor::Person(draft.key.person.clone()),
        agent: None,
        session: Some(draft.key.session),
        run: Some(draft.run),
        tool: Some(draft.plan.tool.clone().into()),
        effect: Some(ToolEffect::Write),
        decision: Some(Verdict::Draft),
        diff_summary: draft.plan.summary.clone(),
        result: result.into(),
    }
}

fn to(draft: &Draft, to: DraftState) -> DraftMove {
    DraftMove { from: draft.state, hash: draft.hash, to, change: DraftChange::default() }
}

pub(super) async fn put(on: &Backend, draft: &Draft) {
    on.drafts.put_draft(draft.clone(), &[], audit(draft, "drafted")).await.unwrap();
}

pub(crate) async fn a_draft_comes_back_as_it_was_put_and_to_nobody_else(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let key = make.key();
    let draft = draft(&mut make, &mut mint, &key, &["vault/a.md", "vault/b.md"]);
    put(&on, &draft).await;
    let back = on.drafts.draft(&key.person, draft.id).await.unwrap().unwrap();
    assert_eq!(back, draft);
    assert!(back.is_intact());
    let bert = "bert".parse().unwrap();
    assert_eq!(on.drafts.draft(&bert, draft.id).await.unwrap(), None);
    assert_eq!(on.drafts.drafts(&bert, &DraftFilter::default()).await.unwrap(), []);
    let moved = on.drafts.move_draft(
        &bert,
        draft.id,
        to(&draft, DraftState::Applying),
        audit(&draft, "approved"),
    );
    assert!(matches!(moved.await, Err(StoreError::NotFound)));
    assert_eq!(on.ledger.audit(&key.person, None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn drafts_are_listed_newest_first_by_state_and_session(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let (key, other) = (make.key(), make.key());
    let mine = [
        draft(&mut make, &mut mint, &key, &["a"]),
        draft(&mut make, &mut mint, &key, &["b"]),
        draft(&mut make, &mut mint, &other, &["a"]),
    ];
    for draft in &mine {
        put(&on, draft).await;
    }
    let step = to(&mine[0], DraftState::Rejected);
    let entry = audit(&mine[0], "rejected");
    let rejected = on.drafts.move_draft(&key.person, mine[0].id, step, entry).await.unwrap();
    let list = async |filter: DraftFilter| {
        let drafts = on.drafts.drafts(&key.person, &filter).await.unwrap();
        drafts.into_iter().map(|draft| draft.id).collect::<Vec<_>>()
    };
    let all = DraftFilter::default;
    assert_eq!(list(all()).await, [mine[2].id, mine[1].id, mine[0].id]);
    let session = Some(key.session);
    assert_eq!(list(DraftFilter { session, ..all() }).await, [mine[1].id, mine[0].id]);
    let state = Some(DraftState::Rejected);
    assert_eq!(list(DraftFilter { state, ..all() }).await, [rejected.id]);
    let (before, limit) = (Some(mine[2].id), 1);
    assert_eq!(list(DraftFilter { before, limit, ..all() }).await, [mine[1].id]);
    assert_eq!(on.drafts.open_drafts(&key).await.unwrap(), [mine[1].clone()]);
}

pub(crate) async fn a_draft_supersedes_exactly_what_is_open_on_its_targets(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let (key, other) = (make.key(), make.key());
    let first = draft(&mut make, &mut mint, &key, &["a", "b"]);
    let elsewhere = draft(&mut make, &mut mint, &other, &["b"]);
    put(&on, &first).await;
    put(&on, &elsewhere).await;
    let second = draft(&mut make, &mut mint, &key, &["b", "c"]);
    let unaware = on.drafts.put_draft(second.clone(), &[], audit(&second, "drafted")).await;
    assert!(matches!(unaware, Err(StoreError::Conflict)));
    assert_eq!(on.drafts.draft(&key.person, second.id).await.unwrap(), None);
    on.drafts.put_draft(second.clone(), &[first.id], audit(&second, "drafted")).await.unwrap();
    let old = on.drafts.draft(&key.person, first.id).await.unwrap().unwrap();
    assert_eq!((old.state, old.superseded_by), (DraftState::Superseded, Some(second.id)));
    assert_eq!(on.drafts.open_drafts(&key).await.unwrap(), [second]);
    assert_eq!(on.drafts.open_drafts(&other).await.unwrap(), [elsewhere]);
}

pub(crate) async fn of_many_moves_one_happens_with_its_audit_row(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let key = make.key();
    let draft = draft(&mut make, &mut mint, &key, &["a"]);
    put(&on, &draft).await;
    let tries = (0..16).map(|_| {
        let (drafts, draft) = (on.drafts.clone(), draft.clone());
        tokio::spawn(async move {
            let step = to(&draft, DraftState::Applying);
            let entry = audit(&draft, "approved");
            drafts.move_draft(&draft.key.person, draft.id, step, entry).await
        })
    });
    let mut won = 0;
    for attempt in tries.collect::<Vec<_>>() {
        won += usize::from(attempt.await.unwrap().is_ok());
    }
    assert_eq!(won, 1);
    let rows = on.ledger.audit(&key.person, None, 99).await.unwrap();
    assert_eq!(rows.len(), 2);
    let chain = on.ledger.verify_audit(&key.person).await.unwrap();
    assert_eq!(chain, ChainState::Whole { rows: 2 });
}

pub(crate) async fn a_move_sets_what_it_says_and_a_fresh_plan_gets_a_hash(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let key = make.key();
    let draft = draft(&mut make, &mut mint, &key, &["a"]);
    put(&on, &draft).await;
    let mut plan = draft.plan.clone();
    plan.targets[0].base = Some(Hash::of(b"now"));
    let change = DraftChange { plan: Some(plan.clone()), ..DraftChange::default() };
    let step = DraftMove { change, ..to(&draft, DraftState::Stale) };
    let entry = audit(&draft, "stale");
    let stale = on.drafts.move_draft(&key.person, draft.id, step, entry).await.unwrap();
    assert!(stale.is_intact() && stale.hash != draft.hash);
    let old = DraftMove { from: DraftState::Stale, ..to(&draft, DraftState::Applying) };
    let seen_before = on.drafts.move_draft(&key.person, draft.id, old, audit(&draft, "no")).await;
    assert!(matches!(seen_before, Err(StoreError::Conflict)));
    let at = make.tick();
    let artifact = Artifact { key: "anna/a/b.txt".into(), bytes: 70_000 };
    let output =
        DraftOutput { text: "done".into(), origin: Origin::External, artifact: Some(artifact) };
    let change = DraftChange {
        decided: Some(DraftDecision { by: key.person.clone(), at }),
        reason: Some("why not".into()),
        output: Some(output.clone()),
        plan: None,
    };
    let step = DraftMove { change, ..to(&stale, DraftState::Applied) };
    let entry = audit(&draft, "applied");
    let applied = on.drafts.move_draft(&key.person, draft.id, step, entry).await.unwrap();
    assert_eq!(on.drafts.draft(&key.person, draft.id).await.unwrap().unwrap(), applied);
    let expected = Draft {
        state: DraftState::Applied,
        plan,
        hash: stale.hash,
        decided: Some(DraftDecision { by: key.person.clone(), at }),
        reason: Some("why not".into()),
        output: Some(output),
        ..draft
    };
    assert_eq!(applied, expected);
}

pub(crate) async fn what_is_being_applied_or_has_run_out_is_unsettled(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let key = make.key();
    let drafts = ["a", "b", "c"].map(|target| draft(&mut make, &mut mint, &key, &[target]));
    for draft in &drafts {
        put(&on, draft).await;
    }
    let step = to(&drafts[1], DraftState::Applying);
    let entry = audit(&drafts[1], "approved");
    on.drafts.move_draft(&key.person, drafts[1].id, step, entry).await.unwrap();
    let unsettled = async |now| {
        let found = on.drafts.unsettled_drafts(now).await.unwrap();
        found.into_iter().map(|draft| draft.id).collect::<Vec<_>>()
    };
    assert_eq!(unsettled(drafts[0].created_at).await, [drafts[1].id]);
    assert_eq!(unsettled(drafts[0].expires_at).await, [drafts[0].id, drafts[1].id]);
}

pub(crate) async fn decisions_wait_until_they_are_delivered_and_go_with_the_session(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let key = make.key();
    let drafts = ["a", "b", "c"].map(|target| draft(&mut make, &mut mint, &key, &[target]));
    for draft in &drafts {
        put(&on, draft).await;
    }
    for index in [1, 0] {
        let draft = &drafts[index];
        let decided = Some(DraftDecision { by: key.person.clone(), at: make.tick() });
        let change = DraftChange { decided, ..DraftChange::default() };
        let step = DraftMove { change, ..to(draft, DraftState::Rejected) };
        let entry = audit(draft, "rejected");
        on.drafts.move_draft(&key.person, draft.id, step, entry).await.unwrap();
    }
    let undelivered = async || {
        let found = on.drafts.undelivered_drafts(&key).await.unwrap();
        found.into_iter().map(|draft| draft.id).collect::<Vec<_>>()
    };
    assert_eq!(undelivered().await, [drafts[1].id, drafts[0].id]);
    on.drafts.deliver_drafts(&key, &[drafts[1].id]).await.unwrap();
    assert_eq!(undelivered().await, [drafts[0].id]);
    on.ledger.delete_session(&key.person, key.session).await.unwrap();
    assert_eq!(undelivered().await, []);
    assert_eq!(on.drafts.drafts(&key.person, &DraftFilter::default()).await.unwrap(), []);
}

pub(crate) async fn work_of_this_life_changes_drafts_and_is_audited(on: Backend) {
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let key = make.key();
    let life = on.files.of_this_life().map_or(WorkLife::Current, |files| files.life());
    let alive = DraftCondition::Alive(life);
    // A store without other processes needs no condition.
    let drafts = on.drafts.under(alive).unwrap_or_else(|| on.drafts.clone());
    let draft = draft(&mut make, &mut mint, &key, &["a"]);
    drafts.put_draft(draft.clone(), &[], audit(&draft, "drafted")).await.unwrap();
    for (from, to) in
        [(DraftState::Pending, DraftState::Applying), (DraftState::Applying, DraftState::Applied)]
    {
        let step = DraftMove { from, hash: draft.hash, to, change: DraftChange::default() };
        let entry = audit(&draft, to.as_str());
        drafts.move_draft(&key.person, draft.id, step, entry).await.unwrap();
    }
    on.ledger.append_audit_of(life, audit(&draft, "more")).await.unwrap();
    let back = on.drafts.draft(&key.person, draft.id).await.unwrap().unwrap();
    assert_eq!(back.state, DraftState::Applied);
    let chain = on.ledger.verify_audit(&key.person).await.unwrap();
    assert_eq!(chain, ChainState::Whole { rows: 4 });
}
