//! Computes days, weeks, months, seasons and years, relative to the day on which a question is
//! asked.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, ToSpan as _};

/// A period in local time, from its first moment to its end, which is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) from: DateTime,
    pub(super) to: DateTime,
}

/// The first, middle or last part of a month, a season or a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeriodThird {
    First,
    Middle,
    Last,
}

/// Says which of several weeks, months or years is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeriodChoice {
    This,
    Last,
    /// The week, month or year before the last one.
    BeforeLast,
}

impl PeriodChoice {
    const fn back(self) -> i64 {
        match self {
            Self::This => 0,
            Self::Last => 1,
            Self::BeforeLast => 2,
        }
    }
}

impl Period {
    pub(super) fn days(from: Date, count: i64) -> Option<Self> {
        Self::between(from, from.checked_add(count.days()).ok()?)
    }

    fn between(from: Date, to: Date) -> Option<Self> {
        Some(Self { from: from.at(0, 0, 0, 0), to: to.at(0, 0, 0, 0) })
    }

    /// Hours of a day; hours from 24 on are on the next day.
    pub(super) fn hours(day: Date, from: i64, to: i64) -> Option<Self> {
        let start = day.at(0, 0, 0, 0);
        let at = |hour: i64| start.checked_add(hour.hours()).ok();
        Some(Self { from: at(from)?, to: at(to)? })
    }

    pub(super) fn week(today: Date, which: PeriodChoice) -> Option<Self> {
        let since_monday = i64::from(today.weekday().to_monday_zero_offset());
        let monday = today.checked_sub((since_monday + 7 * which.back()).days()).ok()?;
        Self::days(monday, 7)
    }

    /// A weekend; on a working day, this weekend is the next one.
    pub(super) fn weekend(today: Date, which: PeriodChoice) -> Option<Self> {
        let since_saturday = (i64::from(today.weekday().to_monday_zero_offset()) + 2) % 7;
        let latest = today.checked_sub(since_saturday.days()).ok()?;
        let is_weekend = since_saturday < 2;
        let weeks = which.back() - i64::from(!is_weekend);
        Self::days(latest.checked_sub(weeks.weeks()).ok()?, 2)
    }

    /// The weekend that began last.
    pub(super) fn latest_weekend(today: Date) -> Option<Self> {
        let since_saturday = (i64::from(today.weekday().to_monday_zero_offset()) + 2) % 7;
        Self::days(today.checked_sub(since_saturday.days()).ok()?, 2)
    }

    /// The latest such weekday; `is_before_today` excludes today.
    pub(super) fn weekday(today: Date, weekday: Weekday, is_before_today: bool) -> Option<Self> {
        if today.weekday() == weekday && !is_before_today {
            return Self::days(today, 1);
        }
        Self::days(today.nth_weekday(-1, weekday).ok()?, 1)
    }

    pub(super) fn month_around(day: Date) -> Option<Self> {
        let first = day.first_of_month();
        Self::between(first, first.checked_add(1.month()).ok()?)
    }

    pub(super) fn month(today: Date, which: PeriodChoice) -> Option<Self> {
        Self::month_around(today.checked_sub(which.back().months()).ok()?)
    }

    /// A month by name. Without a year it is the latest such month that is not in the future.
    pub(super) fn named_month(month: i8, year: Option<i16>, today: Date) -> Option<Self> {
        let usual = if month > today.month() { today.year() - 1 } else { today.year() };
        Self::month_around(Date::new(year.unwrap_or(usual), month, 1).ok()?)
    }

    pub(super) fn year(year: i16) -> Option<Self> {
        Self::years(year, 1)
    }

    pub(super) fn years(first: i16, count: i64) -> Option<Self> {
        let first = Date::new(first, 1, 1).ok()?;
        Self::between(first, first.checked_add(count.years()).ok()?)
    }

    pub(super) fn date(day: i8, month: i8, year: Option<i16>, today: Date) -> Option<Self> {
        let of = |year: i16| Date::new(year, month, day).ok();
        let date = match year {
            Some(year) => of(year)?,
            None => {
                of(today.year()).filter(|date| *date <= today).or_else(|| of(today.year() - 1))?
            }
        };
        Self::days(date, 1)
    }

    /// A season: three months from this month on.
    pub(super) fn season(month: i8, year: i16) -> Option<Self> {
        let first = Date::new(year, month, 1).ok()?;
        Self::between(first, first.checked_add(3.months()).ok()?)
    }

    /// The latest season that has begun, or the latest that is over.
    pub(super) fn latest_season(month: i8, today: Date, is_over: bool) -> Option<Self> {
        let now = today.at(0, 0, 0, 0);
        let is_meant = |season: &Self| if is_over { season.to <= now } else { season.from <= now };
        (0..3).filter_map(|back| Self::season(month, today.year() - back)).find(is_meant)
    }

    /// The days from one distance in the past to another, in whole days.
    pub(super) fn back(today: Date, from: Span, to: Span) -> Option<Self> {
        let last = today.checked_sub(to).ok()?;
        Self::between(today.checked_sub(from).ok()?, last.tomorrow().ok()?)
    }

    pub(super) fn third(self, third: PeriodThird) -> Option<Self> {
        let days = self.to.since(self.from).ok()?.get_days();
        let at = |share: i32| self.from.checked_add((days * share / 3).days()).ok();
        let (from, to) = match third {
            PeriodThird::First => (self.from, at(1)?),
            PeriodThird::Middle => (at(1)?, at(2)?),
            PeriodThird::Last => (at(2)?, self.to),
        };
        Some(Self { from, to })
    }

    /// The same days in another year.
    pub(super) fn in_year(self, year: i16) -> Option<Self> {
        let years = i64::from(year) - i64::from(self.from.year());
        let moved = |at: DateTime| at.checked_add(years.years()).ok();
        Some(Self { from: moved(self.from)?, to: moved(self.to)? })
    }
}
