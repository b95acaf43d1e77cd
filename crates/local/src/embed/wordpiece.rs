//! BERT's tokenizer: words in lower case without accents, cut into the longest pieces that the
//! vocabulary has.

use std::collections::HashMap;
use std::path::Path;

use icu_normalizer::DecomposingNormalizerBorrowed;
use serde::Deserialize;
use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// The longest word that is split; longer ones become a single unknown token.
const MAX_WORD_CHARS: usize = 100;
/// The prefix of a piece that is not the first one of its word.
const INSIDE: &str = "##";

pub(super) struct WordPiece {
    vocabulary: HashMap<String, u32>,
    unknown: u32,
    begin: u32,
    end: u32,
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
}

impl WordPiece {
    /// Loads a `tokenizer.json`, of which only the vocabulary is used.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|error| error.to_string())?;
        let file: TokenizerFile =
            serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let vocabulary = file.model.vocab;
        let of = |mark: &str| {
            vocabulary.get(mark).copied().ok_or_else(|| format!("its vocabulary has no {mark}"))
        };
        let (unknown, begin, end) = (of("[UNK]")?, of("[CLS]")?, of("[SEP]")?);
        Ok(Self { unknown, begin, end, vocabulary })
    }

    /// The tokens of a text, without the marks around a text.
    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for word in words(text) {
            self.pieces(&word, &mut tokens);
        }
        tokens
    }

    /// The tokens with the marks around them, cut to what a model can read.
    pub(super) fn sequence(&self, text: &str, window: usize) -> Vec<u32> {
        let mut tokens = self.tokens(text);
        tokens.truncate(window.saturating_sub(2));
        tokens.insert(0, self.begin);
        tokens.push(self.end);
        tokens
    }

    /// Returns the same as `sequence`, and adds the index of each token's word; `None` for marks
    /// and other non-words.
    pub(super) fn sequence_of_words(
        &self,
        text: &str,
        window: usize,
    ) -> (Vec<u32>, Vec<Option<String>>) {
        let (mut tokens, mut of) = (vec![self.begin], vec![None]);
        for word in words(text) {
            self.pieces(&word, &mut tokens);
            let is_word = word.chars().any(char::is_alphanumeric);
            of.resize(tokens.len(), is_word.then_some(word));
        }
        tokens.truncate(window.saturating_sub(1));
        of.truncate(tokens.len());
        tokens.push(self.end);
        of.push(None);
        (tokens, of)
    }

    /// The number of tokens.
    pub(super) fn count(&self, text: &str) -> usize {
        let mut tokens = Vec::new();
        let mut count = 0;
        for word in words(text) {
            self.pieces(&word, &mut tokens);
            count += tokens.len();
            tokens.clear();
        }
        count
    }

    fn pieces(&self, word: &str, tokens: &mut Vec<u32>) {
        let known = tokens.len();
        if word.chars().count() > MAX_WORD_CHARS {
            tokens.push(self.unknown);
            return;
        }
        // The vocabulary holds pieces after the first one with a prefix.
        let mut marked = String::new();
        let mut rest = word;
        while !rest.is_empty() {
            let (looked_up, mark) = if rest.len() == word.len() {
                (word, 0)
            } else {
                marked.clear();
                marked.push_str(INSIDE);
                marked.push_str(rest);
                (marked.as_str(), INSIDE.len())
            };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                let token = self.vocabulary.get(&looked_up[..mark + end])?;
                Some((*token, end))
            });
            let Some((token, end)) = longest else {
                tokens.truncate(known);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(token);
            rest = &rest[end..];
        }
    }
}

/// Splits a text into words and single punctuation marks, as the model was trained.
fn words(text: &str) -> Vec<String> {
    let spaced: String = text.chars().filter(|c| !is_noise(*c)).collect();
    let plain = DecomposingNormalizerBorrowed::new_nfd().normalize(&spaced).into_owned();
    let mut words = Vec::new();
    let mut word = String::new();
    for c in plain.chars() {
        if c.is_whitespace() {
            words.push(std::mem::take(&mut word));
        } else if stands_alone(c) {
            words.push(std::mem::take(&mut word));
            words.push(c.to_lowercase().collect());
        } else if get_general_category(c) != Category::NonspacingMark {
            word.extend(c.to_lowercase());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn is_noise(c: char) -> bool {
    let control = matches!(
        get_general_category(c),
        Category::Control | Category::Format | Category::Unassigned | Category::PrivateUse
    );
    c == char::REPLACEMENT_CHARACTER || (control && !matches!(c, '\t' | '\n' | '\r'))
}

fn stands_alone(c: char) -> bool {
    c.is_ascii_punctuation() || is_ideograph(c) || {
        matches!(
            get_general_category(c),
            Category::ConnectorPunctuation
                | Category::DashPunctuation
                | Category::OpenPunctuation
                | Category::ClosePunctuation
                | Category::InitialPunctuation
                | Category::FinalPunctuation
                | Category::OtherPunctuation
        )
    }
}

/// Ideographs are written without spaces between words, so each is a word.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}
