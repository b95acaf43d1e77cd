//! Recognises notes that are transcripts: lines that begin with a speaker's name, and exports of
//! chat programs.

mod dates;

use onyx_types::{Timestamp, Zone};

use dates::{DateOrder, Stamp};

/// A message of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TranscriptMessage {
    pub(crate) author: String,
    pub(crate) at: Option<Timestamp>,
    /// The text, which begins with the speaker's name.
    pub(crate) text: String,
    /// The first line of the message, counted from 1.
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
}

const LONGEST_NAME: usize = 40;
const MOST_NAME_WORDS: usize = 3;
/// The fewest messages of a transcript. A text with fewer is a note with a colon in it.
const FEWEST_MESSAGES: usize = 3;
/// The most speakers of a transcript. A text with more names is a list of terms.
const MOST_SPEAKERS: usize = 12;
/// Words that precede a colon but are not a person's name.
const LABELS: &[&str] = &[
    "answer", "caution", "date", "edit", "error", "example", "fwd", "hint", "idea", "info", "link",
    "nb", "note", "notes", "ps", "question", "re", "reminder", "result", "source", "subject",
    "summary", "tip", "title", "todo", "update", "warning",
];

/// The speaker of a message that begins with a capitalised name and a colon.
pub(crate) fn speaker(message: &str) -> Option<&str> {
    let (name, rest) = message.split_once(": ")?;
    let is_capital = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
    let looks_like_one = is_name(name) && name.split(' ').all(is_capital);
    (looks_like_one && !rest.trim().is_empty()).then_some(name)
}

fn is_name(name: &str) -> bool {
    let words = name.split(' ').count();
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '.' | '’');
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && words <= MOST_NAME_WORDS
        && name.chars().all(is_letter)
        && name.chars().any(char::is_alphabetic)
        && !LABELS.contains(&name.to_lowercase().as_str())
}

/// A message whose time is not known yet, because the order of day and month is decided for the
/// whole text.
struct StampedMessage {
    message: TranscriptMessage,
    stamp: Option<Stamp>,
}

/// The messages of a text that is a conversation; `None` where it is none. Its times are meant as the
/// clocks of this zone showed them.
pub(crate) fn read(text: &str, zone: &Zone) -> Option<Vec<TranscriptMessage>> {
    let (mut read, mut stamps) = (Vec::<StampedMessage>::new(), Vec::new());
    let mut before = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = StampedLine::of(line);
        // Lines of the chat program itself have no speaker, but their dates count too.
        stamps.extend(line.stamp);
        if let Some(message) = line.opening(number) {
            read.push(StampedMessage { message, stamp: line.stamp });
        } else if line.whole.is_empty() {
            continue;
        } else if let Some(last) = read.last_mut() {
            last.message.text.push('\n');
            last.message.text.push_str(line.as_written);
            last.message.end_line = number;
        } else {
            before += 1;
        }
    }
    let order = DateOrder::of(&stamps);
    let timed = read.into_iter().map(|StampedMessage { message, stamp }| TranscriptMessage {
        at: stamp.and_then(|stamp| moment(&stamp, order, zone)),
        ..message
    });
    let messages: Vec<_> = timed.collect();
    is_conversation(&messages, before).then_some(messages)
}

fn moment(stamp: &Stamp, order: DateOrder, zone: &Zone) -> Option<Timestamp> {
    let at = zone.time_zone().to_timestamp(stamp.read(order)?).ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()))
}

/// A few lines may stand before it: a heading, a date, who takes part.
fn is_conversation(messages: &[TranscriptMessage], lines_before: usize) -> bool {
    let mut speakers: Vec<&str> = messages.iter().map(|message| message.author.as_str()).collect();
    speakers.sort_unstable();
    speakers.dedup();
    let lines: u32 = messages.iter().map(|message| message.end_line - message.start_line + 1).sum();
    messages.len() >= FEWEST_MESSAGES
        && speakers.len() <= MOST_SPEAKERS
        && messages.len() * 2 >= speakers.len() * 3
        && lines_before * 2 <= messages.len()
        && lines as usize <= messages.len() * 12
}

/// A line, with the time before the words as WhatsApp writes it.
struct StampedLine<'a> {
    /// The line with the spaces before it.
    as_written: &'a str,
    whole: &'a str,
    stamp: Option<Stamp>,
    /// The line without its time.
    rest: &'a str,
}

impl<'a> StampedLine<'a> {
    fn of(line: &'a str) -> Self {
        let whole = line.trim().trim_start_matches('\u{200e}');
        let (stamp, rest) = stamped(whole).map_or((None, whole), |(at, rest)| (Some(at), rest));
        Self { as_written: line.trim_end(), whole, stamp, rest }
    }

    /// The message that the line begins: `Name: …`, `**Name:** …` or `## Name`.
    fn opening(&self, number: u32) -> Option<TranscriptMessage> {
        let plain = self.rest.trim_start_matches(['*', '_', '>', ' ']);
        let (name, words) = match heading(self.whole) {
            Some(name) => (name, ""),
            None => plain.split_once(':')?,
        };
        let name = name.trim_matches(['*', '_', ' ']);
        let words = words.trim_start_matches(['*', '_']);
        let separated = words.is_empty() || words.starts_with(' ');
        (separated && is_name(name)).then(|| TranscriptMessage {
            author: name.to_owned(),
            at: None,
            text: format!("{name}: {}", words.trim()),
            start_line: number,
            end_line: number,
        })
    }
}

/// The role in a heading such as `#### ChatGPT:`, as exports of chats with models contain it.
fn heading(line: &str) -> Option<&str> {
    const ROLES: &[&str] =
        &["user", "you", "human", "assistant", "chatgpt", "claude", "gpt-4", "ai"];
    let name = line.strip_prefix('#')?.trim_start_matches('#').trim().trim_end_matches(':');
    ROLES.contains(&name.to_lowercase().as_str()).then_some(name)
}

/// The time before a message and the rest of the line, as in `[12/05/2023, 18:03:12] Name: …` or
/// `12/05/2023, 18:03 - Name: …`.
fn stamped(line: &str) -> Option<(Stamp, &str)> {
    let (stamp, rest) = match line.strip_prefix('[') {
        Some(inside) => inside.split_once("] ")?,
        None => line.split_once(" - ")?,
    };
    Some((Stamp::parse(stamp)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<Vec<(String, String, u32, u32)>> {
        let messages = read(text, &Zone::utc())?.into_iter();
        Some(messages.map(|m| (m.author, m.text, m.start_line, m.end_line)).collect())
    }

    fn message(author: &str, text: &str, start: u32, end: u32) -> (String, String, u32, u32) {
        (author.to_owned(), text.to_owned(), start, end)
    }

    #[test]
    fn lines_with_names_are_messages_and_other_lines_go_on() {
        let text = "# With Ana\n\nme: are you in?\nAna: yes,\nin the kitchen\n\nme: good\n";
        assert_eq!(
            told(text),
            Some(vec![
                message("me", "me: are you in?", 3, 3),
                message("Ana", "Ana: yes,\nin the kitchen", 4, 5),
                message("me", "me: good", 7, 7),
            ])
        );
    }

    #[test]
    fn a_note_with_colons_is_a_note() {
        assert_eq!(told("Flour: 200 g\nWater: 100 g\nSalt: a little\nYeast: none\n"), None);
        assert_eq!(told("Ana: call her\n"), None);
        assert_eq!(told("TIP: a\nTIP: b\nTIP: c\n"), None);
        assert_eq!(told("see https://example.org\nat 10:30 we go\n"), None);
    }

    #[test]
    fn exports_of_chat_programs_are_read_with_their_times() {
        let one = "12/05/2023, 18:03 - Ana: Are you in?\n12/05/2023, 18:04 - Ben Li: Yes\n\
                   12/05/2023, 18:05 - Ana: Fine";
        let other = "[5/13/23, 6:03:12 PM] Ana: Are you in?\n[5/13/23, 6:04:00 PM] Ben Li: Yes\n\
                     [5/13/23, 6:05:00 PM] Ana: Fine";
        let zone = Zone::named("Pacific/Auckland").unwrap();
        for (text, day) in [(one, "2023-05-12"), (other, "2023-05-13")] {
            let messages = read(text, &zone).unwrap();
            let authors: Vec<&str> = messages.iter().map(|m| m.author.as_str()).collect();
            assert_eq!(authors, ["Ana", "Ben Li", "Ana"]);
            let at = zone.stamp(messages[1].at.unwrap());
            assert_eq!(at, format!("{day}T18:04+12:00"));
        }
        let model = "#### You:\nhow far is it\n\n#### ChatGPT:\n40 km\n\n#### You:\nthanks";
        assert_eq!(read(model, &zone).unwrap()[1].text, "ChatGPT: \n40 km");
    }

    #[test]
    fn an_export_has_one_order_of_day_and_month_and_midnight_is_hour_zero() {
        let text = "1/2/23, 11:58 PM - Messages are end-to-end encrypted.\n\
                    1/2/23, 11:59 PM - Ana: Are you in?\n1/3/23, 12:05 AM - Ben Li: Yes\n\
                    1/13/23, 12:05 PM - Ana: Fine";
        let zone = Zone::utc();
        let messages = read(text, &zone).unwrap();
        let times: Vec<String> = messages.iter().map(|m| zone.stamp(m.at.unwrap())).collect();
        assert_eq!(times, ["2023-01-02T23:59Z", "2023-01-03T00:05Z", "2023-01-13T12:05Z"]);
    }

    #[test]
    fn a_message_may_name_its_speaker() {
        assert_eq!(speaker("Ana Li: I am in"), Some("Ana Li"));
        assert_eq!(speaker("Note: I am in"), None);
        assert_eq!(speaker("the thing is: I am in"), None);
    }
}
