//! Reads the words by which people name a time.

use jiff::ToSpan as _;
use jiff::civil::{Date, DateTime, Weekday};

use super::calendar::{Period, PeriodChoice, PeriodThird};

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
/// The seasons with their first month, north of the equator.
const SEASONS: [(&str, i8); 5] =
    [("spring", 3), ("summer", 6), ("autumn", 9), ("fall", 9), ("winter", 12)];
/// The parts of a day with their hours.
const PARTS_OF_DAY: [(&str, i64, i64); 4] =
    [("morning", 4, 12), ("afternoon", 12, 18), ("evening", 17, 24), ("night", 18, 30)];

/// The time that the words begin with, and how many of them name it.
pub(super) fn period_at(words: &[&str], now: DateTime) -> Option<(Period, usize)> {
    let today = now.date();
    let (first, rest) = words.split_first()?;
    let second = rest.first().copied().unwrap_or_default();
    match *first {
        "today" => day(today, rest),
        "yesterday" => day(today.yesterday().ok()?, rest),
        "tonight" => Some((Period::hours(today, 17, 30)?, 1)),
        "this" => relative(PeriodChoice::This, second, today).map(|period| (period, 2)),
        "last" | "past" => match relative(PeriodChoice::Last, second, today) {
            Some(period) if *first == "last" => Some((period, 2)),
            _ => in_the_last(rest, today).map(|(period, length)| (period, length + 1)),
        },
        "the" => before_last(rest, today).or_else(|| the_weekend(second, today)),
        "early" | "mid" | "late" | "beginning" | "start" | "middle" | "end" => part(words, now),
        word if is_iso(word) => Some((Period::days(word.parse().ok()?, 1)?, 1)),
        word => match (month(word), number(word)) {
            (Some(month), _) => after_month(month, rest, today),
            (None, Some(count)) => after_number(count, rest, today).or_else(|| ago(words, today)),
            (None, None) => ago(words, today),
        },
    }
}

/// Like [`period_at`], for words after which a time is expected; there a month or a year alone is a
/// time too.
pub(super) fn bare_period_at(words: &[&str], now: DateTime) -> Option<(Period, usize)> {
    let today = now.date();
    if let Some(found) = period_at(words, now) {
        return Some(found);
    }
    let (first, rest) = words.split_first()?;
    if *first == "the" {
        return bare_period_at(rest, now).map(|(period, length)| (period, length + 1));
    }
    let alone = |period: Option<Period>| period.map(|period| (period, 1));
    if let Some(month) = month(first) {
        return alone(Period::named_month(month, None, today));
    }
    if let Some(weekday) = weekday(first) {
        return alone(Period::weekday(today, weekday, false));
    }
    if let Some(month) = season(first) {
        let of = usize::from(rest.first() == Some(&"of"));
        return match rest.get(of).and_then(|word| year_of(word)) {
            Some(year) => Some((Period::season(month, year)?, of + 2)),
            None => alone(Period::latest_season(month, today, false)),
        };
    }
    if *first == "weekend" {
        return alone(Period::latest_weekend(today));
    }
    alone(year_of(first).and_then(Period::year).or_else(|| decade(first)))
}

/// A day, or the part of it that the next word names.
fn day(day: Date, rest: &[&str]) -> Option<(Period, usize)> {
    let part = rest.first().and_then(|word| part_of_day(day, word));
    match part {
        Some(period) => Some((period, 2)),
        None => Some((Period::days(day, 1)?, 1)),
    }
}

fn part_of_day(day: Date, word: &str) -> Option<Period> {
    let (_, from, to) = PARTS_OF_DAY.iter().find(|(name, _, _)| *name == word)?;
    Period::hours(day, *from, *to)
}

/// The period of phrases such as `last week` or `this morning`.
fn relative(which: PeriodChoice, what: &str, today: Date) -> Option<Period> {
    let is_last = which == PeriodChoice::Last;
    match what {
        "week" => Period::week(today, which),
        "weekend" => Period::weekend(today, which),
        "month" => Period::month(today, which),
        "year" => Period::year(today.year() - i16::from(is_last)),
        "night" if is_last => part_of_day(today.yesterday().ok()?, what),
        "morning" | "afternoon" | "evening" if !is_last => part_of_day(today, what),
        name => match (season(name), weekday(name)) {
            (Some(month), _) => Period::latest_season(month, today, is_last),
            (None, Some(weekday)) if is_last => Period::weekday(today, weekday, true),
            (None, Some(_) | None) => None,
        },
    }
}

/// The period of phrases such as `the week before last`.
fn before_last(words: &[&str], today: Date) -> Option<(Period, usize)> {
    let [what, "before", "last", ..] = words else { return None };
    let which = PeriodChoice::BeforeLast;
    let period = match *what {
        "week" => Period::week(today, which),
        "weekend" => Period::weekend(today, which),
        "month" => Period::month(today, which),
        "year" => Period::year(today.year() - 2),
        _ => None,
    };
    Some((period?, 4))
}

fn the_weekend(word: &str, today: Date) -> Option<(Period, usize)> {
    (word == "weekend").then(|| Period::latest_weekend(today)).flatten().map(|period| (period, 2))
}

/// The period of phrases such as `early May` or `the end of 2023`.
fn part(words: &[&str], now: DateTime) -> Option<(Period, usize)> {
    let (first, rest) = words.split_first()?;
    let (third, before) = match *first {
        "early" => (PeriodThird::First, 1),
        "mid" => (PeriodThird::Middle, 1),
        "late" => (PeriodThird::Last, 1),
        "beginning" | "start" if rest.first() == Some(&"of") => (PeriodThird::First, 2),
        "middle" if rest.first() == Some(&"of") => (PeriodThird::Middle, 2),
        "end" if rest.first() == Some(&"of") => (PeriodThird::Last, 2),
        _ => return None,
    };
    let (whole, length) = bare_period_at(words.get(before..)?, now)?;
    Some((whole.third(third)?, before + length))
}

/// The period of the words after `the last` or `the past`, such as `few days` or `week`.
fn in_the_last(words: &[&str], today: Date) -> Option<(Period, usize)> {
    let (count, length) = count_at(words).map_or((1, 0), |((_, most), length)| (most, length));
    let from = span(count, words.get(length)?)?;
    Some((Period::back(today, from, 0.days())?, length + 1))
}

/// The period of phrases such as `a few days ago` or `couple of weeks ago`.
fn ago(words: &[&str], today: Date) -> Option<(Period, usize)> {
    let ((least, most), length) = count_at(words)?;
    let unit = words.get(length)?;
    if words.get(length + 1) != Some(&"ago") {
        return None;
    }
    Some((Period::back(today, span(most, unit)?, span(least, unit)?)?, length + 2))
}

/// The least and the greatest number that is meant, and how many words name it.
fn count_at(words: &[&str]) -> Option<((i64, i64), usize)> {
    let article = usize::from(words.first() == Some(&"a"));
    match *words.get(article)? {
        "few" => Some(((2, 6), article + 1)),
        "several" => Some(((3, 8), article + 1)),
        "couple" => {
            let of = usize::from(words.get(article + 1) == Some(&"of"));
            Some(((1, 3), article + 1 + of))
        }
        word => number(word).map(|count| ((count.into(), count.into()), 1)),
    }
}

fn span(count: i64, unit: &str) -> Option<jiff::Span> {
    match unit.trim_end_matches('s') {
        "day" => Some(count.days()),
        "week" => Some(count.weeks()),
        "month" => Some(count.months()),
        "year" => Some(count.years()),
        _ => None,
    }
}

/// The period of `May 7, 2023`, `May 7` or `May 2023`, after the month was read.
fn after_month(month: i8, rest: &[&str], today: Date) -> Option<(Period, usize)> {
    let next = rest.first()?;
    if let Some(year) = year_of(next) {
        return Some((Period::named_month(month, Some(year), today)?, 2));
    }
    let day = day_of(next)?;
    let year = rest.get(1).and_then(|word| year_of(word));
    Some((Period::date(day, month, year, today)?, 2 + usize::from(year.is_some())))
}

/// The period of `7 May 2023`, `7 May` or `3 days ago`, after the number was read.
fn after_number(count: i8, rest: &[&str], today: Date) -> Option<(Period, usize)> {
    let next = rest.first()?;
    if let Some(month) = month(next) {
        let year = rest.get(1).and_then(|word| year_of(word));
        return Some((Period::date(count, month, year, today)?, 2 + usize::from(year.is_some())));
    }
    if rest.get(1) != Some(&"ago") {
        return None;
    }
    let day = today.checked_sub(span(count.into(), next)?).ok()?;
    let period = match next.trim_end_matches('s') {
        "day" => Period::days(day, 1),
        "week" => Period::days(day.checked_sub(3.days()).ok()?, 7),
        "month" => Period::month_around(day),
        _ => Period::year(day.year()),
    };
    Some((period?, 3))
}

fn month(word: &str) -> Option<i8> {
    // Short forms have three letters. `may` has three letters too, but is the whole name.
    let is_short = word.len() == 3 && word != "may";
    let is_it = |name: &str| name == word || (is_short && name.starts_with(word));
    i8::try_from(MONTHS.iter().position(|name| is_it(name))? + 1).ok()
}

fn weekday(word: &str) -> Option<Weekday> {
    let place = WEEKDAYS.iter().position(|name| *name == word)?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

fn season(word: &str) -> Option<i8> {
    SEASONS.iter().find(|(name, _)| *name == word).map(|(_, month)| *month)
}

fn year_of(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2200).contains(year))
}

/// The years of `90s` or `1990s`.
fn decade(word: &str) -> Option<Period> {
    let first: i16 = word.strip_suffix("0s")?.parse().ok()?;
    let first = match word.len() {
        3 => first * 10 + if first >= 3 { 1900 } else { 2000 },
        5 => first * 10,
        _ => return None,
    };
    (1900..2200).contains(&first).then(|| Period::years(first, 10)).flatten()
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
