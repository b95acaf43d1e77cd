//! Builds the text by which a chunk is embedded or looked up: its own text, and words that say
//! where it comes from.

use onyx_storage::ChunkRow;
use onyx_types::{Clock, PersonId, Timestamp, Zone};

/// The text from which the vector of a chunk is made. A chunk of a note gets the note's title and
/// heading, because it stands alone. A message gets neither, because the title of a conversation
/// says nothing about a single message.
pub(crate) fn embedded_text(title: &str, row: &ChunkRow) -> String {
    match row.message {
        Some(_) => row.text.clone(),
        None => indexed_text(title, &row.heading, &row.text),
    }
}

/// The text by whose words a chunk is found. A message can also be found by its date, in the time
/// zone of its person.
pub(crate) fn searched_text(title: &str, row: &ChunkRow, zone: &Zone) -> String {
    let at = row.message.as_ref().and_then(|message| message.at);
    let date = at.and_then(|at| spoken_date(at, zone));
    match (&row.message, date) {
        (Some(_), Some(date)) => format!("{}\n{date}", row.text),
        (Some(_), None) => row.text.clone(),
        (None, _) => indexed_text(title, &row.heading, &row.text),
    }
}

/// A date as people write it: `8 May 2023`.
fn spoken_date(at: Timestamp, zone: &Zone) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
    Some(at.to_zoned(zone.time_zone().clone()).strftime("%-d %B %Y").to_string())
}

/// The time zone in which days and hours of a text are meant; UTC if the text belongs to no person.
pub(crate) fn zone_of(clock: &dyn Clock, person: Option<&PersonId>) -> Zone {
    person.map(|person| clock.zone_of(person)).unwrap_or_default()
}

pub(crate) fn indexed_text(title: &str, heading: &str, text: &str) -> String {
    let mut indexed = String::with_capacity(title.len() + heading.len() + text.len() + 2);
    indexed.push_str(title);
    if !heading.is_empty() && heading != title {
        indexed.push('\n');
        indexed.push_str(heading);
    }
    indexed.push('\n');
    indexed.push_str(text);
    indexed
}
