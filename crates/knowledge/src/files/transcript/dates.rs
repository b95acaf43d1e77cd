//! Dates and times as exports of chat programs write them. `3/4/2023` is a day in March or in April,
//! so one order of day and month is decided for a whole export.

use jiff::civil::DateTime;

/// The largest number that can be a month.
const MONTHS: i16 = 12;
/// A larger number is a year.
const DAYS: i16 = 31;

/// The order of day and month in all dates of one export. Dates that begin with the year have the
/// month second in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrder {
    DayFirst,
    MonthFirst,
}

impl DateOrder {
    /// Decides by the numbers that cannot be months, then by which order makes the messages follow
    /// each other in time. A person has no setting for it, so the order of most countries, day
    /// first, is taken where nothing decides.
    pub(super) fn of(stamps: &[Stamp]) -> Self {
        let without_year_first = || stamps.iter().filter(|stamp| stamp.date[0] <= DAYS);
        let day_first = without_year_first().filter(|stamp| stamp.date[0] > MONTHS).count();
        let month_first = without_year_first().filter(|stamp| stamp.date[1] > MONTHS).count();
        if day_first != month_first {
            return if day_first > month_first { Self::DayFirst } else { Self::MonthFirst };
        }
        let follows = |order: Self| stamps.iter().filter_map(|stamp| stamp.read(order)).is_sorted();
        if follows(Self::MonthFirst) && !follows(Self::DayFirst) {
            return Self::MonthFirst;
        }
        Self::DayFirst
    }
}

/// The date and time of one message, before the order of day and month is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The three numbers of the date, as they are written.
    date: [i16; 3],
    clock: Option<ClockTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockTime {
    hour: i8,
    minute: i8,
}

impl Stamp {
    /// Reads `12/05/2023, 18:03` or `5/13/23 6:03:12 PM`; `None` if it begins with no date.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (day, time) = text.split_once([',', ' '])?;
        let mut numbers = day.split(['/', '.', '-']).map(str::parse::<i16>);
        let date = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
        numbers.next().is_none().then(|| Self { date, clock: ClockTime::parse(time) })
    }

    /// The moment in this order; `None` if it has no time, or if there is no such day.
    pub(super) fn read(&self, order: DateOrder) -> Option<DateTime> {
        let [first, second, third] = self.date;
        let (year, month, day) = if first > DAYS {
            (first, second, third)
        } else {
            match order {
                DateOrder::DayFirst => (third, second, first),
                DateOrder::MonthFirst => (third, first, second),
            }
        };
        let year = if year < 100 { year + 2000 } else { year };
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        let clock = self.clock?;
        DateTime::new(year, month, day, clock.hour, clock.minute, 0, 0).ok()
    }
}

impl ClockTime {
    /// Reads `18:03`, `6:03:12 PM` or `6:03 p. m.`.
    fn parse(text: &str) -> Option<Self> {
        let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
        let (digits, suffix) = text.split_at(end);
        let mut numbers = digits.trim().split(':').map(str::parse::<i8>);
        let (hour, minute) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        let half: String = suffix.chars().filter(|c| c.is_alphabetic()).collect();
        let hour = match half.to_lowercase().as_str() {
            // The first hour after midnight and after noon is called 12.
            "am" if hour == 12 => 0,
            "pm" if hour < 12 => hour + 12,
            _ => hour,
        };
        Some(Self { hour, minute })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moments of an export with these stamps.
    fn read<const N: usize>(stamps: [&str; N]) -> [String; N] {
        let stamps = stamps.map(|text| Stamp::parse(text).unwrap());
        let order = DateOrder::of(&stamps);
        stamps.map(|stamp| stamp.read(order).map_or_else(String::new, |at| at.to_string()))
    }

    #[test]
    fn one_number_that_is_no_month_decides_for_the_whole_export() {
        assert_eq!(
            read(["1/2/2023, 18:03", "1/13/2023, 18:04", "2/3/2023, 18:05"]),
            ["2023-01-02T18:03:00", "2023-01-13T18:04:00", "2023-02-03T18:05:00"]
        );
        assert_eq!(
            read(["1.2.23, 18:03", "13.2.23, 18:04", "2.3.23, 18:05"]),
            ["2023-02-01T18:03:00", "2023-02-13T18:04:00", "2023-03-02T18:05:00"]
        );
    }

    #[test]
    fn where_no_number_decides_the_messages_follow_each_other_in_time() {
        assert_eq!(
            read(["1/2/2023, 9:00", "2/1/2023, 9:00", "3/1/2023, 9:00"]),
            ["2023-01-02T09:00:00", "2023-02-01T09:00:00", "2023-03-01T09:00:00"]
        );
        assert_eq!(
            read(["2/1/2023, 9:00", "1/2/2023, 9:00", "1/3/2023, 9:00"]),
            ["2023-01-02T09:00:00", "2023-02-01T09:00:00", "2023-03-01T09:00:00"]
        );
    }

    #[test]
    fn where_nothing_decides_the_day_is_first() {
        assert_eq!(
            read(["3/4/2023, 9:00", "3/4/2023, 9:01"]),
            ["2023-04-03T09:00:00", "2023-04-03T09:01:00"]
        );
    }

    #[test]
    fn a_date_that_begins_with_the_year_has_the_month_second_and_decides_nothing() {
        assert_eq!(
            read(["2023-01-20, 9:00", "2/1/2023, 9:00", "3/1/2023, 9:00"]),
            ["2023-01-20T09:00:00", "2023-02-01T09:00:00", "2023-03-01T09:00:00"]
        );
    }

    #[test]
    fn a_day_that_the_order_does_not_have_has_no_time() {
        assert_eq!(
            read(["1/13/2023, 9:00", "1/14/2023, 9:00", "13/1/2023, 9:00"]),
            ["2023-01-13T09:00:00", "2023-01-14T09:00:00", ""]
        );
    }

    #[test]
    fn the_twelfth_hour_comes_before_the_first() {
        let times =
            ["12:05 AM", "1:05 a.m.", "12:05 PM", "1:05\u{202f}p. m.", "11:05:59 pm", "0:05"];
        let read = times.map(|time| {
            let stamp = Stamp::parse(&format!("3/4/2023, {time}")).unwrap();
            stamp.read(DateOrder::DayFirst).unwrap().time().to_string()
        });
        assert_eq!(read, ["00:05:00", "01:05:00", "12:05:00", "13:05:00", "23:05:00", "00:05:00"]);
    }

    #[test]
    fn what_is_no_date_is_no_stamp() {
        for text in ["12/05", "12/05, 18:03", "1/2/3/4, 18:03", "Ana, Ben", "12/05/2023"] {
            assert_eq!(Stamp::parse(text), None, "{text}");
        }
        let without_time = Stamp::parse("12/05/2023, later").unwrap();
        assert_eq!(without_time.read(DateOrder::DayFirst), None);
    }
}
