use std::collections::BTreeMap;

use async_trait::async_trait;
use onyx_storage::{
    AuditEntry, JobChange, JobLedger, JobRow, JobSlot, OwnedDuty, Settling, SlotClaim,
    SlotDelivery, SlotEnding, SlotKey, SlotState, StoreError,
};
use onyx_types::{JobId, PersonId, Timestamp};

use super::Op;
use super::ledger::MemoryLedger;

#[derive(Default)]
pub(super) struct JobTables {
    jobs: BTreeMap<(PersonId, JobId), JobRow>,
    slots: BTreeMap<(PersonId, JobId, Timestamp), JobSlot>,
}

fn place(key: &SlotKey) -> (PersonId, JobId, Timestamp) {
    (key.person.clone(), key.job.clone(), key.scheduled_at)
}

impl JobTables {
    fn change(&mut self, person: &PersonId, job: &JobId, change: JobChange) -> bool {
        let Some(row) = self.jobs.get_mut(&(person.clone(), job.clone())) else { return false };
        row.paused = change.paused.unwrap_or_else(|| row.paused.take());
        row.failures = change.failures.unwrap_or(row.failures);
        row.session = change.session.or(row.session);
        row.seen_at = change.seen_at.or(row.seen_at);
        row.settled = change.settled.unwrap_or(row.settled);
        true
    }

    fn add(&mut self, slot: JobSlot) -> bool {
        let place = place(&slot.key());
        if self.slots.contains_key(&place) {
            return false;
        }
        self.slots.insert(place, slot);
        true
    }

    fn settle(&mut self, settling: Settling) -> bool {
        let Settling { person, job, from, to, slots } = settling;
        let row = self.jobs.get_mut(&(person.clone(), job.clone()));
        let Some(row) = row.filter(|row| row.settled == from) else { return false };
        row.settled = to;
        if to < from {
            let left_out = |slot: &JobSlot| {
                let is_left_out = matches!(slot.state, SlotState::Skipped | SlotState::Missed);
                slot.person == person && slot.job == job && is_left_out
            };
            self.slots.retain(|_, slot| !(left_out(slot) && slot.scheduled_at > to));
            for slot in self.slots.values_mut().filter(|slot| left_out(slot)) {
                slot.last = slot.last.min(to);
            }
        }
        for slot in slots {
            let rest = Timestamp::from_millis(slot.scheduled_at.as_millis() + 1);
            if !self.add(slot.clone()) && slot.last > slot.scheduled_at {
                self.add(JobSlot { scheduled_at: rest, ..slot });
            }
        }
        true
    }

    fn claim(&mut self, claim: &SlotClaim) -> bool {
        let running = self.slots.values().filter(|slot| slot.state == SlotState::Running);
        let (mut all, mut same) = (0, false);
        for slot in running {
            all += 1;
            same |= slot.person == claim.slot.person && slot.job == claim.slot.job;
        }
        let slot = self.slots.get_mut(&place(&claim.slot));
        let Some(slot) = slot.filter(|slot| slot.state == SlotState::Queued) else { return false };
        if same || all >= claim.most {
            return false;
        }
        slot.state = SlotState::Running;
        slot.run = claim.run;
        slot.started_at = Some(claim.started_at);
        true
    }

    fn end(&mut self, ending: SlotEnding) -> bool {
        let slot = self.slots.get_mut(&place(&ending.slot));
        let Some(slot) = slot.filter(|slot| slot.state == ending.from) else { return false };
        slot.state = ending.state;
        slot.session = ending.session.or(slot.session);
        slot.ended_at = Some(ending.ended_at);
        slot.cost = ending.cost.or(slot.cost);
        slot.detail = ending.detail;
        slot.delivery = ending.delivery;
        self.change(&ending.slot.person, &ending.slot.job, ending.job);
        true
    }

    fn in_order(&self, wanted: impl Fn(&JobSlot) -> bool) -> Vec<JobSlot> {
        let mut found: Vec<JobSlot> =
            self.slots.values().filter(|slot| wanted(slot)).cloned().collect();
        found.sort_by(|a, b| {
            (a.scheduled_at, &a.person, &a.job).cmp(&(b.scheduled_at, &b.person, &b.job))
        });
        found
    }
}

#[async_trait]
impl JobLedger for MemoryLedger {
    async fn jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        self.with(Op::ReadLedger, |books| Ok(books.jobs.jobs.values().cloned().collect())).await
    }

    async fn job(&self, person: &PersonId, job: &JobId) -> Result<Option<JobRow>, StoreError> {
        let key = (person.clone(), job.clone());
        self.with(Op::ReadLedger, |books| Ok(books.jobs.jobs.get(&key).cloned())).await
    }

    async fn put_job(&self, row: JobRow, audit: AuditEntry) -> Result<(), StoreError> {
        self.with(Op::Job, |books| {
            books.jobs.jobs.insert((row.person.clone(), row.job.clone()), row);
            books.chain(audit);
            Ok(())
        })
        .await
    }

    async fn change_job(
        &self,
        person: &PersonId,
        job: &JobId,
        change: JobChange,
    ) -> Result<bool, StoreError> {
        self.with(Op::Job, |books| Ok(books.jobs.change(person, job, change))).await
    }

    async fn remove_job(
        &self,
        person: &PersonId,
        job: &JobId,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.with(Op::Job, |books| {
            books.jobs.jobs.remove(&(person.clone(), job.clone()));
            books.jobs.slots.retain(|_, slot| slot.person != *person || slot.job != *job);
            books.chain(audit);
            Ok(())
        })
        .await
    }

    async fn settle_slots(&self, settling: Settling) -> Result<bool, StoreError> {
        self.with(Op::Job, |books| Ok(books.jobs.settle(settling))).await
    }

    async fn add_slot(&self, slot: JobSlot) -> Result<bool, StoreError> {
        self.with(Op::Job, |books| Ok(books.jobs.add(slot))).await
    }

    async fn claim_slot(&self, claim: SlotClaim) -> Result<bool, StoreError> {
        self.with(Op::Job, |books| Ok(books.jobs.claim(&claim))).await
    }

    async fn end_slot(&self, ending: SlotEnding) -> Result<bool, StoreError> {
        self.with(Op::Job, |books| Ok(books.jobs.end(ending))).await
    }

    async fn open_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let is_open = |slot: &JobSlot| matches!(slot.state, SlotState::Queued | SlotState::Running);
        self.with(Op::ReadLedger, |books| Ok(books.jobs.in_order(is_open))).await
    }

    async fn undelivered_slots(&self) -> Result<Vec<JobSlot>, StoreError> {
        let is_pending = |slot: &JobSlot| slot.delivery == Some(SlotDelivery::Pending);
        self.with(Op::ReadLedger, |books| Ok(books.jobs.in_order(is_pending))).await
    }

    async fn set_delivery(
        &self,
        slot: &SlotKey,
        _by: &OwnedDuty,
        delivery: SlotDelivery,
        detail: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.with(Op::Job, |books| {
            let slot = books.jobs.slots.get_mut(&place(slot));
            let is_pending = |slot: &&mut JobSlot| slot.delivery == Some(SlotDelivery::Pending);
            let Some(slot) = slot.filter(is_pending) else { return Ok(false) };
            slot.delivery = Some(delivery);
            slot.detail = detail.map_or_else(|| slot.detail.clone(), str::to_owned);
            Ok(true)
        })
        .await
    }

    async fn slots(
        &self,
        person: &PersonId,
        job: &JobId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<JobSlot>, StoreError> {
        let wanted = |slot: &JobSlot| {
            let is_before = before.is_none_or(|before| slot.scheduled_at < before);
            slot.person == *person && slot.job == *job && is_before
        };
        self.with(Op::ReadLedger, |books| {
            let found = books.jobs.in_order(wanted).into_iter().rev();
            Ok(found.take(limit as usize).collect())
        })
        .await
    }

    async fn unseen_troubles(&self, person: &PersonId) -> Result<Vec<(JobId, u64)>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let mut counts: BTreeMap<JobId, u64> = BTreeMap::new();
            for slot in books.jobs.slots.values().filter(|slot| slot.person == *person) {
                let Some(row) = books.jobs.jobs.get(&(person.clone(), slot.job.clone())) else {
                    continue;
                };
                if slot.state.is_trouble() && slot.ended_at > row.seen_at {
                    *counts.entry(slot.job.clone()).or_default() += 1;
                }
            }
            Ok(counts.into_iter().collect())
        })
        .await
    }

    async fn spent_by_job(
        &self,
        person: &PersonId,
        job: &JobId,
        since: Timestamp,
    ) -> Result<f64, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let slots = books.jobs.slots.values().filter(|slot| {
                slot.person == *person && slot.job == *job && slot.started_at >= Some(since)
            });
            Ok(slots.filter_map(|slot| slot.cost).sum())
        })
        .await
    }
}
