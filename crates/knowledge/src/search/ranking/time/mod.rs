//! Finds times that a question names, such as "last week", "in May", "since the summer" or "between
//! May and July 2023", and turns them into ranges. `phrases` reads the words, and `calendar`
//! computes the days.

mod calendar;
mod phrases;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use onyx_types::Timestamp;

use calendar::Period;
use phrases::{bare_period_at, period_at};

/// A range of time, from its first moment to its end, which is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    from: Timestamp,
    to: Timestamp,
}

/// The range from before to after everything that was ever written.
const EVER: TimeRange =
    TimeRange { from: Timestamp::from_millis(i64::MIN), to: Timestamp::from_millis(i64::MAX) };

impl TimeRange {
    /// The beginning; `None` if the text names only the end.
    pub(crate) fn from(&self) -> Option<Timestamp> {
        (self.from != EVER.from).then_some(self.from)
    }

    /// The end; `None` if the text names only the beginning.
    pub(crate) fn to(&self) -> Option<Timestamp> {
        (self.to != EVER.to).then_some(self.to)
    }

    pub(crate) fn holds(&self, at: Timestamp) -> bool {
        (self.from..self.to).contains(&at)
    }

    fn of(period: Period, zone: &TimeZone) -> Option<Self> {
        let moment = |at: DateTime| {
            let at = zone.to_timestamp(at).ok()?;
            Some(Timestamp::from_millis(at.as_millisecond()))
        };
        Some(Self { from: moment(period.from)?, to: moment(period.to)? })
    }
}

/// The first time that a text names, relative to now; `None` if it names none.
pub(crate) fn times_in(text: &str, now: Timestamp, zone: &TimeZone) -> Option<TimeRange> {
    let lowered = text.to_lowercase();
    let words: Vec<&str> = lowered
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let now = now.to_zoned(zone.clone()).datetime();
    (0..words.len()).find_map(|at| range_at(&words[at..], now, zone))
}

fn range_at(words: &[&str], now: DateTime, zone: &TimeZone) -> Option<TimeRange> {
    let (first, rest) = words.split_first()?;
    let of = |period: Period| TimeRange::of(period, zone);
    let named = || of(bare_period_at(rest, now)?.0);
    match *first {
        "since" => Some(TimeRange { to: EVER.to, ..named()? }),
        "after" => Some(TimeRange { from: named()?.to, to: EVER.to }),
        "before" => Some(TimeRange { from: EVER.from, to: named()?.from }),
        "until" | "till" => Some(TimeRange { from: EVER.from, ..named()? }),
        "between" | "from" => of(from_one_to_another(rest, now)?),
        "in" | "on" | "during" => named(),
        _ => of(period_at(words, now)?.0),
    }
}

/// The period from one time to another, as in `May and July 2023` or `last Monday to Friday`.
fn from_one_to_another(words: &[&str], now: DateTime) -> Option<Period> {
    let (mut first, length) = bare_period_at(words, now)?;
    let (joint, rest) = words[length..].split_first()?;
    if !matches!(*joint, "and" | "to" | "until" | "till") {
        return None;
    }
    let (last, _) = bare_period_at(rest, now)?;
    // The year is usually given only with the second time: `May to July 2023`, `November to
    // February`.
    for year in [last.from.year(), last.from.year() - 1] {
        if first.from > last.from {
            first = first.in_year(year)?;
        }
    }
    Some(Period { from: first.from, to: last.to })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time that a text names on Wednesday the 18th of November 2026 in Berlin.
    fn asked(text: &str) -> Option<String> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let now: jiff::Timestamp = "2026-11-18T23:30:00+01:00".parse().unwrap();
        let now = Timestamp::from_millis(now.as_millisecond());
        let range = times_in(text, now, &zone)?;
        let shown = |at: Timestamp| {
            let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap();
            let at = at.to_zoned(zone.clone()).datetime();
            at.to_string().trim_end_matches(":00").trim_end_matches("T00").to_owned()
        };
        let shown = |at: Option<Timestamp>| at.map(shown).unwrap_or_default();
        Some(format!("{}..{}", shown(range.from()), shown(range.to())))
    }

    fn check(told: &[(&str, &str)]) {
        for (text, times) in told {
            assert_eq!(asked(text).as_deref(), Some(*times), "{text}");
        }
    }

    #[test]
    fn days_weeks_and_months_are_meant_as_people_say_them() {
        check(&[
            ("what did we say yesterday?", "2026-11-17..2026-11-18"),
            ("plans from last week", "2026-11-09..2026-11-16"),
            ("last month's bills", "2026-10-01..2026-11-01"),
            ("the trip in May", "2026-05-01..2026-06-01"),
            ("the trip in December", "2025-12-01..2026-01-01"),
            ("what happened in May 2023", "2023-05-01..2023-06-01"),
            ("on 7 May 2023", "2023-05-07..2023-05-08"),
            ("on May 7th, 2023", "2023-05-07..2023-05-08"),
            ("log of 2024-02-29", "2024-02-29..2024-03-01"),
            ("what broke in 2024", "2024-01-01..2025-01-01"),
            ("three days ago", "2026-11-15..2026-11-16"),
            ("last Monday", "2026-11-16..2026-11-17"),
            ("who called on Friday", "2026-11-13..2026-11-14"),
            ("what is on this year", "2026-01-01..2027-01-01"),
        ]);
    }

    #[test]
    fn parts_of_days_weeks_and_years_are_times() {
        check(&[
            ("what did she say this morning", "2026-11-18T04..2026-11-18T12"),
            ("this evening", "2026-11-18T17..2026-11-19"),
            ("yesterday afternoon", "2026-11-17T12..2026-11-17T18"),
            ("last night", "2026-11-17T18..2026-11-18T06"),
            ("the trip last weekend", "2026-11-14..2026-11-16"),
            ("plans for this weekend", "2026-11-21..2026-11-23"),
            ("who came at the weekend", "2026-11-14..2026-11-16"),
            ("the weekend before last", "2026-11-07..2026-11-09"),
            ("the week before last", "2026-11-02..2026-11-09"),
            ("in early May", "2026-05-01..2026-05-11"),
            ("late May 2023", "2023-05-21..2023-06-01"),
            ("at the end of 2023", "2023-09-01..2024-01-01"),
            ("the hike in the summer of 2022", "2022-06-01..2022-09-01"),
            ("last summer", "2026-06-01..2026-09-01"),
            ("in winter", "2025-12-01..2026-03-01"),
            ("music in the 90s", "1990-01-01..2000-01-01"),
            ("in the 1980s", "1980-01-01..1990-01-01"),
        ]);
    }

    #[test]
    fn a_time_may_be_vague_or_open_or_run_from_one_to_another() {
        check(&[
            ("a few days ago", "2026-11-12..2026-11-17"),
            ("a couple of weeks ago", "2026-10-28..2026-11-12"),
            ("in the last three weeks", "2026-10-28..2026-11-19"),
            ("over the past month", "2026-10-18..2026-11-19"),
            ("since last week", "2026-11-09.."),
            ("since May", "2026-05-01.."),
            ("everything before 2024", "..2024-01-01"),
            ("after 7 May 2023", "2023-05-08.."),
            ("until Friday", "..2026-11-14"),
            ("between May and July 2023", "2023-05-01..2023-08-01"),
            ("from November to February", "2025-11-01..2026-03-01"),
            ("between 3 May and 9 May", "2026-05-03..2026-05-10"),
        ]);
    }

    #[test]
    fn words_that_name_no_time_are_none() {
        for text in [
            "when did she leave",
            "may I have 5 apples",
            "march on",
            "the last cup",
            "after work",
            "before I fall asleep",
            "from Rome to Bonn",
            "the end of the story",
            "a few apples",
            "",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }
}
