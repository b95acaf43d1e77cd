//! Times that a question names: "last week", "in May", "on 7 May 2023".

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _};
use onyx_types::Timestamp;

/// A time from its first moment up to, and without, its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    from: Timestamp,
    to: Timestamp,
}

impl TimeRange {
    pub(crate) const fn from(&self) -> Timestamp {
        self.from
    }

    pub(crate) const fn to(&self) -> Timestamp {
        self.to
    }

    pub(crate) fn holds(&self, at: Timestamp) -> bool {
        (self.from..self.to).contains(&at)
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

/// The first time that is named in a text, relative to now. `None` if the text names none.
pub(crate) fn times_in(text: &str, now: Timestamp, zone: &TimeZone) -> Option<TimeRange> {
    let lowered = text.to_lowercase();
    let words: Vec<&str> = lowered
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let today = now.to_zoned(zone.clone()).date();
    let (from, to) = (0..words.len()).find_map(|at| days_at(&words[at..], today))?;
    let moment = |date: Date| {
        let at = zone.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
        Some(Timestamp::from_millis(at.as_millisecond()))
    };
    Some(TimeRange { from: moment(from)?, to: moment(to)? })
}

/// The days that the words begin with: the first, and the one after the last.
fn days_at(words: &[&str], today: Date) -> Option<(Date, Date)> {
    let (first, rest) = words.split_first()?;
    match *first {
        "today" => days(today, 1),
        "yesterday" => days(today.yesterday().ok()?, 1),
        "last" | "this" => relative(*first == "last", rest.first()?, today),
        "in" => rest.first().and_then(|word| month(word)).map_or_else(
            || year_of(rest.first()?).and_then(whole_year),
            |month| whole_month(month, rest.get(1).and_then(|word| year_of(word)), today),
        ),
        word if is_iso(word) => days(word.parse().ok()?, 1),
        word => match (month(word), number(word)) {
            (Some(month), _) => after_month(month, rest, today),
            (None, Some(count)) => after_number(count, rest, today),
            (None, None) => None,
        },
    }
}

fn days(from: Date, count: i64) -> Option<(Date, Date)> {
    Some((from, from.checked_add(count.days()).ok()?))
}

fn relative(is_last: bool, what: &str, today: Date) -> Option<(Date, Date)> {
    let back = |span: Span| today.checked_sub(span).ok();
    match what {
        "week" => {
            let monday = back(i64::from(today.weekday().to_monday_zero_offset()).days())?;
            days(if is_last { monday.checked_sub(1.week()).ok()? } else { monday }, 7)
        }
        "month" => whole_of_month(if is_last { back(1.month())? } else { today }),
        "year" => whole_year(if is_last { today.year() - 1 } else { today.year() }),
        "night" if is_last => days(today.yesterday().ok()?, 1),
        day => {
            let place = WEEKDAYS.iter().position(|name| *name == day).filter(|_| is_last)?;
            let weekday = Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()?;
            days(today.nth_weekday(-1, weekday).ok()?, 1)
        }
    }
}

/// `May 7, 2023`, `May 7`, `May 2023`.
fn after_month(month: i8, rest: &[&str], today: Date) -> Option<(Date, Date)> {
    let next = rest.first()?;
    if let Some(year) = year_of(next) {
        return whole_month(month, Some(year), today);
    }
    let day = day_of(next)?;
    one_day(day, month, rest.get(1).and_then(|word| year_of(word)), today)
}

/// `7 May 2023`, `7 May`, `3 days ago`.
fn after_number(count: i8, rest: &[&str], today: Date) -> Option<(Date, Date)> {
    let next = rest.first()?;
    if let Some(month) = month(next) {
        return one_day(count, month, rest.get(1).and_then(|word| year_of(word)), today);
    }
    if rest.get(1) != Some(&"ago") {
        return None;
    }
    let count = i64::from(count);
    let back = |span: Span| today.checked_sub(span).ok();
    match next.trim_end_matches('s') {
        "day" => days(back(count.days())?, 1),
        "week" => days(back(count.weeks())?.checked_sub(3.days()).ok()?, 7),
        "month" => whole_of_month(back(count.months())?),
        "year" => whole_year(back(count.years())?.year()),
        _ => None,
    }
}

fn one_day(day: i8, month: i8, year: Option<i16>, today: Date) -> Option<(Date, Date)> {
    let of = |year: i16| Date::new(year, month, day).ok();
    let date = match year {
        Some(year) => of(year)?,
        None => of(today.year()).filter(|date| *date <= today).or_else(|| of(today.year() - 1))?,
    };
    days(date, 1)
}

/// A date without a year means the latest one that is not in the future.
fn whole_month(month: i8, year: Option<i16>, today: Date) -> Option<(Date, Date)> {
    let usual = if month > today.month() { today.year() - 1 } else { today.year() };
    whole_of_month(Date::new(year.unwrap_or(usual), month, 1).ok()?)
}

fn whole_of_month(day: Date) -> Option<(Date, Date)> {
    let first = day.first_of_month();
    Some((first, first.checked_add(1.month()).ok()?))
}

fn whole_year(year: i16) -> Option<(Date, Date)> {
    let first = Date::new(year, 1, 1).ok()?;
    Some((first, first.checked_add(1.year()).ok()?))
}

fn month(word: &str) -> Option<i8> {
    // Short forms have three letters; the one that is whole is none.
    let is_short = word.len() == 3 && word != "may";
    let is_it = |name: &str| name == word || (is_short && name.starts_with(word));
    i8::try_from(MONTHS.iter().position(|name| is_it(name))? + 1).ok()
}

fn year_of(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2200).contains(year))
}

fn day_of(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

fn number(word: &str) -> Option<i8> {
    let named = NUMBERS.iter().position(|name| *name == word);
    let named = named.and_then(|place| i8::try_from(place + 1).ok());
    named.or_else(|| if word == "a" { Some(1) } else { day_of(word) })
}

fn is_iso(word: &str) -> bool {
    word.len() == 10 && crate::chunk::is_date(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The days from a text, asked on Wednesday the 18th of November 2026 in Berlin.
    fn asked(text: &str) -> Option<String> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let now: jiff::Timestamp = "2026-11-18T23:30:00+01:00".parse().unwrap();
        let now = Timestamp::from_millis(now.as_millisecond());
        let range = times_in(text, now, &zone)?;
        let day = |at: Timestamp| {
            let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap();
            at.to_zoned(zone.clone()).date()
        };
        Some(format!("{}..{}", day(range.from), day(range.to)))
    }

    #[test]
    fn times_are_meant_as_people_say_them() {
        for (text, days) in [
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
        ] {
            assert_eq!(asked(text).as_deref(), Some(days), "{text}");
        }
    }

    #[test]
    fn words_that_name_no_time_are_none() {
        for text in ["when did she leave", "may I have 5 apples", "march on", "the last cup", ""] {
            assert_eq!(asked(text), None, "{text}");
        }
    }
}
