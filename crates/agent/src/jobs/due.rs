//! Decides which slots of a job are due, and which of them run, wait or are skipped. It is a pure
//! function of the job, its timing and the time.

use std::time::Duration;

use onyx_storage::{JobRow, JobSlot, Settling, SlotDelivery, SlotState, SlotTrigger};
use onyx_types::{Hash, Timestamp};

use super::spec::{Misfire, Overlap, Timing};

/// One decision counts at most this many slots. Of more it knows only the first and the last.
const MOST_COUNTED: u32 = 5_000;
/// One decision queues at most this many slots; the next decision queues the others.
const MOST_QUEUED: usize = 1_000;

/// Whether the job is at work or has a slot that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobActivity {
    Idle,
    AtWork,
}

/// Several slots in a row.
struct Range {
    first: Timestamp,
    last: Timestamp,
    count: u32,
}

/// The slots that are to be settled by now; `None` if there are none.
pub fn due(timing: &Timing, job: &JobRow, busy: JobActivity, now: Timestamp) -> Option<Settling> {
    if now < job.settled {
        // The clock was set back. Slots that were left out beyond the new time come again when it
        // is reached.
        return Some(settling(job, now, Vec::new()));
    }
    let late_until = earlier(now, timing.grace);
    let mut decision = Decision { job, now, slots: Vec::new(), busy };
    let mut settled = job.settled;
    if let Some(late) = late_range(timing, job, late_until) {
        settled = match timing.misfire {
            Misfire::Skip => decision.leave_out(&late, SlotState::Missed, MISSED),
            Misfire::Once => decision.catch_up(&late, timing, job),
            Misfire::All => decision.queue_all(timing, job, late.last),
        };
        if settled < late_until && decision.slots.len() >= MOST_QUEUED {
            return Some(settling(job, settled, decision.slots));
        }
    }
    let queues = timing.overlap == Overlap::Queue
        || (timing.misfire == Misfire::All && !decision.slots.is_empty());
    while let Some(time) = next(timing, job, settled) {
        if fires_at(timing, job, time) > now || decision.slots.len() >= MOST_QUEUED {
            break;
        }
        settled = time;
        if queues || timing.overlap == Overlap::Replace {
            decision.queue(time);
        } else {
            decision.queue_if_idle(time);
        }
    }
    (settled > job.settled).then(|| settling(job, settled, decision.slots))
}

/// When the next slot fires.
pub(super) fn next_firing(timing: &Timing, job: &JobRow) -> Option<Timestamp> {
    next(timing, job, job.settled).map(|time| fires_at(timing, job, time))
}

const MISSED: &str = "Missed: nothing was running here at that time.";
const COALESCED: &str = "Skipped: one later run replaces all that were missed.";
const STILL_AT_WORK: &str = "Skipped: the run before was still working.";

struct Decision<'a> {
    job: &'a JobRow,
    now: Timestamp,
    slots: Vec<JobSlot>,
    busy: JobActivity,
}

impl Decision<'_> {
    fn queue(&mut self, time: Timestamp) {
        let (person, job) = (self.job.person.clone(), self.job.job.clone());
        self.slots.push(JobSlot::queued(person, job, time, SlotTrigger::Schedule));
        self.busy = JobActivity::AtWork;
    }

    fn queue_if_idle(&mut self, time: Timestamp) {
        match self.busy {
            JobActivity::Idle => self.queue(time),
            JobActivity::AtWork => {
                let range = Range { first: time, last: time, count: 1 };
                self.leave_out(&range, SlotState::Skipped, STILL_AT_WORK);
            }
        }
    }

    fn leave_out(&mut self, range: &Range, state: SlotState, why: &str) -> Timestamp {
        let (person, job) = (self.job.person.clone(), self.job.job.clone());
        self.slots.push(JobSlot {
            last: range.last,
            count: range.count,
            state,
            ended_at: Some(self.now),
            detail: why.to_owned(),
            // Missed slots are reported; slots that a rule skipped are not.
            delivery: (state == SlotState::Missed).then_some(SlotDelivery::Pending),
            ..JobSlot::queued(person, job, range.first, SlotTrigger::Schedule)
        });
        range.last
    }

    /// Queues only the last of the late slots, which stands for all of them.
    fn catch_up(&mut self, late: &Range, timing: &Timing, job: &JobRow) -> Timestamp {
        let last = late.last;
        if late.first < last {
            let before = last_before(timing, job, late.first, last);
            let range = Range { first: late.first, last: before, count: late.count - 1 };
            self.leave_out(&range, SlotState::Skipped, COALESCED);
        }
        if timing.overlap == Overlap::Skip {
            self.queue_if_idle(last);
        } else {
            self.queue(last);
        }
        last
    }

    fn queue_all(&mut self, timing: &Timing, job: &JobRow, until: Timestamp) -> Timestamp {
        let mut settled = job.settled;
        while let Some(time) = next(timing, job, settled) {
            if time > until || self.slots.len() >= MOST_QUEUED {
                break;
            }
            self.queue(time);
            settled = time;
        }
        settled
    }
}

/// The slots that are late by more than the grace.
fn late_range(timing: &Timing, job: &JobRow, until: Timestamp) -> Option<Range> {
    let is_late = |time: Timestamp| fires_at(timing, job, time) < until;
    let first = next(timing, job, job.settled).filter(|first| is_late(*first))?;
    let mut range = Range { first, last: first, count: 1 };
    while let Some(time) = next(timing, job, range.last).filter(|time| is_late(*time)) {
        range.last = time;
        range.count += 1;
        if range.count >= MOST_COUNTED {
            range.last = last_late(timing, job, range.last, until);
            break;
        }
    }
    Some(range)
}

/// The last late slot of very many. The search goes back in growing steps, because slots usually lie close together.
fn last_late(timing: &Timing, job: &JobRow, known: Timestamp, until: Timestamp) -> Timestamp {
    let mut back = Duration::from_secs(60 * 60) + timing.jitter;
    loop {
        let from = earlier(until, back).max(known);
        let mut last = None;
        let mut at = from;
        while let Some(time) = next(timing, job, at) {
            if fires_at(timing, job, time) >= until {
                break;
            }
            last = Some(time);
            at = time;
        }
        match last {
            Some(last) => return last,
            None if from == known => return known,
            None => back *= 8,
        }
    }
}

/// The slot before the last. Where there are too many slots to walk through, a moment just before
/// the last one stands for it.
fn last_before(timing: &Timing, job: &JobRow, first: Timestamp, last: Timestamp) -> Timestamp {
    let mut before = first;
    for _ in 0..MOST_COUNTED {
        match next(timing, job, before) {
            Some(time) if time < last => before = time,
            _ => return before,
        }
    }
    Timestamp::from_millis(last.as_millis() - 1)
}

fn next(timing: &Timing, job: &JobRow, after: Timestamp) -> Option<Timestamp> {
    let next = timing.schedule.next_after(job.anchor, after)?;
    timing.expires.is_none_or(|expires| next <= expires).then_some(next)
}

/// When the slot fires: its time plus a share of the jitter that is always the same for this slot.
pub fn fires_at(timing: &Timing, job: &JobRow, time: Timestamp) -> Timestamp {
    let most = u64::try_from(timing.jitter.as_millis()).unwrap_or(u64::MAX);
    if most == 0 {
        return time;
    }
    let (person, job) = (job.person.as_str(), job.job.as_str());
    let seed = Hash::of(format!("{person} {job} {}", time.as_millis()).as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&seed.as_bytes()[..8]);
    time.saturating_add(Duration::from_millis(u64::from_le_bytes(bytes) % most))
}

fn settling(job: &JobRow, to: Timestamp, slots: Vec<JobSlot>) -> Settling {
    Settling { person: job.person.clone(), job: job.job.clone(), from: job.settled, to, slots }
}

fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.as_millis().saturating_sub(millis))
}
