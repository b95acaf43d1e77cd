use schemars::JsonSchema;
use serde::Serialize;

use crate::query::Wanted;
use crate::words::{plain_analyzer, terms};

/// A part of a chunk's text, and whether it is what was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnippetPart {
    pub text: String,
    pub hit: bool,
}

const LENGTH: usize = 280;
/// Two words of this length that begin alike are taken for forms of one.
const STEM: usize = 4;

/// The part of a text that holds most of what was looked for, marked.
pub(crate) fn snippet(text: &str, wanted: &Wanted) -> Vec<SnippetPart> {
    let looked_for = terms(&mut plain_analyzer(), &wanted.all_words());
    let mut hits = Vec::new();
    let mut analyzer = plain_analyzer();
    let mut words = analyzer.token_stream(text);
    while words.advance() {
        let word = words.token();
        if looked_for.iter().any(|term| is_form(term, &word.text)) {
            hits.push((word.offset_from, word.offset_to));
        }
    }
    hits.dedup_by(|later, earlier| later.0 < earlier.1);
    let start = best_start(text, &hits);
    let end = text.floor_char_boundary((start + LENGTH).min(text.len()));
    cut(text, start, end, &hits)
}

fn is_form(term: &str, word: &str) -> bool {
    if term == word {
        return true;
    }
    let alike = term.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
    let (term, word) = (term.chars().count(), word.chars().count());
    alike >= STEM && term.max(word) - alike <= 3
}

/// Where the window with the most hits starts, at the start of a word.
fn best_start(text: &str, hits: &[(usize, usize)]) -> usize {
    if text.len() <= LENGTH {
        return 0;
    }
    let within =
        |from: usize| hits.iter().filter(|(at, end)| *at >= from && *end <= from + LENGTH).count();
    let first =
        hits.iter().map(|(at, _)| *at).max_by_key(|at| (within(*at), std::cmp::Reverse(*at)));
    let Some(first) = first else { return 0 };
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
        let parts = snippet(text, &Wanted::read(query));
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
