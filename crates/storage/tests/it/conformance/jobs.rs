use std::sync::Arc;

use onyx_storage::{
    JobChange, JobRow, JobSlot, Settling, SlotClaim, SlotDelivery, SlotEnding, SlotKey, SlotState,
    SlotTrigger,
};
use onyx_types::{Hash, JobId, PersonId, Timestamp};

use super::Backend;
use crate::support::{Maker, audit_entry};

fn anna() -> PersonId {
    "anna".parse().unwrap()
}

fn job(name: &str) -> JobId {
    name.parse().unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) fn row(name: &str) -> JobRow {
    JobRow {
        person: anna(),
        job: job(name),
        accepted_hash: Hash::of(b"text"),
        accepted_text: "text".into(),
        accepted_at: at(5),
        anchor: at(6),
        settled: at(100),
        paused: None,
        failures: 0,
        session: None,
        seen_at: None,
    }
}

pub(super) async fn put(on: &Backend, row: &JobRow) {
    let audit = audit_entry(&mut Maker::new(), "anna");
    on.jobs.put_job(row.clone(), audit).await.unwrap();
}

pub(super) fn queued(name: &str, millis: i64) -> JobSlot {
    JobSlot::queued(anna(), job(name), at(millis), SlotTrigger::Schedule)
}

fn left_out(name: &str, first: i64, last: i64, state: SlotState) -> JobSlot {
    let ended_at = Some(at(last));
    JobSlot { last: at(last), count: 3, state, ended_at, ..queued(name, first) }
}

fn settling(name: &str, from: i64, to: i64, slots: Vec<JobSlot>) -> Settling {
    Settling { person: anna(), job: job(name), from: at(from), to: at(to), slots }
}

fn claim(slot: &JobSlot, most: usize) -> SlotClaim {
    SlotClaim { slot: slot.key(), run: None, started_at: at(1_000), most }
}

fn ending(slot: &JobSlot, state: SlotState) -> SlotEnding {
    SlotEnding {
        slot: slot.key(),
        from: SlotState::Running,
        state,
        session: None,
        ended_at: at(2_000),
        cost: Some(0.5),
        detail: "done".into(),
        delivery: Some(SlotDelivery::Pending),
        job: JobChange::default(),
    }
}

async fn history(on: &Backend, name: &str) -> Vec<(i64, i64, SlotState)> {
    let slots = on.jobs.slots(&anna(), &job(name), None, 100).await.unwrap();
    let told = slots.iter().map(|slot| (slot.scheduled_at, slot.last, slot.state));
    told.map(|(first, last, state)| (first.as_millis(), last.as_millis(), state)).collect()
}

pub(crate) async fn a_job_comes_back_as_it_was_put_and_goes_whole(on: Backend) {
    let mut make = Maker::new();
    let full = JobRow {
        paused: Some("three failures in a row".into()),
        failures: 3,
        session: Some(make.key().session),
        seen_at: Some(at(9)),
        ..row("action:tidy")
    };
    put(&on, &row("morning")).await;
    put(&on, &full).await;
    assert_eq!(on.jobs.jobs().await.unwrap(), [full.clone(), row("morning")]);
    assert_eq!(on.jobs.job(&anna(), &full.job).await.unwrap(), Some(full.clone()));
    let bert: PersonId = "bert".parse().unwrap();
    assert_eq!(on.jobs.job(&bert, &full.job).await.unwrap(), None);
    on.jobs.add_slot(queued("morning", 3)).await.unwrap();
    on.jobs.remove_job(&anna(), &job("morning"), audit_entry(&mut make, "anna")).await.unwrap();
    assert_eq!(on.jobs.jobs().await.unwrap(), [full]);
    assert_eq!(history(&on, "morning").await, []);
}

pub(crate) async fn a_change_of_a_job_touches_only_what_it_names(on: Backend) {
    put(&on, &row("morning")).await;
    let change = async |change| on.jobs.change_job(&anna(), &job("morning"), change).await.unwrap();
    let paused = Some(Some("why".to_owned()));
    assert!(change(JobChange { paused, failures: Some(2), ..JobChange::default() }).await);
    assert!(change(JobChange { seen_at: Some(at(7)), ..JobChange::default() }).await);
    let expected =
        JobRow { paused: Some("why".into()), failures: 2, seen_at: Some(at(7)), ..row("morning") };
    assert_eq!(on.jobs.job(&anna(), &job("morning")).await.unwrap(), Some(expected.clone()));
    let on_again = JobChange { paused: Some(None), settled: Some(at(200)), ..JobChange::default() };
    assert!(change(on_again).await);
    let expected = JobRow { paused: None, settled: at(200), ..expected };
    assert_eq!(on.jobs.job(&anna(), &job("morning")).await.unwrap(), Some(expected));
    assert!(!on.jobs.change_job(&anna(), &job("other"), JobChange::default()).await.unwrap());
}

pub(crate) async fn of_many_who_settle_one_does(on: Backend) {
    put(&on, &row("morning")).await;
    let mut tries = tokio::task::JoinSet::new();
    for one in 0..8 {
        let jobs = Arc::clone(&on.jobs);
        let settling = settling("morning", 100, 300, vec![queued("morning", 150 + one)]);
        tries.spawn(async move { jobs.settle_slots(settling).await.unwrap() });
    }
    assert_eq!(tries.join_all().await.into_iter().filter(|won| *won).count(), 1);
    assert_eq!(history(&on, "morning").await.len(), 1);
    assert_eq!(on.jobs.job(&anna(), &job("morning")).await.unwrap().unwrap().settled, at(300));
    assert!(!on.jobs.settle_slots(settling("other", 100, 300, vec![])).await.unwrap());
}

pub(crate) async fn what_was_left_out_comes_again_when_the_clock_was_set_back(on: Backend) {
    put(&on, &row("morning")).await;
    let slots = vec![
        left_out("morning", 110, 180, SlotState::Missed),
        queued("morning", 200),
        left_out("morning", 210, 290, SlotState::Skipped),
        queued("morning", 300),
    ];
    assert!(on.jobs.settle_slots(settling("morning", 100, 300, slots)).await.unwrap());
    assert!(on.jobs.settle_slots(settling("morning", 300, 150, vec![])).await.unwrap());
    let kept = [
        (300, 300, SlotState::Queued),
        (200, 200, SlotState::Queued),
        (110, 150, SlotState::Missed),
    ];
    assert_eq!(history(&on, "morning").await, kept);
    // A slot that was fired is not fired again, and times after it that were left out still get
    // their row.
    let again = vec![
        queued("morning", 160),
        queued("morning", 200),
        left_out("morning", 200, 240, SlotState::Missed),
    ];
    assert!(on.jobs.settle_slots(settling("morning", 150, 250, again)).await.unwrap());
    let expected = [
        (300, 300, SlotState::Queued),
        (201, 240, SlotState::Missed),
        (200, 200, SlotState::Queued),
        (160, 160, SlotState::Queued),
        (110, 150, SlotState::Missed),
    ];
    assert_eq!(history(&on, "morning").await, expected);
}

pub(crate) async fn of_many_who_claim_a_slot_one_gets_it(on: Backend) {
    put(&on, &row("morning")).await;
    let slot = queued("morning", 150);
    on.jobs.add_slot(slot.clone()).await.unwrap();
    assert!(!on.jobs.add_slot(slot.clone()).await.unwrap());
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (jobs, claim) = (Arc::clone(&on.jobs), claim(&slot, 4));
        tries.spawn(async move { jobs.claim_slot(claim).await.unwrap() });
    }
    assert_eq!(tries.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

pub(crate) async fn a_claim_keeps_to_one_run_a_job_and_so_many_in_all(on: Backend) {
    let slots = [queued("a", 1), queued("a", 2), queued("b", 3), queued("c", 4)];
    for slot in &slots {
        on.jobs.add_slot(slot.clone()).await.unwrap();
    }
    let claims = async |slot| on.jobs.claim_slot(claim(slot, 2)).await.unwrap();
    assert!(claims(&slots[0]).await);
    assert!(!claims(&slots[1]).await, "another of the job runs");
    assert!(claims(&slots[2]).await);
    assert!(!claims(&slots[3]).await, "two run");
    assert!(on.jobs.end_slot(ending(&slots[0], SlotState::Done)).await.unwrap());
    assert!(claims(&slots[1]).await);
    let open = on.jobs.open_slots().await.unwrap();
    let open: Vec<_> = open.iter().map(|slot| (slot.job.as_str(), slot.state)).collect();
    let (running, waiting) = (SlotState::Running, SlotState::Queued);
    assert_eq!(open, [("a", running), ("b", running), ("c", waiting)]);
}

pub(crate) async fn a_slot_ends_once_and_changes_its_job(on: Backend) {
    let mut make = Maker::new();
    put(&on, &row("morning")).await;
    let (slot, session) = (queued("morning", 150), make.key().session);
    on.jobs.add_slot(slot.clone()).await.unwrap();
    assert!(!on.jobs.end_slot(ending(&slot, SlotState::Done)).await.unwrap(), "it does not run");
    let run = Some(make.run());
    assert!(on.jobs.claim_slot(SlotClaim { run, ..claim(&slot, 1) }).await.unwrap());
    let job = JobChange { failures: Some(1), ..JobChange::default() };
    let failed = SlotEnding { session: Some(session), job, ..ending(&slot, SlotState::Failed) };
    assert!(on.jobs.end_slot(failed.clone()).await.unwrap());
    let again = JobChange { failures: Some(9), ..JobChange::default() };
    assert!(!on.jobs.end_slot(SlotEnding { job: again, ..failed }).await.unwrap());
    let expected = JobSlot {
        state: SlotState::Failed,
        run,
        session: Some(session),
        started_at: Some(at(1_000)),
        ended_at: Some(at(2_000)),
        cost: Some(0.5),
        detail: "done".into(),
        delivery: Some(SlotDelivery::Pending),
        ..slot.clone()
    };
    assert_eq!(on.jobs.undelivered_slots().await.unwrap(), std::slice::from_ref(&expected));
    let owned = on.duties.own(&slot.key().delivery_duty()).await.unwrap().unwrap();
    let set = async |delivery, detail| {
        on.jobs.set_delivery(&slot.key(), &owned, delivery, Some(detail)).await.unwrap()
    };
    assert!(set(SlotDelivery::Delivered, "told").await);
    assert!(!set(SlotDelivery::Failed, "not told").await, "it has ended");
    assert_eq!(on.jobs.undelivered_slots().await.unwrap(), []);
    let told =
        JobSlot { delivery: Some(SlotDelivery::Delivered), detail: "told".into(), ..expected };
    assert_eq!(on.jobs.slot(&told.key()).await.unwrap(), Some(told.clone()));
    let other = SlotKey { scheduled_at: at(149), ..told.key() };
    assert_eq!(on.jobs.slot(&other).await.unwrap(), None);
    assert_eq!(on.jobs.slots(&anna(), &told.job, None, 9).await.unwrap(), [told]);
    assert_eq!(on.jobs.job(&anna(), &slot.job).await.unwrap().unwrap().failures, 1);
    assert_eq!(on.jobs.spent_by_job(&anna(), &slot.job, at(1_000)).await.unwrap(), 0.5);
    assert_eq!(on.jobs.spent_by_job(&anna(), &slot.job, at(1_001)).await.unwrap(), 0.0);
}

pub(crate) async fn slots_are_paged_and_troubles_counted_until_they_are_seen(on: Backend) {
    put(&on, &row("morning")).await;
    for one in 0..5 {
        on.jobs
            .add_slot(left_out("morning", one * 10, one * 10 + 5, SlotState::Missed))
            .await
            .unwrap();
    }
    on.jobs.add_slot(left_out("morning", 90, 95, SlotState::Skipped)).await.unwrap();
    let page = on.jobs.slots(&anna(), &job("morning"), Some(at(40)), 2).await.unwrap();
    let times: Vec<_> = page.iter().map(|slot| slot.scheduled_at.as_millis()).collect();
    assert_eq!(times, [30, 20]);
    let unseen = async || on.jobs.unseen_troubles(&anna()).await.unwrap();
    assert_eq!(unseen().await, [(job("morning"), 5)]);
    let seen = JobChange { seen_at: Some(at(25)), ..JobChange::default() };
    on.jobs.change_job(&anna(), &job("morning"), seen).await.unwrap();
    assert_eq!(unseen().await, [(job("morning"), 2)]);
}
