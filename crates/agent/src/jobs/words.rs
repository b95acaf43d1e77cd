//! Describes a schedule in plain words, such as "every weekday at 08:00, Europe/Berlin".

use onyx_types::{Timestamp, Zone};

use super::schedule::{Period, Rule, Schedule};

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const SHORT: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

pub fn describe(schedule: &Schedule) -> String {
    let zone = place(&schedule.zone);
    match &schedule.rule {
        Rule::At(at) => format!("once, on {}, {zone}", moment(*at, &schedule.zone)),
        Rule::Every { period, from: None } => every(*period),
        Rule::Every { period, from: Some(from) } => {
            format!("{} from {} on, {zone}", every(*period), moment(*from, &schedule.zone))
        }
        Rule::Cron { text, cron } => {
            let words = common(text).unwrap_or_else(|| lower_first(&cron.describe()));
            format!("{words}, {zone}")
        }
    }
}

/// The name of a time zone for people, who say "UTC".
fn place(zone: &Zone) -> &str {
    let name = zone.name();
    name.strip_prefix("Etc/").filter(|short| *short == "UTC").unwrap_or(name)
}

/// Formats a time as `Tue 2026-11-17 09:00`.
pub fn moment(at: Timestamp, zone: &Zone) -> String {
    let there = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    zone.time_zone().to_datetime(there).strftime("%a %Y-%m-%d %H:%M").to_string()
}

fn every(period: Period) -> String {
    let (count, unit) = match period {
        Period::Days(days) if days % 7 == 0 => (days / 7, "week"),
        Period::Days(days) => (days, "day"),
        Period::Seconds(seconds) if seconds % 3_600 == 0 => (seconds / 3_600, "hour"),
        Period::Seconds(seconds) if seconds % 60 == 0 => (seconds / 60, "minute"),
        Period::Seconds(seconds) => (seconds, "second"),
    };
    match count {
        1 => format!("every {unit}"),
        2 if unit == "week" || unit == "day" => format!("every other {unit}"),
        count => format!("every {count} {unit}s"),
    }
}

/// Describes one time of day on certain days of the week or month, which is what most people write.
fn common(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, of_month, month, of_week] = <[&str; 5]>::try_from(fields).ok()?;
    if month != "*" {
        return None;
    }
    if (of_month, of_week) == ("*", "*")
        && let Some(words) = all_day(minute, hour)
    {
        return Some(words);
    }
    let (minute, hour): (u8, u8) = (minute.parse().ok()?, hour.parse().ok()?);
    let time = format!("{hour:02}:{minute:02}");
    let day = match (of_month, of_week) {
        ("*", "*") => "every day".to_owned(),
        ("*", days) => weekdays(days)?,
        (day, "*") => format!("on day {} of every month", day.parse::<u8>().ok()?),
        _ => return None,
    };
    Some(format!("{day} at {time}"))
}

/// Describes times that repeat all day and night.
fn all_day(minute: &str, hour: &str) -> Option<String> {
    let past = |minute: &str| match minute.parse::<u8>().ok()? {
        0 => Some(String::new()),
        1 => Some(", a minute past".to_owned()),
        minute => Some(format!(", {minute} minutes past")),
    };
    match (step(minute, 60), step(hour, 24)) {
        (Some(minutes), Some(1)) => Some(every(Period::Seconds(minutes * 60))),
        (None, Some(hours)) => Some(every(Period::Seconds(hours * 3_600)) + &past(minute)?),
        _ => None,
    }
}

/// The distance between the times of a field, if it is the same between all of them.
fn step(field: &str, round: u32) -> Option<u32> {
    let step = if field == "*" { 1 } else { field.strip_prefix("*/")?.parse().ok()? };
    (step > 0 && round.is_multiple_of(step)).then_some(step)
}

fn weekdays(text: &str) -> Option<String> {
    let text = text.to_uppercase();
    if matches!(text.as_str(), "1-5" | "MON-FRI") {
        return Some("every weekday".to_owned());
    }
    let day = |word: &str| match word.parse::<usize>() {
        Ok(number) => DAYS.get(number % 7).copied().filter(|_| number <= 7),
        Err(_) => SHORT.iter().position(|short| *short == word).map(|index| DAYS[index]),
    };
    let days: Vec<&str> = text.split(',').map(day).collect::<Option<_>>()?;
    match days.as_slice() {
        [] => None,
        [one] => Some(format!("every {one}")),
        [most @ .., last] => Some(format!("every {} and {last}", most.join(", "))),
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::schedule;

    fn words(cron: &str) -> String {
        let (zone, now) = (Zone::named("Europe/Berlin").unwrap(), Timestamp::from_millis(0));
        describe(&Schedule { rule: Rule::cron(cron, &zone, now).unwrap(), zone })
    }

    #[test]
    fn common_schedules_read_as_people_say_them() {
        assert_eq!(words("0 8 * * 1-5"), "every weekday at 08:00, Europe/Berlin");
        assert_eq!(words("0 8 * * MON-FRI"), "every weekday at 08:00, Europe/Berlin");
        assert_eq!(words("30 7 * * *"), "every day at 07:30, Europe/Berlin");
        assert_eq!(words("0 9 * * tue,thu"), "every Tuesday and Thursday at 09:00, Europe/Berlin");
        assert_eq!(words("0 9 * * 7"), "every Sunday at 09:00, Europe/Berlin");
        assert_eq!(words("15 6 1 * *"), "on day 1 of every month at 06:15, Europe/Berlin");
        assert_eq!(words("*/5 * * * *"), "every 5 minutes, Europe/Berlin");
        assert_eq!(words("* * * * *"), "every minute, Europe/Berlin");
        assert_eq!(words("0 * * * *"), "every hour, Europe/Berlin");
        assert_eq!(words("0 */6 * * *"), "every 6 hours, Europe/Berlin");
        assert_eq!(words("20 */6 * * *"), "every 6 hours, 20 minutes past, Europe/Berlin");
        assert_ne!(words("0 */7 * * *"), "every 7 hours, Europe/Berlin");
        let (rule, zone) = (Rule::At(Timestamp::from_millis(0)), Zone::named("Etc/UTC").unwrap());
        assert_eq!(describe(&Schedule { rule, zone }), "once, on Thu 1970-01-01 00:00, UTC");
        let fortnight = Schedule {
            rule: Rule::Every {
                period: schedule::period("2w").unwrap(),
                from: Some("2026-11-17T08:00:00Z".parse().unwrap()),
            },
            zone: Zone::named("Europe/Berlin").unwrap(),
        };
        assert_eq!(
            describe(&fortnight),
            "every other week from Tue 2026-11-17 09:00 on, Europe/Berlin"
        );
    }
}
