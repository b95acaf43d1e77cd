//! Tests that a gateway whose life is over records nothing about the drafts that it was applying, makes
//! no proposals for its runs and writes no audit rows of them. The gateways' own clocks stand still
//! here, as if the gateways were frozen; only the database knows that time has passed.

use std::sync::Arc;

use onyx_storage::{
    AuditEntry, ChainState, Draft, DraftChange, DraftCondition, DraftMove, Drafts, Store,
    StoreError, WorkLife,
};
use onyx_types::{DraftState, IdGenerator, PersonId};

use super::races::draft;
use super::servers::{OpenGateway, let_die, two};
use crate::support::{Maker, audit_entry};

fn is_lost<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LeaseLost))
}

/// The life in which work begins that begins now.
fn life(store: &Store) -> WorkLife {
    store.files.of_this_life().expect("gateways have lives").life()
}

fn under(store: &Store, condition: DraftCondition) -> Arc<dyn Drafts> {
    store.drafts.under(condition).expect("other gateways work on these drafts")
}

async fn moved(
    drafts: &dyn Drafts,
    draft: &Draft,
    to: DraftState,
    entry: &AuditEntry,
) -> Result<Draft, StoreError> {
    let (from, hash, change) = (draft.state, draft.hash, DraftChange::default());
    let step = DraftMove { from, hash, to, change };
    drafts.move_draft(&draft.key.person, draft.id, step, entry.clone()).await
}

/// A draft that the gateway has begun to apply under the draft's lease, as after an approval.
async fn begun(
    gateway: &OpenGateway,
    make: &mut Maker,
    mint: &mut IdGenerator,
    entry: &AuditEntry,
) -> Draft {
    let key = make.key();
    let draft = draft(make, mint, &key);
    let drafts = &gateway.store.drafts;
    drafts.put_draft(draft.clone(), &[], entry.clone()).await.unwrap();
    gateway.membership.own(&Draft::lease_name(draft.id)).await.unwrap().expect("the lease");
    moved(&**drafts, &draft, DraftState::Applying, entry).await.unwrap()
}

async fn state(store: &Store, draft: &Draft) -> DraftState {
    store.drafts.draft(&draft.key.person, draft.id).await.unwrap().unwrap().state
}

async fn rows(store: &Store) -> usize {
    let anna: PersonId = "anna".parse().unwrap();
    store.ledger.audit(&anna, None, 99).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_became_of_a_draft_is_recorded_only_in_the_life_in_which_it_was_begun() {
    let (database, one, two) = two().await;
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let entry = audit_entry(&mut make, "anna");
    let alive = DraftCondition::Alive(life(&one.store));
    let in_time = begun(&one, &mut make, &mut mint, &entry).await;
    let late = begun(&one, &mut make, &mut mint, &entry).await;
    moved(&*under(&one.store, alive), &in_time, DraftState::Applied, &entry).await.unwrap();
    let before = rows(&two.store).await;
    let_die(&database, &two).await;
    let refused = moved(&*under(&one.store, alive), &late, DraftState::Applied, &entry).await;
    assert!(is_lost(&refused), "its life is over: {refused:?}");
    one.membership.beat().await.unwrap();
    let refused = moved(&*under(&one.store, alive), &late, DraftState::Applied, &entry).await;
    assert!(is_lost(&refused), "it lives again, and the work is of its last life: {refused:?}");
    assert_eq!(state(&two.store, &late).await, DraftState::Applying);
    assert_eq!(rows(&two.store).await, before, "a refused change leaves no audit row");
    // Whoever takes over settles it.
    let lease = Draft::lease_name(late.id);
    two.membership.own(&lease).await.unwrap().expect("its last holder is dead");
    let heir = under(&two.store, DraftCondition::Alive(life(&two.store)));
    moved(&*heir, &late, DraftState::Unknown, &entry).await.unwrap();
    assert_eq!(state(&one.store, &late).await, DraftState::Unknown);
    let chain = two.store.ledger.verify_audit(&late.key.person).await.unwrap();
    assert_eq!(chain, ChainState::Whole { rows: before as u64 + 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_did_not_begin_is_recorded_after_the_life_unless_somebody_took_over() {
    let (database, one, two) = two().await;
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let entry = audit_entry(&mut make, "anna");
    let own = DraftCondition::NotTakenOver(life(&one.store));
    let left = begun(&one, &mut make, &mut mint, &entry).await;
    let taken = begun(&one, &mut make, &mut mint, &entry).await;
    let_die(&database, &two).await;
    one.membership.beat().await.unwrap();
    two.membership.own(&Draft::lease_name(taken.id)).await.unwrap().expect("it is free");
    let refused = moved(&*under(&one.store, own), &taken, DraftState::Failed, &entry).await;
    assert!(is_lost(&refused), "{refused:?}");
    assert_eq!(state(&two.store, &taken).await, DraftState::Applying);
    moved(&*under(&one.store, own), &left, DraftState::Failed, &entry).await.unwrap();
    assert_eq!(state(&two.store, &left).await, DraftState::Failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_of_a_person_is_written_by_any_gateway() {
    let (database, one, two) = two().await;
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let (key, entry) = (make.key(), audit_entry(&mut make, "anna"));
    let draft = draft(&mut make, &mut mint, &key);
    two.store.drafts.put_draft(draft.clone(), &[], entry.clone()).await.unwrap();
    let_die(&database, &two).await;
    moved(&*one.store.drafts, &draft, DraftState::Rejected, &entry).await.unwrap();
    assert_eq!(state(&two.store, &draft).await, DraftState::Rejected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_a_past_life_proposes_nothing_and_writes_no_audit_row() {
    let (database, one, two) = two().await;
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let (key, entry) = (make.key(), audit_entry(&mut make, "anna"));
    let begun = life(&one.store);
    let proposing = under(&one.store, DraftCondition::Alive(begun));
    let in_time = draft(&mut make, &mut mint, &key);
    proposing.put_draft(in_time.clone(), &[], entry.clone()).await.unwrap();
    one.store.ledger.append_audit_of(begun, entry.clone()).await.unwrap();
    assert_eq!(rows(&two.store).await, 2);
    let_die(&database, &two).await;
    one.membership.beat().await.unwrap();
    let late = draft(&mut make, &mut mint, &key);
    assert!(is_lost(&proposing.put_draft(late.clone(), &[], entry.clone()).await));
    assert!(is_lost(&one.store.ledger.append_audit_of(begun, entry.clone()).await));
    assert_eq!(two.store.drafts.draft(&key.person, late.id).await.unwrap(), None);
    assert_eq!(rows(&two.store).await, 2);
    one.store.ledger.append_audit_of(life(&one.store), entry).await.unwrap();
    assert_eq!(rows(&two.store).await, 3);
}
