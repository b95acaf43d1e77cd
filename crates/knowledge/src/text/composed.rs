//! Brings texts into one spelling, because `ü` is one character or two, depending on the program
//! that wrote it.

use std::borrow::Cow;

use unicode_normalization::char::{canonical_combining_class, compose};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

/// The first combining mark. Characters below it are never composed.
const FIRST_MARK: char = '\u{300}';

/// A text with composed characters (NFC), and the position of each in the original text.
pub(crate) struct Composed<'a> {
    text: Cow<'a, str>,
    /// The positions at which the pieces begin, in this text and in the original; empty if both are
    /// the same.
    places: Vec<(usize, usize)>,
    length: usize,
}

impl<'a> Composed<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let plain = text.is_ascii() || text.chars().all(|c| c < FIRST_MARK);
        if plain || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            Self { text: Cow::from(text), places: Vec::new(), length: text.len() }
        } else {
            Self::compose(text)
        }
    }

    fn compose(text: &'a str) -> Self {
        let mut composed = String::with_capacity(text.len());
        let mut places = Vec::new();
        for (start, end) in pieces(text) {
            places.push((composed.len(), start));
            composed.extend(text[start..end].nfc());
        }
        Self { text: Cow::from(composed), places, length: text.len() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The position in the original text that belongs to a position in this one.
    pub(crate) fn original(&self, at: usize) -> usize {
        if self.places.is_empty() {
            return at;
        }
        let piece = self.places.partition_point(|(here, _)| *here < at);
        self.places.get(piece).map_or(self.length, |(_, there)| *there)
    }
}

/// The ranges of characters together with the accents and joiners that follow them.
fn pieces(text: &str) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut so_far = None;
    for (at, c) in text.char_indices() {
        let whole = so_far.and_then(|first| compose(first, c));
        if whole.is_none() && !is_mark(c) && at > 0 {
            pieces.push((start, at));
            start = at;
        }
        so_far = match (whole, is_mark(c)) {
            (Some(whole), _) => Some(whole),
            (None, true) => so_far,
            (None, false) => Some(c),
        };
    }
    pieces.push((start, text.len()));
    pieces
}

/// Whether this is an accent on the character before it.
pub(crate) fn is_mark(c: char) -> bool {
    c >= FIRST_MARK && canonical_combining_class(c) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_one_spelling_knows_its_places_in_the_other() {
        let apart = "Mu\u{308}sli, Ångström, 친구, q\u{307}\u{323}";
        let apart: String = apart.nfd().collect();
        let composed = Composed::of(&apart);
        assert_eq!(composed.text(), apart.nfc().collect::<String>());
        for word in ["Müsli", "Ångström", "친구"] {
            let at = composed.text().find(word).unwrap();
            let (from, to) = (composed.original(at), composed.original(at + word.len()));
            assert_eq!(apart[from..to].nfc().collect::<String>(), word);
        }
        assert_eq!(composed.original(composed.text().len()), apart.len());
    }
}
