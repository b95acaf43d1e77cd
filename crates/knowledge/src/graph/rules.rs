//! Finds facts in texts without a model: in a few kinds of plain sentences, in fields below a name,
//! and in links between notes. Anything doubtful is left out.

use onyx_storage::{ChunkRow, EntityName, FactRow, Holds, ObjectKind, SourceKind};
use onyx_types::{PersonId, Timestamp, Zone};

use crate::search::ranking::times_in;

/// The name under which these facts are stored. A new number makes all texts be read again.
pub(super) const RULES: &str = "rules 1";

/// A text, and what is known of its source.
pub(super) struct Passage<'a> {
    pub(super) chunk: &'a ChunkRow,
    pub(super) title: &'a str,
    pub(super) kind: SourceKind,
    pub(super) person: Option<&'a PersonId>,
    /// The time at which the text was said or written.
    pub(super) at: Timestamp,
    /// The time zone of the person to whom the text belongs.
    pub(super) zone: Zone,
}

/// The words of a sentence that state a relation.
struct Pattern {
    /// The words in sentences about others, and those in sentences about oneself.
    says: [&'static str; 2],
    relation: &'static str,
    holds: Holds,
}

const fn begins(others: &'static str, own: &'static str, relation: &'static str) -> Pattern {
    Pattern { says: [others, own], relation, holds: Holds::Begins }
}

const fn ends(others: &'static str, own: &'static str, relation: &'static str) -> Pattern {
    Pattern { says: [others, own], relation, holds: Holds::Ends }
}

/// Longer patterns come first, because `no longer lives in` contains `lives in` and means the
/// opposite.
const PATTERNS: &[Pattern] = &[
    ends("no longer lives in", "no longer live in", "lives in"),
    ends("moved away from", "moved away from", "lives in"),
    ends("no longer works at", "no longer work at", "works at"),
    ends("no longer works for", "no longer work for", "works at"),
    ends("stopped working at", "stopped working at", "works at"),
    ends("is no longer married to", "am no longer married to", "married to"),
    begins("lives in", "live in", "lives in"),
    begins("moved to", "moved to", "lives in"),
    begins("works at", "work at", "works at"),
    begins("works for", "work for", "works at"),
    begins("started working at", "started working at", "works at"),
    begins("is married to", "am married to", "married to"),
    begins("is engaged to", "am engaged to", "engaged to"),
    begins("studies at", "study at", "studies at"),
    begins("was born on", "was born on", "born on"),
    begins("was born in", "was born in", "born in"),
    begins("is allergic to", "am allergic to", "allergic to"),
    begins("prefers", "prefer", "prefers"),
    begins("likes", "like", "likes"),
    begins("loves", "love", "likes"),
    begins("dislikes", "dislike", "dislikes"),
    begins("hates", "hate", "dislikes"),
    begins("speaks", "speak", "speaks"),
    begins("owns", "own", "owns"),
];
/// Relations of which only one can hold at a time, so that a newer fact ends the older one. Facts
/// of all other relations can hold together: a person may have two children and any number of
/// friends.
pub(super) const ONE_AT_A_TIME: &[&str] = &[
    "address",
    "age",
    "birthday",
    "born in",
    "born on",
    "employer",
    "engaged to",
    "husband",
    "job",
    "lives in",
    "married to",
    "partner",
    "phone",
    "phone number",
    "spouse",
    "studies at",
    "wife",
    "works at",
];
/// Small words that may stand between a name and the pattern.
const BETWEEN: &[&str] = &["also", "currently", "has", "have", "just", "now", "really", "still"];
/// Words that begin a sentence with a capital but are not a name.
const OPENINGS: &[&str] = &[
    "a",
    "after",
    "also",
    "an",
    "and",
    "apparently",
    "as",
    "because",
    "before",
    "but",
    "do",
    "does",
    "he",
    "her",
    "his",
    "how",
    "if",
    "in",
    "it",
    "last",
    "maybe",
    "my",
    "no",
    "nobody",
    "not",
    "now",
    "of",
    "on",
    "our",
    "perhaps",
    "she",
    "since",
    "so",
    "somebody",
    "someone",
    "that",
    "the",
    "their",
    "then",
    "there",
    "they",
    "this",
    "today",
    "we",
    "well",
    "what",
    "when",
    "where",
    "who",
    "why",
    "yes",
    "yesterday",
    "you",
    "your",
];
/// Words that end a statement and begin another one.
const STOPS: &[&str] = &[
    " and ",
    " but ",
    " because ",
    " where ",
    " when ",
    " while ",
    " after ",
    " before ",
    " so ",
    " which ",
    " who ",
    " with ",
    " though ",
    " (",
    ", ",
];
/// Words that precede a time.
const BEFORE_TIMES: &[&str] =
    &[" since ", " until ", " from ", " on ", " in ", " last ", " this ", " yesterday", " today"];
const LONGEST_VALUE: usize = 80;
const MOST_VALUE_WORDS: usize = 8;
const MOST_NAME_WORDS: usize = 3;
const LONGEST_LINE: usize = 1_000;

/// All facts that the rules find in a text.
pub(super) fn facts_in(passage: &Passage<'_>) -> Vec<FactRow> {
    let mut facts = Vec::new();
    for (number, line) in (0..).zip(passage.chunk.text.lines()) {
        let line = plain(line, passage).trim();
        if line.is_empty() || line.len() > LONGEST_LINE {
            continue;
        }
        let number = match passage.chunk.message {
            Some(_) => passage.chunk.start_line,
            None => passage.chunk.start_line + number,
        };
        let mut add = |found: RuleFact| {
            facts.push(found.row(number, line));
        };
        linked(line, passage).into_iter().for_each(&mut add);
        if let Some(found) = field(line, passage) {
            add(found);
            continue;
        }
        for sentence in sentences(line) {
            stated_fact(sentence, passage).into_iter().for_each(&mut add);
        }
    }
    facts
}

struct RuleFact {
    subject: EntityName,
    relation: String,
    object: EntityName,
    object_kind: ObjectKind,
    holds: Holds,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl RuleFact {
    fn row(self, line: u32, said: &str) -> FactRow {
        let Self { subject, relation, object, object_kind, holds, from, until } = self;
        let said = said.to_owned();
        FactRow { subject, relation, object, object_kind, holds, line, said, from, until }
    }
}

/// A line without markup and, in a message, without the name of its author.
fn plain<'a>(line: &'a str, passage: &Passage<'_>) -> &'a str {
    // Comments are not part of the text, and those of Onyx mark who wrote a line.
    let line = line.split("<!--").next().unwrap_or_default();
    let line = line.trim().trim_start_matches(['-', '*', '•', '>', '+', ' ']);
    let line = line.strip_prefix("[ ] ").or_else(|| line.strip_prefix("[x] ")).unwrap_or(line);
    if let Some(message) = &passage.chunk.message
        && let Some(words) = line.strip_prefix(message.author.as_str())
        && let Some(words) = words.strip_prefix(": ")
    {
        return words;
    }
    // A line of a daily log begins with the time of day.
    match line.split_once(' ') {
        Some((time, rest)) if passage.kind == SourceKind::Daily && is_time(time) => rest,
        Some(_) | None => line,
    }
}

fn is_time(word: &str) -> bool {
    word.split_once(':').is_some_and(|(hour, minute)| {
        [hour, minute].iter().all(|part| part.len() == 2 && part.parse::<u8>().is_ok())
    })
}

/// The sentences of a line without their final punctuation; questions are left out.
fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in line.match_indices(['.', '!', '?', ';']) {
        let after = &line[at + mark.len()..];
        let is_end = after.is_empty() || after.starts_with(char::is_whitespace);
        if is_end && !(mark == "." && is_abbreviation(&line[start..at])) {
            sentences.push(&line[start..at + mark.len()]);
            start = at + mark.len();
        }
    }
    sentences.push(&line[start..]);
    sentences.retain(|sentence| !sentence.ends_with('?'));
    sentences.iter().map(|sentence| sentence.trim().trim_end_matches(['.', '!', ';'])).collect()
}

/// Whether the text ends with an abbreviation such as `Dr`, `Mr` or `St`, after which a dot does
/// not end the sentence.
fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(' ').next().unwrap_or_default();
    let is_capital = word.chars().next().is_some_and(char::is_uppercase);
    is_capital && word.chars().count() <= 2
}

/// The facts in links such as `[[Other note]]` in a note.
fn linked(line: &str, passage: &Passage<'_>) -> Vec<RuleFact> {
    if passage.chunk.message.is_some() {
        return Vec::new();
    }
    let title = passage.title.split(" (").next().unwrap_or_default();
    let targets = line.split("[[").skip(1).filter_map(|rest| rest.split_once("]]"));
    let names = targets.map(|(target, _)| target.split(['|', '#']).next().unwrap_or_default());
    let link = |name: &str| RuleFact {
        subject: EntityName::new(title),
        relation: "links to".to_owned(),
        object: EntityName::new(name),
        object_kind: ObjectKind::Entity,
        holds: Holds::Begins,
        from: None,
        until: None,
    };
    names.filter(|name| !name.trim().is_empty() && !title.is_empty()).map(link).collect()
}

/// The fact in a field such as `Phone: 030 1234` below the name of an entity.
fn field(line: &str, passage: &Passage<'_>) -> Option<RuleFact> {
    if passage.chunk.message.is_some() || passage.kind == SourceKind::Daily {
        return None;
    }
    let under = passage.chunk.heading.rsplit(['>', '/', '›']).next()?.trim();
    let (label, value) = line.split_once(": ")?;
    let label = label.trim_matches(['*', '_', ' ']);
    let is_label = label.split(' ').count() <= MOST_NAME_WORDS
        && label.len() <= 30
        && label.chars().all(|c| c.is_alphabetic() || c == ' ' || c == '-');
    let subject = name_at_end(under).filter(|name| *name == under)?;
    let value = value.trim_matches(['*', '_', ' ']);
    (is_label && !label.is_empty()).then_some(())?;
    about(passage, EntityName::new(subject), &label.to_lowercase(), Holds::Begins, value)
}

fn stated_fact(sentence: &str, passage: &Passage<'_>) -> Option<RuleFact> {
    for pattern in PATTERNS {
        for (words, is_own) in pattern.says.iter().zip([false, true]) {
            let Some((left, right)) = split_at_words(sentence, words) else { continue };
            let left = left.trim();
            let subject = if !is_own {
                subject_of(left, passage)
            } else if left == "I" {
                own_name(passage)
            } else {
                None
            };
            if let Some(subject) = subject {
                return about(passage, subject, pattern.relation, pattern.holds, right);
            }
        }
    }
    attribute(sentence, passage)
}

/// The fact in a sentence such as `Anna's phone number is 030 1234` or `my dentist is Dr Li`.
fn attribute(sentence: &str, passage: &Passage<'_>) -> Option<RuleFact> {
    let (left, value) = split_at_words(sentence, "is")?;
    let (owner, what) = match left.split_once("'s ").or_else(|| left.split_once("’s ")) {
        Some((owner, what)) => (subject_of(owner, passage)?, what),
        None => {
            let what = left.strip_prefix("My ").or_else(|| left.strip_prefix("my "))?;
            (own_name(passage)?, what)
        }
    };
    let what = what.trim();
    let is_plain = what.chars().all(|c| c.is_lowercase() || c == ' ' || c == '-');
    let is_short = !what.is_empty() && what.split(' ').count() <= MOST_NAME_WORDS;
    // Words such as `is not` and `is going` do not say what somebody or something is.
    let first = value.split(' ').next().unwrap_or_default();
    let says = !["not", "going", "being", "getting", "also", "very", "so"].contains(&first)
        && !first.ends_with("ing");
    (is_plain && is_short && says).then_some(())?;
    about(passage, owner, what, Holds::Begins, value)
}

/// Builds the fact from the right side of a sentence, with the time since or until which it holds.
fn about(
    passage: &Passage<'_>,
    subject: EntityName,
    relation: &str,
    holds: Holds,
    right: &str,
) -> Option<RuleFact> {
    let (right, from, until) = without_time(right, passage);
    let stop = STOPS.iter().filter_map(|stop| right.find(stop)).min().unwrap_or(right.len());
    let object = right[..stop].trim_matches(|c: char| " .,;:!\"'“”*_[]".contains(c));
    let words = object.split_whitespace().count();
    if object.is_empty() || object.len() > LONGEST_VALUE || words > MOST_VALUE_WORDS {
        return None;
    }
    let is_name = name_at_end(object).is_some_and(|name| name == object);
    let object_kind = if is_name { ObjectKind::Entity } else { ObjectKind::Value };
    let relation = relation.to_owned();
    let object = EntityName::new(object);
    Some(RuleFact { subject, relation, object, object_kind, holds, from, until })
}

/// Takes a time such as `since May 2024`, `in 2019` or `until last week` off the end of a text.
fn without_time<'a>(
    text: &'a str,
    passage: &Passage<'_>,
) -> (&'a str, Option<Timestamp>, Option<Timestamp>) {
    let mut places: Vec<(usize, &str)> =
        BEFORE_TIMES.iter().flat_map(|words| text.match_indices(words)).collect();
    places.sort_unstable();
    for (at, words) in places {
        let time = text[at..].trim();
        let time = time.strip_prefix("since ").map_or_else(
            || time.to_owned(),
            |rest| {
                // The parser of times does not know `since`, and `since May` names the same month
                // as `in May`.
                format!("in {rest}")
            },
        );
        let found = [time.clone(), time.replacen("in ", "", 1)]
            .iter()
            .find_map(|time| times_in(time, passage.at, passage.zone.time_zone()));
        let (from, until) = match found {
            Some(range) if words.trim() == "until" => (None, range.to()),
            Some(range) => (range.from(), None),
            None => (None, None),
        };
        if from.is_some() || until.is_some() {
            return (&text[..at], from, until);
        }
    }
    (text, None, None)
}

/// The parts of a sentence before and after some words, which must be whole words.
fn split_at_words<'a>(sentence: &'a str, words: &str) -> Option<(&'a str, &'a str)> {
    let is_border = |c: Option<char>| c.is_none_or(|c| c == ' ' || c == ',');
    sentence.match_indices(words).find_map(|(at, _)| {
        let (left, right) = (&sentence[..at], &sentence[at + words.len()..]);
        let whole = is_border(left.chars().next_back()) && right.starts_with(' ');
        (whole && !left.trim().is_empty()).then(|| (left.trim(), right.trim()))
    })
}

/// The entity that the words before a pattern name.
fn subject_of(left: &str, passage: &Passage<'_>) -> Option<EntityName> {
    let mut left = left.trim();
    while let Some((rest, last)) = left.rsplit_once(' ')
        && BETWEEN.contains(&last)
    {
        left = rest.trim();
    }
    if matches!(left, "The user" | "the user" | "User" | "The person" | "the person") {
        return passage.person.map(|person| EntityName::new(person.as_str()));
    }
    name_at_end(left).map(EntityName::new)
}

/// The author of a message, if that is a person: the one who says `I`.
fn own_name(passage: &Passage<'_>) -> Option<EntityName> {
    let author = passage.chunk.message.as_ref()?.author.as_str();
    let is_person = passage.person.is_some_and(|person| person.as_str() == author);
    let is_named = author.chars().next().is_some_and(char::is_uppercase);
    (is_person || is_named).then(|| EntityName::new(author))
}

/// The name at the end of a text: the capitalised words that belong together.
fn name_at_end(text: &str) -> Option<&str> {
    let mut start = text.len();
    for (count, word) in text.rsplit(' ').enumerate() {
        let is_opening = OPENINGS.contains(&word.to_lowercase().as_str());
        if count == MOST_NAME_WORDS || is_opening || !is_name_word(word) {
            break;
        }
        start = start.saturating_sub(word.len() + usize::from(count > 0));
    }
    let name = text[start..].trim();
    (!name.is_empty()).then_some(name)
}

fn is_name_word(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase)
        && letters.all(|c| c.is_alphanumeric() || matches!(c, '-' | '\'' | '.' | '’' | '&'))
}

#[cfg(test)]
mod tests {
    use onyx_storage::Message;
    use onyx_types::{Hash, Origin};

    use super::*;

    fn chunk(text: &str, heading: &str, author: Option<&str>) -> ChunkRow {
        ChunkRow {
            start_line: 3,
            end_line: 9,
            heading: heading.to_owned(),
            origin: Origin::Person,
            text: text.to_owned(),
            hash: Hash::ZERO,
            message: author.map(|author| Message {
                turn: None,
                author: author.to_owned(),
                at: None,
                position: 0,
            }),
        }
    }

    fn found(text: &str, heading: &str, author: Option<&str>) -> Vec<String> {
        let person: PersonId = "owner".parse().unwrap();
        let passage = Passage {
            chunk: &chunk(text, heading, author),
            title: "Family (2026-01-01)",
            kind: SourceKind::Note,
            person: Some(&person),
            at: "2026-11-16T12:00:00Z".parse().unwrap(),
            zone: Zone::named("Pacific/Auckland").unwrap(),
        };
        let day = |at: Option<Timestamp>| at.map(|at| passage.zone.stamp(at)).unwrap_or_default();
        let told = |fact: FactRow| {
            let ends = if fact.holds == Holds::Ends { "not " } else { "" };
            let kind = if fact.object_kind == ObjectKind::Entity { "" } else { "=" };
            let span = format!("{}..{}", day(fact.from), day(fact.until));
            let span = if span == ".." { String::new() } else { format!(" {span}") };
            let (subject, object) = (fact.subject.name, fact.object.name);
            format!("{}: {subject} {ends}{} {kind}{object}{span}", fact.line, fact.relation)
        };
        facts_in(&passage).into_iter().map(told).collect()
    }

    #[test]
    fn plain_sentences_say_who_is_what_to_whom_and_since_when() {
        let text = "- Yesterday Anna Li moved to Rome, the old town.\n\
                    Ben now works at Acme Corp since May 2024 and likes it.\n\
                    The user no longer lives in Bonn.\n\
                    Anna's phone number is 030 1234";
        assert_eq!(
            found(text, "", None),
            [
                "3: Anna Li lives in Rome",
                "4: Ben works at Acme Corp 2024-05-01T00:00+12:00..",
                "5: owner not lives in Bonn",
                "6: Anna phone number =030 1234",
            ]
        );
    }

    #[test]
    fn what_is_asked_wished_or_denied_is_no_fact() {
        for text in [
            "Do you know if Anna lives in Rome?",
            "Anna wants to live in Rome",
            "He lives in Rome",
            "Ben does not work at Acme",
            "Nobody likes rain",
            "Anna's car is not red",
            "the place where everybody lives in peace",
            "<!-- Anna lives in Rome -->",
        ] {
            assert_eq!(found(text, "", None), [""; 0], "{text}");
        }
    }

    #[test]
    fn whoever_speaks_of_themselves_is_known_by_their_name() {
        assert_eq!(found("owner: I live in Graz", "", Some("owner")), ["3: owner lives in Graz"]);
        assert_eq!(
            found("Rosa: My dentist is Dr. Li", "", Some("Rosa")),
            ["3: Rosa dentist Dr. Li"]
        );
        assert_eq!(found("main: I live in a server", "", Some("main")), [""; 0], "an agent");
    }

    #[test]
    fn fields_under_a_name_and_links_are_facts() {
        assert_eq!(
            found("Phone: 030 1234\nSee [[Anna Li|her]].", "People > Ben", None),
            ["3: Ben phone =030 1234", "4: Family links to Anna Li",]
        );
        assert_eq!(found("Phone: 030 1234", "what is left to do", None), [""; 0]);
    }
}
