//! The daily log: a list of entries. Each line of a tainted entry is marked, so that it is never
//! taken for words of the person or of an untainted agent.

use onyx_types::{Taint, Timestamp, Zone};

/// The mark at the end of a tainted line. It is invisible in rendered markdown.
const MARK: &str = " <!-- agent_tainted -->";

/// An entry as the log holds it: `- 14:03 text`, with further lines indented.
pub(crate) fn entry(at: Timestamp, zone: &Zone, text: &str, taint: Taint) -> String {
    let time = zone.time(at);
    let mark = match taint {
        Taint::Clean => "",
        Taint::Tainted => MARK,
    };
    let mut entry = String::new();
    // Every character that any reader takes for a line end starts a new line here, so that no part
    // of a tainted entry is on a line without a mark.
    for (index, line) in text.trim().split(is_line_end).enumerate() {
        match index {
            0 => entry.push_str(&format!("- {time} {}{mark}\n", line.trim_end())),
            _ if line.trim().is_empty() => {}
            _ => entry.push_str(&format!("  {}{mark}\n", line.trim_end())),
        }
    }
    entry
}

/// A daily log in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DailyLog {
    pub trusted: String,
    /// The marked lines without their marks. They may be shown only as untrusted text.
    pub untrusted: String,
}

impl DailyLog {
    pub fn split(text: &str) -> Self {
        let mut log = Self { trusted: String::new(), untrusted: String::new() };
        for line in text.lines() {
            // The mark is searched on the whole line, because an editor may have joined a marked
            // line with another.
            if line.contains(MARK.trim_start()) {
                log.untrusted.push_str(line.replace(MARK.trim_start(), "").trim_end());
                log.untrusted.push('\n');
            } else {
                log.trusted.push_str(line);
                log.trusted.push('\n');
            }
        }
        log
    }

    pub(crate) fn has_tainted_lines(text: &str) -> bool {
        !Self::split(text).untrusted.is_empty()
    }
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at() -> Timestamp {
        "2026-01-01T14:03:59Z".parse().unwrap()
    }

    #[test]
    fn an_entry_starts_with_its_time_and_indents_its_further_lines() {
        assert_eq!(
            entry(at(), &Zone::utc(), "one\n\ntwo\r\n", Taint::Clean),
            "- 14:03 one\n  two\n"
        );
    }

    #[test]
    fn every_line_of_a_tainted_entry_is_marked() {
        assert_eq!(
            entry(at(), &Zone::utc(), "one\ntwo", Taint::Tainted),
            "- 14:03 one <!-- agent_tainted -->\n  two <!-- agent_tainted -->\n"
        );
    }

    #[test]
    fn a_log_splits_into_what_may_be_believed_and_what_not() {
        let log = entry(at(), &Zone::utc(), "mine", Taint::Clean)
            + &entry(at(), &Zone::utc(), "theirs\nalso", Taint::Tainted);
        assert_eq!(
            DailyLog::split(&log),
            DailyLog {
                trusted: "- 14:03 mine\n".into(),
                untrusted: "- 14:03 theirs\n  also\n".into(),
            }
        );
    }

    #[test]
    fn a_marked_line_joined_with_another_stays_untrusted() {
        let joined =
            entry(at(), &Zone::utc(), "theirs", Taint::Tainted).trim_end().to_owned() + " mine";
        assert_eq!(DailyLog::split(&joined).trusted, "");
    }

    proptest! {
        #[test]
        fn no_text_written_under_taint_is_ever_trusted(text in any::<String>()) {
            prop_assert_eq!(DailyLog::split(&entry(at(), &Zone::utc(), &text, Taint::Tainted)).trusted, "");
        }
    }
}
