//! Finds due slots, records them in the ledger, and starts the slots that wait there.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onyx_storage::{JobChange, JobRow, JobSlot, SlotClaim, SlotEnding, SlotKey, SlotState};
use onyx_types::{Actor, Cancel, Fault, Hash, JobId, JobKind, PersonId, RunStatus, Timestamp};

use super::due::{JobActivity, due, next_firing};
use super::listing::{AllJobs, Job};
use super::perform::{ClaimedSlot, SlotOutcome};
use super::spec::{Overlap, Work};
use super::{JobsCore, deliver, perform};

/// The longest time between two looks. It limits how late a jump of the clock, a machine that slept
/// or an edited file is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(15);

/// How long the worker waits after a look that failed.
const SLEEP_AFTER_FAULT: Duration = Duration::from_secs(5);

const CUT_OFF: &str = "Interrupted: the server ended while it ran. It is not repeated.";
const NOT_ANY_MORE: &str = "Skipped: the job was changed, paused or deleted meanwhile.";
const REPLACED: &str = "Stopped: the next time of the job took its place.";

pub(super) struct Worker {
    shared: Arc<JobsCore>,
}

impl Worker {
    pub(super) fn new(shared: Arc<JobsCore>) -> Self {
        Self { shared }
    }

    pub(super) async fn tend(&self, stop: &Cancel) {
        loop {
            let nap = match self.tick().await {
                Ok(jobs) => self.until_next(&jobs),
                Err(fault) => {
                    tracing::warn!(%fault, "due jobs could not be looked up; trying again");
                    SLEEP_AFTER_FAULT
                }
            };
            tokio::select! {
                // The runs at work are drained by the `runs` room, so nothing is left to do here.
                () = stop.cancelled() => return,
                () = self.shared.wake.notified() => {}
                () = self.shared.setup.clock.sleep(nap) => {}
            }
        }
    }

    /// Settles due slots and starts those that wait. Returns the jobs as they are then.
    pub(super) async fn tick(&self) -> Result<AllJobs, Fault> {
        // Another gateway may have died while it fired a slot.
        self.recover().await?;
        let mut jobs = self.all_jobs().await?;
        if self.accept_system_jobs(&jobs).await? {
            jobs = self.all_jobs().await?;
        }
        let open = self.shared.setup.jobs.open_slots().await?;
        let busy: BTreeSet<(PersonId, JobId)> =
            open.iter().map(|slot| (slot.person.clone(), slot.job.clone())).collect();
        let now = self.shared.setup.clock.wall();
        for (key, job) in &mut jobs {
            let at_work = if busy.contains(key) { JobActivity::AtWork } else { JobActivity::Idle };
            self.settle(job, at_work, now).await?;
        }
        self.start_waiting(&jobs).await?;
        if let Err(fault) = deliver::deliver_pending(&self.shared).await {
            tracing::warn!(%fault, "results of jobs could not be delivered; trying again");
        }
        Ok(jobs)
    }

    async fn all_jobs(&self) -> Result<AllJobs, Fault> {
        let mut people: BTreeSet<PersonId> =
            self.shared.setup.files.people().await?.into_iter().collect();
        // In a new home the owner has no folder yet, but the config's jobs already belong to the
        // owner.
        people.extend(self.shared.settings().system.into_iter().map(|job| job.owner));
        self.shared.jobs_of_people(people.into_iter().collect()).await
    }

    /// Accepts the config's jobs, because the person who edits the config agrees to them. Returns
    /// whether there was one to accept.
    async fn accept_system_jobs(&self, jobs: &AllJobs) -> Result<bool, Fault> {
        let mut has_accepted = false;
        for ((person, id), job) in jobs.iter().filter(|(_, job)| job.kind == JobKind::System) {
            let accepted = job.row.as_ref().map(|row| row.accepted_hash);
            if accepted != Some(Hash::of(job.text.as_bytes())) {
                let before = job.row.clone();
                let by = Actor::Config;
                self.shared.put_accepted(person, id, &job.text, before, by).await?;
                has_accepted = true;
            }
        }
        Ok(has_accepted)
    }

    async fn settle(&self, job: &mut Job, busy: JobActivity, now: Timestamp) -> Result<(), Fault> {
        let is_active = job.is_active();
        let (Ok(spec), Some(row)) = (&job.spec, &mut job.row) else { return Ok(()) };
        if !is_active {
            return Ok(());
        }
        let Some(settling) = due(&spec.timing, row, busy, now) else { return Ok(()) };
        let settled = settling.to;
        // `false` means that another process settled these slots first, and its decision counts. The
        // row is then out of date, so the next look comes at once.
        if self.shared.setup.jobs.settle_slots(settling).await? {
            row.settled = settled;
            self.shared.tell(&row.person, &row.job, None);
        }
        Ok(())
    }

    /// Starts queued slots, oldest first, as long as fewer than the maximum are at work.
    async fn start_waiting(&self, jobs: &AllJobs) -> Result<(), Fault> {
        let open = self.shared.setup.jobs.open_slots().await?;
        self.replace_older(jobs, &open).await?;
        for slot in open.into_iter().filter(|slot| slot.state == SlotState::Queued) {
            let job = jobs.get(&(slot.person.clone(), slot.job.clone()));
            match job.filter(|job| may_start(job, &slot)) {
                Some(job) => self.start(job, slot).await?,
                None => self.start_or_drop(slot).await?,
            }
        }
        Ok(())
    }

    /// Looks once more at a job that may not start its slot: it may have been accepted since the jobs
    /// were read. The slot waits while the job cannot be read.
    async fn start_or_drop(&self, slot: JobSlot) -> Result<(), Fault> {
        match self.shared.job_of(&slot.person, &slot.job).await {
            Ok(Some(job)) if may_start(&job, &slot) => self.start(&job, slot).await,
            Ok(_) => self.drop_slot(&slot, NOT_ANY_MORE, SlotState::Skipped).await,
            Err(fault) => {
                tracing::warn!(job = %slot.job, %fault, "a due job waits until it can be read");
                Ok(())
            }
        }
    }

    /// For jobs whose later slots replace earlier ones, keeps only the last waiting slot and stops
    /// the running slot in favour of that one.
    async fn replace_older(&self, jobs: &AllJobs, open: &[JobSlot]) -> Result<(), Fault> {
        for (key, job) in jobs {
            let replaces = job.spec.as_ref().is_ok_and(|it| it.timing.overlap == Overlap::Replace);
            if !replaces {
                continue;
            }
            let is_own = |slot: &&JobSlot| slot.person == key.0 && slot.job == key.1;
            let own: Vec<&JobSlot> = open.iter().filter(is_own).collect();
            let is_waiting = |slot: &&&JobSlot| slot.state == SlotState::Queued;
            let waiting: Vec<&&JobSlot> = own.iter().filter(is_waiting).collect();
            let Some((_, older)) = waiting.split_last() else { continue };
            for slot in older {
                self.drop_slot(slot, REPLACED, SlotState::Replaced).await?;
            }
            let at_work = self.shared.at_work.lock().unwrap_or_else(PoisonError::into_inner);
            for slot in own.iter().filter(|slot| slot.state == SlotState::Running) {
                if let Some(cancel) = at_work.get(&slot.key()) {
                    cancel.cancel();
                }
            }
        }
        Ok(())
    }

    async fn drop_slot(&self, slot: &JobSlot, why: &str, state: SlotState) -> Result<(), Fault> {
        let ending = SlotEnding {
            slot: slot.key(),
            from: SlotState::Queued,
            state,
            session: None,
            ended_at: self.shared.setup.clock.wall(),
            cost: None,
            detail: why.to_owned(),
            delivery: None,
            job: JobChange::default(),
        };
        self.shared.setup.jobs.end_slot(ending).await?;
        Ok(())
    }

    /// Claims the slot and then fires it in a task. A slot that another process claimed is left
    /// alone.
    async fn start(&self, job: &Job, slot: JobSlot) -> Result<(), Fault> {
        let (Ok(spec), Some(row)) = (&job.spec, &job.row) else { return Ok(()) };
        let now = self.shared.setup.clock.wall();
        let run = match &spec.work {
            Work::System(system) if !perform::asks_model(system) => None,
            _ => Some(self.shared.setup.ids.mint().run(now)),
        };
        let claim = SlotClaim {
            slot: slot.key(),
            run,
            started_at: now,
            most: self.shared.settings().max_at_once,
        };
        if !self.shared.setup.jobs.claim_slot(claim).await? {
            return Ok(());
        }
        let firing = ClaimedSlot {
            spec: spec.clone(),
            row: row.clone(),
            slot: JobSlot { run, started_at: Some(now), state: SlotState::Running, ..slot },
            cancel: Cancel::new(),
        };
        self.at_work(firing.slot.key(), firing.cancel.clone());
        self.shared.tell(&job_person(row), &row.job, None);
        tokio::spawn(fire(Arc::clone(&self.shared), firing));
        Ok(())
    }

    fn at_work(&self, slot: SlotKey, cancel: Cancel) {
        self.shared.at_work.lock().unwrap_or_else(PoisonError::into_inner).insert(slot, cancel);
    }

    /// Ends slots whose process died while it fired them.
    pub(super) async fn recover(&self) -> Result<usize, Fault> {
        let mut left = self.shared.setup.jobs.left_slots().await?;
        {
            let at_work = self.shared.at_work.lock().unwrap_or_else(PoisonError::into_inner);
            left.retain(|slot| !at_work.contains_key(&slot.key()));
        }
        let mut ended = 0;
        for slot in left {
            let run = match slot.run {
                Some(run) => self.shared.setup.ledger.run(&slot.person, run).await?,
                None => None,
            };
            // The process may have died between recording the run's end and the slot's.
            let is_done = run.as_ref().is_some_and(|row| row.status == Some(RunStatus::Done));
            let (state, detail) = if is_done {
                (SlotState::Done, "It had ended when the server did.")
            } else {
                (SlotState::Interrupted, CUT_OFF)
            };
            let ending = SlotEnding {
                slot: slot.key(),
                from: SlotState::Running,
                state,
                session: run.map(|row| row.key.session),
                ended_at: self.shared.setup.clock.wall(),
                cost: None,
                detail: detail.to_owned(),
                delivery: Some(onyx_storage::SlotDelivery::Pending),
                job: JobChange::default(),
            };
            ended += usize::from(self.shared.setup.jobs.end_slot(ending).await?);
        }
        Ok(ended)
    }

    /// How long until the next slot fires.
    fn until_next(&self, jobs: &AllJobs) -> Duration {
        let now = self.shared.setup.clock.wall();
        let mut soonest = LONGEST_SLEEP;
        for job in jobs.values().filter(|job| job.is_active()) {
            let (Ok(spec), Some(row)) = (&job.spec, &job.row) else { continue };
            if let Some(at) = next_firing(&spec.timing, row) {
                let wait = (at.as_millis() - now.as_millis()).max(0).unsigned_abs();
                soonest = soonest.min(Duration::from_millis(wait));
            }
        }
        // A slot that is due but cannot be settled must not make the worker spin.
        soonest.max(Duration::from_millis(20))
    }
}

fn job_person(row: &JobRow) -> PersonId {
    row.person.clone()
}

/// Whether a slot that waited may still start: its job may have been changed or disabled meanwhile.
fn may_start(job: &Job, slot: &JobSlot) -> bool {
    let asked_for = slot.trigger == onyx_storage::SlotTrigger::Person;
    let is_accepted = job.row.as_ref().is_some_and(|row| row.accepted_hash == job.hash);
    is_accepted && job.spec.is_ok() && (asked_for || job.is_active())
}

/// Fires one slot to its end. The end is written even if the firing panics.
async fn fire(shared: Arc<JobsCore>, firing: ClaimedSlot) {
    use futures::FutureExt as _;
    let key = firing.slot.key();
    let work = std::panic::AssertUnwindSafe(perform::perform(&shared, &firing)).catch_unwind();
    let outcome = work.await.unwrap_or_else(|_| {
        tracing::error!(job = %key.job, "a job's firing panicked");
        SlotOutcome::failed(Fault::plain(onyx_types::ErrorCode::Internal).message)
    });
    let outcome = if firing.cancel.is_cancelled() { outcome.replaced(REPLACED) } else { outcome };
    if let Err(fault) = perform::finish(&shared, &firing, outcome).await {
        // The slot stays marked as running until the next start records its outcome.
        tracing::error!(job = %key.job, %fault, "the outcome of a job could not be saved");
    }
    shared.at_work.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    shared.tell(&key.person, &key.job, None);
    // The worker may start another slot in the place of this one.
    shared.wake.notify_one();
}
