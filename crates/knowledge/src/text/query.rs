//! Parses what a person typed: words, "phrases", and prefixes*.

/// Which words of a query a text must contain to be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequiredWords {
    /// One of the words is enough; more of them make the match better.
    #[default]
    Any,
    All,
}

/// A query, divided into its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextQuery {
    pub(crate) words: String,
    pub(crate) needed: RequiredWords,
    pub(crate) phrases: Vec<String>,
    pub(crate) beginnings: Vec<String>,
}

/// The longest text that is searched for, which is more than a person types. Longer messages are
/// cut.
const LONGEST: usize = 2_000;

impl TextQuery {
    pub(crate) fn read(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        let mut wanted = Self::default();
        // A quotation mark without a partner is an ordinary character.
        let quotes = text.matches('"').count() / 2 * 2;
        for (place, part) in text.splitn(quotes + 1, '"').enumerate() {
            let part = part.trim();
            match place % 2 {
                1 if place < quotes && !part.is_empty() => wanted.phrases.push(part.to_owned()),
                _ => wanted.add_words(part),
            }
        }
        wanted
    }

    /// A query of what a person typed to filter a list: only entries that contain all of it match.
    pub(crate) fn all_of(text: &str) -> Self {
        Self { needed: RequiredWords::All, ..Self::read(text) }
    }

    /// A query of a message's text, in which quotes and stars have no meaning.
    pub(crate) fn said(text: &str) -> Self {
        let words = text[..text.floor_char_boundary(LONGEST)].to_owned();
        Self { words, ..Self::default() }
    }

    fn add_words(&mut self, text: &str) {
        for word in text.split_whitespace() {
            match word.strip_suffix('*').filter(|start| !start.is_empty()) {
                Some(start) => self.beginnings.push(start.to_owned()),
                None => {
                    self.words.push_str(word);
                    self.words.push(' ');
                }
            }
        }
    }

    /// Every word of the query, so that they can be marked in a text.
    pub(crate) fn all_words(&self) -> String {
        let mut all = self.words.clone();
        for part in self.phrases.iter().chain(&self.beginnings) {
            all.push_str(part);
            all.push(' ');
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_phrases_and_beginnings_are_told_apart() {
        let wanted = TextQuery::read(r#"the "red bike" in gara* and "no end"#);
        assert_eq!(wanted.words, "the in and \"no end ");
        assert_eq!(wanted.phrases, ["red bike"]);
        assert_eq!(wanted.beginnings, ["gara"]);
        assert_eq!(
            TextQuery::read("\"\" *"),
            TextQuery { words: "* ".into(), ..TextQuery::default() }
        );
    }
}
