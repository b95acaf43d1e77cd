//! Ten years of slots in fifty zones, with restarts, sleeps and clock jumps, against croner.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use onyx_agent::{JobActivity, Misfire, Overlap, Rule, Schedule, Timing, due};
use onyx_storage::{
    AuditEntry, JobChange, JobLedger, JobRow, JobSlot, SlotClaim, SlotEnding, SlotKey, SlotState,
};
use onyx_test_support::{LeasePlace, ManualClock, MemoryDisk, OpenTurnstile};
use onyx_types::{Actor, Clock as _, Hash, JobId, PersonId, Timestamp, Zone};

const ZONES: [&str; 50] = [
    "Africa/Abidjan",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/Johannesburg",
    "Africa/Lagos",
    "America/Anchorage",
    "America/Argentina/Buenos_Aires",
    "America/Asuncion",
    "America/Bogota",
    "America/Caracas",
    "America/Chicago",
    "America/Denver",
    "America/Halifax",
    "America/Havana",
    "America/Los_Angeles",
    "America/Mexico_City",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Dhaka",
    "Asia/Gaza",
    "Asia/Jerusalem",
    "Asia/Kabul",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Atlantic/Azores",
    "Australia/Adelaide",
    "Australia/Eucla",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/Lisbon",
    "Europe/London",
    "Europe/Moscow",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
    "Pacific/Norfolk",
    "UTC",
];
const CRONS: [&str; 7] = [
    "30 2 * * *",
    "0 8 * * MON-FRI",
    "15 0 1 * *",
    "0 0 * * SUN",
    "30 1,2,3 * * *",
    "59 23 L * *",
    "45 */6 * * *",
];
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// Each year gets a ledger of its own, because the ledger in memory becomes slower with each row.
const YEARS: std::ops::Range<u64> = 2024..2034;

fn begin_of(year: u64) -> Timestamp {
    format!("{year}-01-01T00:00:00Z").parse().unwrap()
}

/// A random number generator with fixed seeds.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

struct World {
    clock: Arc<ManualClock>,
    ledger: Arc<dyn JobLedger>,
    timing: Timing,
    person: PersonId,
    job: JobId,
    begin: Timestamp,
    /// How often each slot was fired.
    fired: BTreeMap<Timestamp, u32>,
    chance: Chance,
}

impl World {
    async fn new(zone: &str, seed: u64, year: u64) -> Self {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let begin = begin_of(year);
        let clock = Arc::new(ManualClock::at(begin));
        let store =
            MemoryDisk::new().open(clock.clone(), Arc::new(OpenTurnstile), LeasePlace::Process);
        let zone = Zone::named(zone).unwrap();
        let rule = Rule::cron(chance.one(&CRONS), &zone, begin).unwrap();
        let timing = Timing {
            schedule: Schedule { rule, zone },
            jitter: Duration::from_secs(chance.one(&[0, 0, 600])),
            misfire: chance.one(&[Misfire::Skip, Misfire::Once, Misfire::All]),
            grace: Duration::from_secs(chance.one(&[60, 3_600])),
            overlap: chance.one(&[Overlap::Skip, Overlap::Queue, Overlap::Replace]),
            expires: None,
        };
        let (person, job): (PersonId, JobId) = ("ana".parse().unwrap(), "job".parse().unwrap());
        let row = JobRow {
            person: person.clone(),
            job: job.clone(),
            accepted_hash: Hash::ZERO,
            accepted_text: String::new(),
            accepted_at: begin,
            anchor: begin,
            settled: begin,
            paused: None,
            failures: 0,
            session: None,
            seen_at: None,
        };
        store.jobs.put_job(row, audit(&person, begin)).await.unwrap();
        let ledger = store.jobs;
        // The zone decides the rules of a job in all years; the other events differ from year to
        // year.
        let chance = Chance(chance.next() ^ year.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        Self { clock, ledger, timing, person, job, begin, fired: BTreeMap::new(), chance }
    }

    /// Does what a process does in a tick: settles slots, then fires those that wait, oldest first.
    async fn look(&mut self) {
        let row = self.ledger.job(&self.person, &self.job).await.unwrap().unwrap();
        let open = self.ledger.open_slots().await.unwrap();
        let busy = if open.is_empty() { JobActivity::Idle } else { JobActivity::AtWork };
        if let Some(settling) = due(&self.timing, &row, busy, self.clock.wall()) {
            // Another gateway may have settled the same slots first.
            let twice = settling.clone();
            assert!(self.ledger.settle_slots(settling).await.unwrap());
            assert!(!self.ledger.settle_slots(twice).await.unwrap());
        }
        for slot in self.ledger.open_slots().await.unwrap() {
            let ends = slot.state == SlotState::Running
                || (self.claim(&slot.key()).await && self.chance.below(8) > 0);
            if ends {
                self.end(&slot).await;
            }
        }
    }

    async fn claim(&mut self, slot: &SlotKey) -> bool {
        let started_at = self.clock.wall();
        let claim = SlotClaim { slot: slot.clone(), run: None, started_at, most: 4 };
        let claimed = self.ledger.claim_slot(claim).await.unwrap();
        if claimed {
            *self.fired.entry(slot.scheduled_at).or_default() += 1;
        }
        claimed
    }

    async fn end(&self, slot: &JobSlot) {
        let ending = SlotEnding {
            slot: slot.key(),
            from: SlotState::Running,
            // A process that died leaves its slot to the next process, which ends it.
            state: SlotState::Done,
            session: None,
            ended_at: self.clock.wall(),
            cost: None,
            detail: String::new(),
            delivery: None,
            job: JobChange::default(),
        };
        self.ledger.end_slot(ending).await.unwrap();
    }

    fn pass_time(&mut self) {
        let now = self.clock.wall().as_millis();
        match self.chance.below(20) {
            // The clock is set back, by a second or by weeks.
            0 => {
                let back = self.chance.one(&[1_000, 3_600_000, DAY, 20 * DAY]);
                let to = (now - back).max(self.begin.as_millis());
                self.clock.jump_wall_to(Timestamp::from_millis(to));
            }
            // The clock is set too far forward and corrected later.
            1 => self.clock.jump_wall_to(Timestamp::from_millis(now + 30 * DAY)),
            // The machine sleeps for some days.
            2..5 => self.advance(self_days(&mut Chance(now.unsigned_abs() | 1), 14)),
            // Time passes, and the process looks when a slot is due or a little later.
            _ => {
                let next = self.timing.schedule.next_after(self.clock.wall(), self.clock.wall());
                let next = next.map_or(now + DAY, Timestamp::as_millis);
                let late = self.chance.one(&[0, 5_000, 30_000, 7_200_000]);
                self.advance(Duration::from_millis((next - now + late).unsigned_abs()));
            }
        }
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Checks the slots and returns their number.
    async fn check(&self) -> usize {
        let end = self.clock.wall();
        let slots = self.ledger.slots(&self.person, &self.job, None, u32::MAX).await.unwrap();
        let left_out: Vec<(Timestamp, Timestamp)> = slots
            .iter()
            .filter(|slot| matches!(slot.state, SlotState::Skipped | SlotState::Missed))
            .map(|slot| (slot.scheduled_at, slot.last))
            .collect();
        let waiting: BTreeSet<Timestamp> = slots
            .iter()
            .filter(|slot| slot.state == SlotState::Queued)
            .map(|slot| slot.scheduled_at)
            .collect();
        let twice: Vec<_> = self.fired.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "fired twice: {twice:?} in {:?}", self.timing);
        let (mut last, mut count) = (self.begin, 0);
        while let Some(time) = self.timing.schedule.next_after(self.begin, last) {
            if time > Timestamp::from_millis(end.as_millis() - DAY) {
                break;
            }
            let is_covered = left_out.iter().any(|(first, last)| *first <= time && time <= *last);
            let is_known = self.fired.contains_key(&time) || is_covered || waiting.contains(&time);
            assert!(is_known, "{time} was forgotten: {:?}", self.timing);
            (last, count) = (time, count + 1);
        }
        count
    }
}

fn self_days(chance: &mut Chance, most: u64) -> Duration {
    Duration::from_millis(chance.below(most * DAY.unsigned_abs()))
}

fn audit(person: &PersonId, ts: Timestamp) -> AuditEntry {
    AuditEntry {
        ts,
        person: person.clone(),
        actor: Actor::Person("ana".parse().unwrap()),
        agent: None,
        session: None,
        run: None,
        tool: None,
        effect: None,
        decision: None,
        diff_summary: String::new(),
        result: String::new(),
    }
}

async fn a_year(zone: &str, seed: u64, year: u64) -> usize {
    let mut world = World::new(zone, seed, year).await;
    let end = begin_of(year + 1);
    let mut looks = 0;
    while world.clock.wall() < end {
        world.pass_time();
        world.look().await;
        looks += 1;
        assert!(looks < 100_000, "time does not pass");
    }
    // The last tick, long after all slots.
    world.clock.advance(Duration::from_secs(48 * 60 * 60));
    world.look().await;
    world.check().await
}

#[tokio::test]
async fn over_ten_years_in_fifty_zones_no_slot_fires_twice_and_none_is_forgotten() {
    for (number, zone) in ZONES.iter().enumerate() {
        let mut count = 0;
        for year in YEARS {
            count += a_year(zone, number as u64 + 1, year).await;
        }
        assert!(count > 100, "{count} slots are few for ten years in {zone}");
    }
}

/// Our cron times equal croner's: in a gap the moment just after it, in an overlap once.
#[test]
fn the_times_of_a_cron_are_croners_own() {
    use std::str::FromStr as _;
    for zone in ZONES {
        for text in CRONS {
            let zone = Zone::named(zone).unwrap();
            let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let rule = Rule::cron(text, &zone, begin).unwrap();
            let ours = Schedule { rule, zone: zone.clone() }.next_times(begin, begin, 400);
            let start = jiff::Timestamp::from_millisecond(begin.as_millis()).unwrap();
            let start = start.to_zoned(zone.time_zone().clone());
            let cron = croner::Cron::from_str(text).unwrap();
            let theirs: Vec<_> = cron
                .iter_after(start)
                .take(400)
                .map(|at| Timestamp::from_millis(at.timestamp().as_millisecond()))
                .collect();
            assert_eq!(ours, theirs, "{text} in {zone}");
        }
    }
}

#[test]
fn weeks_keep_their_time_of_day_when_clocks_change() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let first = Rule::moment("2026-10-13T09:00", &zone).unwrap();
    let period = onyx_agent::Period::Days(14);
    let schedule = Schedule { rule: Rule::Every { period, from: Some(first) }, zone: zone.clone() };
    let times = schedule.next_times(first, Timestamp::from_millis(first.as_millis() - 1), 3);
    let told: Vec<String> = times.iter().map(|at| zone.stamp(*at)).collect();
    assert_eq!(
        told,
        ["2026-10-13T09:00+02:00", "2026-10-27T09:00+01:00", "2026-11-10T09:00+01:00"]
    );
}

#[test]
fn a_moment_in_a_gap_is_just_after_it() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let at = Rule::moment("2026-03-29T02:30", &zone).unwrap();
    assert_eq!(zone.stamp(at), "2026-03-29T03:00+02:00");
    let twice = Rule::moment("2026-10-25T02:30", &zone).unwrap();
    assert_eq!(zone.stamp(twice), "2026-10-25T02:30+02:00");
}
