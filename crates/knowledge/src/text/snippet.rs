use schemars::JsonSchema;
use serde::Serialize;
use tantivy::tokenizer::TextAnalyzer;

use super::query::TextQuery;
use super::words::{plain_analyzer, terms};

/// A part of a chunk's text, and whether it is what was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnippetPart {
    pub text: String,
    pub hit: bool,
}

const LENGTH: usize = 280;
/// Two words that share a beginning of this length are taken for forms of one word.
const STEM: usize = 4;

/// Finds the words of a query in the texts that are shown.
pub(crate) struct Marker {
    terms: Vec<String>,
    analyzer: TextAnalyzer,
}

impl Marker {
    pub(crate) fn new(wanted: &TextQuery) -> Self {
        let mut analyzer = plain_analyzer();
        let terms = terms(&mut analyzer, &wanted.all_words());
        Self { terms, analyzer }
    }

    /// The part of a text that contains most of what was looked for, divided into hits and other
    /// text.
    pub(crate) fn snippet(&mut self, text: &str) -> Vec<SnippetPart> {
        let hits = self.hits(text);
        let start = best_start(text, &hits);
        let end = text.floor_char_boundary((start + LENGTH).min(text.len()));
        cut(text, start, end, &hits)
    }

    /// The positions of the words in a text. Most words are plain and can be compared as they are.
    fn hits(&mut self, text: &str) -> Vec<(usize, usize)> {
        let mut hits = Vec::new();
        let mut at = 0;
        for run in text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_') {
            if is_plain(run) {
                if self.terms.iter().any(|term| is_form(term, run)) {
                    hits.push((at, at + run.len()));
                }
            } else {
                let mut words = self.analyzer.token_stream(run);
                while words.advance() {
                    let word = words.token();
                    if self.terms.iter().any(|term| is_form(term, &word.text)) {
                        hits.push((at + word.offset_from, at + word.offset_to));
                    }
                }
            }
            at += run.len() + 1;
        }
        hits.dedup_by(|later, earlier| later.0 < earlier.1);
        hits
    }
}

/// Whether a word has neither accents nor parts.
fn is_plain(run: &str) -> bool {
    let seam = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    run.is_ascii() && !run.contains('_') && !run.as_bytes().windows(2).any(seam)
}

/// Whether a word is a form of a searched word, ignoring case.
fn is_form(term: &str, word: &str) -> bool {
    let same = |(a, b): &(char, char)| *a == b.to_ascii_lowercase();
    let alike = term.chars().zip(word.chars()).take_while(same).count();
    if alike == 0 {
        return false;
    }
    let (term, word) = (term.chars().count(), word.chars().count());
    let rest = term.max(word) - alike;
    rest == 0 || (alike >= STEM && rest <= 3)
}

/// The start of the window with the most hits, at the start of a word.
fn best_start(text: &str, hits: &[(usize, usize)]) -> usize {
    if text.len() <= LENGTH {
        return 0;
    }
    let mut most = None;
    let mut end = 0;
    for (place, (from, _)) in hits.iter().enumerate() {
        end = end.max(place);
        end += hits[end..].iter().take_while(|(_, to)| *to <= from + LENGTH).count();
        if most.is_none_or(|(within, _)| end - place > within) {
            most = Some((end - place, *from));
        }
    }
    let Some((_, first)) = most else { return 0 };
    let from = text.floor_char_boundary(first.saturating_sub(LENGTH / 6));
    match text[from..first].find(char::is_whitespace) {
        Some(space) if from > 0 => text.ceil_char_boundary(from + space + 1),
        Some(_) | None => from,
    }
}

fn cut(text: &str, start: usize, end: usize, hits: &[(usize, usize)]) -> Vec<SnippetPart> {
    let mut parts = Vec::new();
    let mut at = start;
    let mut push = |text: &str, hit: bool| {
        if !text.is_empty() {
            parts.push(SnippetPart { text: text.to_owned(), hit });
        }
    };
    for (from, to) in hits.iter().filter(|(from, to)| *from >= start && *to <= end) {
        push(&text[at..*from], false);
        push(&text[*from..*to], true);
        at = *to;
    }
    push(&text[at..end], false);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, query: &str) -> Vec<(String, bool)> {
        let parts = Marker::new(&TextQuery::read(query)).snippet(text);
        parts.into_iter().map(|part| (part.text, part.hit)).collect()
    }

    #[test]
    fn what_was_looked_for_is_marked_in_whatever_form() {
        assert_eq!(
            parts("We planted Tomatoes.", "tomato plant"),
            [("We ", false), ("planted", true), (" ", false), ("Tomatoes", true), (".", false)]
                .map(|(text, hit)| (text.to_owned(), hit))
        );
    }

    #[test]
    fn parts_of_identifiers_and_words_with_accents_are_marked_where_they_stand() {
        let hits = |text: &str, query: &str| -> Vec<String> {
            let parts = parts(text, query).into_iter();
            parts.filter(|(_, hit)| *hit).map(|(text, _)| text).collect()
        };
        assert_eq!(hits("in readConfig, Größe_max: 5", "config grosse"), ["Config", "Größe"]);
        assert_eq!(hits("Été à Zürich; 東京駅 now", "zurich 東京 ete"), ["Été", "Zürich", "東京"]);
    }

    #[test]
    fn a_long_text_is_cut_to_where_the_hits_are() {
        let text =
            format!("{} the büro key lies here {}", "före ".repeat(200), "after ".repeat(200));
        let parts = parts(&text, "buro key");
        let whole: String = parts.iter().map(|(text, _)| text.as_str()).collect();
        assert!(whole.contains("the büro key lies here") && whole.len() <= LENGTH, "{whole}");
        let hits: Vec<_> = parts.iter().filter(|(_, hit)| *hit).map(|(text, _)| text).collect();
        assert_eq!(hits, ["büro", "key"]);
    }
}
