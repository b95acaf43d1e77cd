//! Reads times in the formats of other programs.

use onyx_types::Timestamp;

/// Parses a time with an offset, or in UTC without one.
pub(crate) fn iso(text: &str) -> Option<Timestamp> {
    let moment: Result<jiff::Timestamp, _> = text.parse();
    let moment = moment.ok().or_else(|| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

pub(crate) fn seconds(seconds: f64) -> Timestamp {
    // The time is rounded, because programs write fractions of a millisecond too.
    Timestamp::from_millis((seconds * 1_000.0).round() as i64)
}

pub(crate) fn millis(millis: f64) -> Timestamp {
    Timestamp::from_millis(millis.round() as i64)
}
