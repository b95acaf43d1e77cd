//! Prints of a text: a number for every few consecutive words. Two texts that share many prints
//! share many words, so a text that was copied, extended or lightly edited is recognised without
//! storing it.

use std::collections::BTreeSet;

/// The number of words that make one print.
const WORDS: usize = 4;
/// A text of fewer words is only recognised byte by byte, because short texts are too often the
/// same by chance.
const FEWEST_WORDS: usize = 8;
/// How many prints of a text are kept. The smallest ones stand for the whole text.
const KEPT: usize = 8;

/// Returns all prints of a text, each once.
pub(super) fn all(text: &str) -> BTreeSet<u64> {
    let words: Vec<u64> = words(text).collect();
    if words.len() < FEWEST_WORDS {
        return BTreeSet::new();
    }
    words
        .windows(WORDS)
        .map(|words| words.iter().fold(0, |hash, word| mixed(hash ^ word)))
        .collect()
}

/// Returns the prints that are stored to recognise a text.
pub(super) fn kept(text: &str) -> Vec<u64> {
    all(text).into_iter().take(KEPT).collect()
}

/// Returns the prints that recognise what was added to a text; empty if no prints are kept of the
/// new text.
pub(super) fn added(kept: &[u64], after: &[u8], before: &[u8]) -> Vec<u64> {
    let (Ok(after), Ok(before)) = (std::str::from_utf8(after), std::str::from_utf8(before)) else {
        return kept.to_vec();
    };
    if kept.is_empty() {
        return Vec::new();
    }
    let before = all(before);
    all(after).into_iter().filter(|print| !before.contains(print)).take(KEPT).collect()
}

/// The words of a text as hashes of their letters and digits in small letters, so that layout and
/// punctuation do not matter.
fn words(text: &str) -> impl Iterator<Item = u64> {
    let words =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| {
        let letters = word.chars().flat_map(char::to_lowercase);
        letters.fold(0xcbf2_9ce4_8422_2325, |hash: u64, letter| {
            (hash ^ u64::from(u32::from(letter))).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

/// Spreads a number over all bits. Prints are stored on disk, so this function must never change.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (number ^ (number >> 31)).wrapping_add(0x9e37_79b9_7f4a_7c15)
}

/// Whether enough of a text's kept prints are found in another text to say that the other was made
/// of it.
pub(super) const fn is_alike(found: usize, kept: usize) -> bool {
    found >= 2 && found * 2 >= kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "The meeting on Friday moves to nine. Please bring the printed plans of the \
                        second floor, and ask Erin whether the lift works again by then.";

    fn is_made_of(text: &str, of: &str) -> bool {
        let (kept, all) = (kept(of), all(text));
        is_alike(kept.iter().filter(|print| all.contains(print)).count(), kept.len())
    }

    #[test]
    fn a_text_is_known_again_with_words_around_it_and_small_edits() {
        for made in [
            TEXT.to_owned(),
            format!("{TEXT}\n"),
            format!("# Mine\n\n{TEXT}\n\nAnd milk."),
            TEXT.to_uppercase(),
            TEXT.replace(' ', "\n> "),
            TEXT.replace("Friday", "Monday"),
        ] {
            assert!(is_made_of(&made, TEXT), "{made}");
        }
    }

    #[test]
    fn other_texts_and_single_sentences_are_not() {
        for other in [
            "",
            "Please bring the printed plans.",
            "The lift works again. On Friday we meet at nine, as every week, and Erin brings cake.",
        ] {
            assert!(!is_made_of(other, TEXT), "{other}");
        }
        assert!(!is_made_of("see the end of the day", "the end of the day"));
    }
}
