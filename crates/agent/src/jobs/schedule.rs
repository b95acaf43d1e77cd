//! The times of a job: by cron, by a period, or one moment, each in a time zone. All functions are
//! pure.

use std::fmt;
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span};
use onyx_types::{Timestamp, Zone};

/// A rule that gives the times of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub rule: Rule,
    pub zone: Zone,
}

#[derive(Clone)]
pub enum Rule {
    Cron {
        text: String,
        cron: Box<Cron>,
    },
    /// Counts from `from`, or from the moment at which the job was accepted.
    Every {
        period: Period,
        from: Option<Timestamp>,
    },
    At(Timestamp),
}

/// The distance between two times. Days and weeks keep their time of day when clocks change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    Seconds(u32),
    Days(u32),
}

/// Why a text is not a valid time, with a valid example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTime {
    pub why: String,
    pub example: String,
}

const CRON_EXAMPLE: &str = "`0 8 * * MON-FRI` is every weekday at 08:00";

impl Rule {
    pub fn cron(text: &str, zone: &Zone, now: Timestamp) -> Result<Self, BadTime> {
        let bad = |why: String| BadTime { why, example: CRON_EXAMPLE.to_owned() };
        let parser =
            CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| {
            bad(format!("{text:?} is no cron expression of five or six fields: {error}"))
        })?;
        let rule = Self::Cron { text: text.to_owned(), cron: Box::new(cron) };
        let schedule = Schedule { rule: rule.clone(), zone: zone.clone() };
        if schedule.next_after(now, now).is_none() {
            return Err(bad(format!("{text:?} never occurs: there is no such day")));
        }
        Ok(rule)
    }

    /// Parses a date and time, either local to the zone (`2026-12-01T09:00`) or with an offset.
    pub fn moment(text: &str, zone: &Zone) -> Result<Timestamp, BadTime> {
        let text = text.trim();
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Ok(Timestamp::from_millis(at.as_millisecond()));
        }
        let civil = text.parse::<DateTime>().ok().filter(|_| text.len() > 10);
        let civil = civil.ok_or_else(|| BadTime {
            why: format!("{text:?} is not a date with a time"),
            example: "2030-12-01T09:00 is the first of December 2030 at nine".to_owned(),
        })?;
        Ok(Timestamp::from_millis(in_zone(civil, zone.time_zone()).as_millisecond()))
    }
}

/// Resolves a local time as cron times are resolved: a time in a gap becomes the moment just after
/// the gap, and a time that occurs twice its first occurrence.
fn in_zone(civil: DateTime, zone: &TimeZone) -> jiff::Timestamp {
    let ambiguous = zone.to_ambiguous_timestamp(civil);
    let is_gap = matches!(ambiguous.offset(), jiff::tz::AmbiguousOffset::Gap { .. });
    let later = ambiguous.compatible().unwrap_or(jiff::Timestamp::MAX);
    if !is_gap {
        return later;
    }
    zone.preceding(later).next().map_or(later, |transition| transition.timestamp())
}

impl Schedule {
    /// The first time after `after`. Periods without a first time are counted from `anchor`. `None`
    /// if there is none.
    pub fn next_after(&self, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            Rule::At(at) => (*at > after).then_some(*at),
            Rule::Every { period, from } => {
                next_period(*period, from.unwrap_or(anchor), after, &self.zone)
            }
            Rule::Cron { cron, .. } => next_cron(cron, after, &self.zone),
        }
    }

    /// The next `count` times, or fewer if there are no more.
    pub fn next_times(&self, anchor: Timestamp, after: Timestamp, count: usize) -> Vec<Timestamp> {
        let mut times = Vec::with_capacity(count);
        let mut last = after;
        while times.len() < count {
            let Some(next) = self.next_after(anchor, last) else { break };
            times.push(next);
            last = next;
        }
        times
    }
}

fn next_cron(cron: &Cron, after: Timestamp, zone: &Zone) -> Option<Timestamp> {
    // Cron times are whole seconds, so no cron time lies between the start of this second and
    // `after`.
    let start = jiff::Timestamp::from_second(after.as_millis().div_euclid(1_000)).ok()?;
    let start = start.to_zoned(zone.time_zone().clone());
    let next = cron.find_next_occurrence(&start, false).ok()?;
    let next = Timestamp::from_millis(next.timestamp().as_millisecond());
    (next > after).then_some(next)
}

fn next_period(
    period: Period,
    anchor: Timestamp,
    after: Timestamp,
    zone: &Zone,
) -> Option<Timestamp> {
    let length = i64::try_from(period.length().as_millis()).ok()?.max(1);
    if after < anchor {
        // The first time of the period still lies ahead.
        return Some(anchor);
    }
    match period {
        Period::Seconds(_) => {
            let passed = (after.as_millis() - anchor.as_millis()) / length + 1;
            Some(Timestamp::from_millis(anchor.as_millis() + passed * length))
        }
        Period::Days(days) => {
            let first = jiff::Timestamp::from_millisecond(anchor.as_millis()).ok()?;
            let first = zone.time_zone().to_datetime(first);
            // A day may be an hour shorter or longer, so the search begins one period early.
            let passed = (after.as_millis() - anchor.as_millis()) / length;
            for count in (passed - 1).max(0)..=passed + 2 {
                let days = i64::from(days).checked_mul(count)?;
                let civil = first.checked_add(Span::new().try_days(days).ok()?).ok()?;
                let at = in_zone(civil, zone.time_zone()).as_millisecond();
                if at > after.as_millis() {
                    return Some(Timestamp::from_millis(at));
                }
            }
            None
        }
    }
}

impl Period {
    pub fn length(self) -> Duration {
        match self {
            Self::Seconds(seconds) => Duration::from_secs(seconds.into()),
            Self::Days(days) => Duration::from_secs(u64::from(days) * 24 * 60 * 60),
        }
    }
}

/// Parses `90s`, `30m`, `2h`, `1d`, `2w`, or several together (`1h30m`).
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (seconds, days) = amounts(text)?;
    Some(Duration::from_secs(seconds + days * 24 * 60 * 60))
}

/// Parses a duration as a period. Whole days and weeks follow the calendar.
pub(super) fn period(text: &str) -> Result<Period, BadTime> {
    let bad = |why: &str| BadTime {
        why: format!("{text:?} {why}"),
        example: "30m, 2h, 1d or 2w would do".to_owned(),
    };
    let (seconds, days) = amounts(text).ok_or_else(|| bad("is not a duration"))?;
    match (seconds, days) {
        (0, 0) => Err(bad("is zero")),
        (0, days) => u32::try_from(days).map(Period::Days).map_err(|_| bad("is too long")),
        (seconds, days) => {
            let all = seconds + days * 24 * 60 * 60;
            u32::try_from(all).map(Period::Seconds).map_err(|_| bad("is too long"))
        }
    }
}

/// The seconds of a duration, and its whole days separately.
fn amounts(text: &str) -> Option<(u64, u64)> {
    let (mut seconds, mut days) = (0_u64, 0_u64);
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).filter(|end| *end > 0)?;
        let number: u64 = rest[..end].parse().ok()?;
        let after = rest[end..].trim_start();
        let unit = after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len());
        let most = 100_000_000;
        match &after[..unit] {
            "s" | "second" | "seconds" => seconds += number.min(most),
            "m" | "min" | "minute" | "minutes" => seconds += number.min(most) * 60,
            "h" | "hour" | "hours" => seconds += number.min(most) * 60 * 60,
            "d" | "day" | "days" => days += number.min(most),
            "w" | "week" | "weeks" => days += number.min(most) * 7,
            _ => return None,
        }
        rest = after[unit..].trim_start();
    }
    Some((seconds, days))
}

/// A valid example for somebody who wrote a past date: the next occurrence of the same time of day.
pub(super) fn next_valid(at: Timestamp, now: Timestamp, zone: &Zone) -> String {
    let there = |at: Timestamp| {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX);
        zone.time_zone().to_datetime(at)
    };
    let (wanted, today) = (there(at), there(now));
    let mut next = DateTime::from_parts(today.date(), wanted.time());
    if next <= today {
        next = next.checked_add(SignedDuration::from_hours(24)).unwrap_or(next);
    }
    next.strftime("%Y-%m-%dT%H:%M").to_string()
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron { text, .. } => write!(f, "Cron({text})"),
            Self::Every { period, from } => write!(f, "Every({period:?}, {from:?})"),
            Self::At(at) => write!(f, "At({at})"),
        }
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cron { text, .. }, Self::Cron { text: other, .. }) => text == other,
            (Self::Every { period, from }, Self::Every { period: other, from: other_from }) => {
                period == other && from == other_from
            }
            (Self::At(at), Self::At(other)) => at == other,
            (Self::Cron { .. } | Self::Every { .. } | Self::At(_), _) => false,
        }
    }
}
