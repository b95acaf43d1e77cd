//! Cuts a text into the terms by which it is found: words, their stems by language, and the parts
//! of identifiers.

use std::collections::{HashMap, HashSet};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer,
};

use super::composed::{Composed, is_mark};

/// The longest word in bytes. Longer ones are data.
const LONGEST_WORD: usize = 64;

/// Yields words in lower case and in one spelling. Scripts without spaces yield pairs of
/// characters; an identifier yields itself and its parts.
#[derive(Clone, Default)]
pub(crate) struct WordTokenizer;

pub(crate) struct Words {
    tokens: Vec<Token>,
    /// The index after that of the current token.
    next: usize,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = Words;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words {
        Words { tokens: words(text), next: 0 }
    }
}

impl TokenStream for Words {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.next - 1]
    }
}

fn words(text: &str) -> Vec<Token> {
    let composed = Composed::of(text);
    let mut tokens = words_in(composed.text());
    for token in &mut tokens {
        token.offset_from = composed.original(token.offset_from);
        token.offset_to = composed.original(token.offset_to);
    }
    tokens
}

fn words_in(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut position = 0;
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_letter = c.is_alphanumeric() || c == '_' || (start.is_some() && is_mark(c));
        let inside = is_letter && !is_wide(c);
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                add_word(&mut tokens, text, from, at, &mut position);
                start = None;
            }
            (Some(_), true) | (None, false) => {}
        }
        if is_wide(c) {
            add_wide(&mut tokens, text, at, &mut position);
        }
    }
    tokens
}

/// Adds a word. For an identifier it also adds the parts, the first at the same position.
fn add_word(tokens: &mut Vec<Token>, text: &str, from: usize, to: usize, position: &mut usize) {
    let word = &text[from..to];
    let parts = parts(word);
    for (start, end) in &parts {
        push(tokens, text, from + start, from + end, *position);
        *position += 1;
    }
    if parts.len() > 1 && word.len() <= LONGEST_WORD {
        // The identifier gets the position of its first part, so that phrases can continue after
        // its parts.
        let at = *position - parts.len();
        push(tokens, text, from, to, at);
        let whole = tokens.pop();
        let place = tokens.len() - parts.len() + 1;
        tokens.splice(place..place, whole);
    }
}

/// The parts of names in `snake_case` or `camelCase`.
fn parts(word: &str) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut before = ' ';
    for (at, c) in word.char_indices() {
        let seam = c == '_' || (before.is_lowercase() && c.is_uppercase());
        if seam && let Some(from) = start.take() {
            parts.push((from, at));
        }
        if c != '_' && start.is_none() {
            start = Some(at);
        }
        before = c;
    }
    parts.extend(start.map(|from| (from, word.len())));
    parts
}

fn add_wide(tokens: &mut Vec<Token>, text: &str, at: usize, position: &mut usize) {
    let mut ahead = text[at..].char_indices().skip(1);
    let (next, wide) = ahead.next().map_or((text.len() - at, false), |(to, c)| (to, is_wide(c)));
    let after = ahead.next().map_or(text.len() - at, |(to, _)| to);
    let before_is_wide = text[..at].chars().next_back().is_some_and(is_wide);
    // Characters are looked up in pairs. One is added alone only if it has no neighbour.
    if wide {
        push(tokens, text, at, at + after, *position);
    } else if before_is_wide {
        return;
    } else {
        push(tokens, text, at, at + next, *position);
    }
    *position += 1;
}

fn push(tokens: &mut Vec<Token>, text: &str, from: usize, to: usize, position: usize) {
    if to - from > LONGEST_WORD {
        return;
    }
    tokens.push(Token {
        offset_from: from,
        offset_to: to,
        position,
        text: text[from..to].to_lowercase(),
        position_length: 1,
    });
}

/// Whether a character belongs to a script that is written without spaces, or to Korean, which
/// joins to a word what other languages write separately.
fn is_wide(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ffff}')
        || is_hangul(c)
}

fn is_hangul(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}')
}

/// Yields words as they are written, without accents.
pub(crate) fn plain_analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(WordTokenizer).filter(AsciiFoldingFilter).build()
}

/// Yields the same words, reduced to their stems in a language.
pub(crate) fn stem_analyzer(language: Language) -> TextAnalyzer {
    let stemmed = TextAnalyzer::builder(WordTokenizer).filter(Stemmer::new(language));
    stemmed.filter(AsciiFoldingFilter).build()
}

/// The distinct terms that an analyzer makes of a text, in order.
pub(crate) fn terms(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut stream = analyzer.token_stream(text);
    while stream.advance() {
        if !terms.contains(&stream.token().text) {
            terms.push(stream.token().text.clone());
        }
    }
    terms
}

/// A word of a query, with its stems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordForms {
    pub(crate) word: String,
    /// The distinct stems of the word in each of the languages; one may be the word itself.
    pub(crate) stems: Vec<String>,
}

/// The distinct words of a text in order, each with its stems.
pub(crate) fn forms<'a>(
    plain: &mut TextAnalyzer,
    stems: impl Iterator<Item = &'a mut TextAnalyzer>,
    text: &str,
) -> Vec<WordForms> {
    let mut words: Vec<WordForms> = Vec::new();
    let mut stream = plain.token_stream(text);
    while stream.advance() {
        words.push(WordForms { word: stream.token().text.clone(), stems: Vec::new() });
    }
    for analyzer in stems {
        // The filters change words but drop none, so words at the same position are the same word.
        let mut stream = analyzer.token_stream(text);
        for word in &mut words {
            if stream.advance() && !word.stems.contains(&stream.token().text) {
                word.stems.push(stream.token().text.clone());
            }
        }
    }
    let mut seen = HashSet::new();
    words.retain(|word| seen.insert(word.word.clone()));
    words
}

/// Yields every word of a text, and its stem if that differs. A field has one tokenizer for all its
/// texts, so the text itself says in which language it is (see `in_language`).
#[derive(Clone)]
pub(crate) struct FormsTokenizer {
    plain: TextAnalyzer,
    stems: Vec<TextAnalyzer>,
}

impl Tokenizer for FormsTokenizer {
    type TokenStream<'a> = Words;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words {
        let mut rest = text.chars();
        let language = rest.next().map_or(0, |place| place as usize);
        let stem = self.stems.get_mut(language);
        let tokens = stem.map(|stem| words_and_stems(&mut self.plain, stem, rest.as_str()));
        Words { tokens: tokens.unwrap_or_default(), next: 0 }
    }
}

pub(crate) fn forms_analyzer() -> TextAnalyzer {
    let stems = LANGUAGES.iter().map(|language| stem_analyzer(language.language)).collect();
    TextAnalyzer::builder(FormsTokenizer { plain: plain_analyzer(), stems }).build()
}

/// The text for `FormsTokenizer`, with the index of its language in `LANGUAGES` before it.
pub(crate) fn in_language(language: usize, text: &str) -> String {
    let place = u8::try_from(language).map_or('\0', char::from);
    let mut told = String::with_capacity(text.len() + 1);
    told.push(place);
    told.push_str(text);
    told
}

fn words_and_stems(plain: &mut TextAnalyzer, stem: &mut TextAnalyzer, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut end = 0;
    let (mut words, mut stems) = (plain.token_stream(text), stem.token_stream(text));
    while words.advance() && stems.advance() {
        let (word, stem) = (words.token_mut(), stems.token_mut());
        let differs = word.text != stem.text;
        let begins = word.offset_from >= end;
        end = word.offset_to;
        tokens.extend(opening(word).filter(|_| begins));
        tokens.push(std::mem::take(word));
        if differs {
            tokens.push(std::mem::take(stem));
        }
    }
    tokens
}

/// The first syllable of a pair in a Korean word. Many words have only one syllable, and people
/// search for them without the endings that are joined to them.
fn opening(pair: &Token) -> Option<Token> {
    let mut syllables = pair.text.chars();
    let first = syllables.next().filter(|c| is_hangul(*c))?;
    syllables.next()?;
    Some(Token { text: first.to_string(), ..pair.clone() })
}

/// A language that has a stemmer, and common words by which it is recognised.
pub(crate) struct TextLanguage {
    pub(crate) language: Language,
    pub(crate) code: &'static str,
    pub(crate) small_words: &'static [&'static str],
}

/// The known languages. A text in which no language is recognised counts as the first one.
pub(crate) const LANGUAGES: &[TextLanguage] = &[
    text_language(
        Language::English,
        "en",
        &[
            "the", "and", "of", "to", "is", "in", "that", "for", "with", "was", "on", "are",
            "this", "it", "my", "we",
        ],
    ),
    text_language(
        Language::German,
        "de",
        &[
            "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "mit", "für", "auf", "von",
            "dem", "den", "wir", "ich", "zu", "im",
        ],
    ),
    text_language(
        Language::French,
        "fr",
        &[
            "le", "la", "les", "des", "et", "est", "une", "dans", "pour", "que", "pas", "sur",
            "avec", "nous", "du", "au",
        ],
    ),
    text_language(
        Language::Spanish,
        "es",
        &[
            "el", "los", "las", "una", "que", "y", "en", "para", "con", "por", "del", "como",
            "pero", "está", "es", "al",
        ],
    ),
    text_language(
        Language::Italian,
        "it",
        &[
            "il", "che", "di", "per", "non", "una", "con", "sono", "della", "alla", "nel", "è",
            "gli", "più", "anche",
        ],
    ),
    text_language(
        Language::Portuguese,
        "pt",
        &[
            "o", "os", "uma", "não", "com", "para", "em", "do", "da", "que", "mais", "são", "às",
            "dos", "pelo",
        ],
    ),
    text_language(
        Language::Dutch,
        "nl",
        &[
            "het", "een", "van", "en", "niet", "op", "dat", "voor", "met", "zijn", "ik", "wij",
            "naar", "ook",
        ],
    ),
    text_language(
        Language::Swedish,
        "sv",
        &["och", "att", "det", "som", "är", "på", "för", "inte", "med", "jag", "till", "ett", "av"],
    ),
    text_language(
        Language::Danish,
        "da",
        &["og", "det", "er", "på", "til", "ikke", "jeg", "af", "med", "har", "som", "ved", "blev"],
    ),
    text_language(
        Language::Norwegian,
        "no",
        &["og", "det", "er", "på", "til", "ikke", "jeg", "av", "med", "har", "som", "vi", "ble"],
    ),
    text_language(
        Language::Finnish,
        "fi",
        &["ja", "on", "ei", "se", "että", "oli", "mutta", "kun", "niin", "hän", "myös", "ovat"],
    ),
    text_language(
        Language::Hungarian,
        "hu",
        &["és", "hogy", "nem", "egy", "az", "van", "volt", "meg", "csak", "mint", "de"],
    ),
    text_language(
        Language::Romanian,
        "ro",
        &["și", "este", "nu", "la", "cu", "pentru", "care", "din", "mai", "sunt", "pe"],
    ),
    text_language(
        Language::Turkish,
        "tr",
        &["ve", "bir", "bu", "için", "ile", "de", "da", "çok", "var", "ama", "gibi"],
    ),
    text_language(
        Language::Russian,
        "ru",
        &["и", "в", "не", "на", "что", "с", "по", "для", "это", "как", "из", "у", "мы", "я"],
    ),
    text_language(
        Language::Greek,
        "el",
        &["και", "το", "να", "του", "η", "ο", "της", "με", "για", "είναι", "στο", "δεν"],
    ),
    text_language(
        Language::Arabic,
        "ar",
        &["في", "من", "على", "إلى", "أن", "هذا", "مع", "لا", "ما", "عن", "كان"],
    ),
];

const fn text_language(
    language: Language,
    code: &'static str,
    small_words: &'static [&'static str],
) -> TextLanguage {
    TextLanguage { language, code, small_words }
}

/// Detects in which language a text probably is.
pub(crate) struct LanguageDetector {
    /// The languages that have a small word in common, one bit each.
    given_away: HashMap<&'static str, u32>,
    /// The length in bytes of the longest small word.
    longest: usize,
}

impl LanguageDetector {
    pub(crate) fn new() -> Self {
        let mut given_away = HashMap::new();
        for (place, language) in LANGUAGES.iter().enumerate() {
            for word in language.small_words {
                *given_away.entry(*word).or_default() |= 1 << place;
            }
        }
        let longest = given_away.keys().map(|word| word.len()).max().unwrap_or_default();
        Self { given_away, longest }
    }

    /// The index in `LANGUAGES` of a text's language.
    pub(crate) fn of(&self, text: &str) -> usize {
        let text = Composed::of(text);
        let text = text.text();
        let mut seen = [0_u32; LANGUAGES.len()];
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        // The first words of a text are enough to detect its language.
        for word in words.take(200).filter(|word| word.len() <= self.longest) {
            let Some(languages) = self.given_away.get(word.to_lowercase().as_str()) else {
                continue;
            };
            for (place, count) in seen.iter_mut().enumerate() {
                *count += (languages >> place) & 1;
            }
        }
        let best = (0..LANGUAGES.len()).rev().max_by_key(|place| seen[*place]).unwrap_or(0);
        match script_of(text) {
            _ if seen[best] > 1 => best,
            Some(place) => place,
            None if seen[best] > 0 => best,
            None => 0,
        }
    }
}

/// The language of a script that only one of `LANGUAGES` uses.
fn script_of(text: &str) -> Option<usize> {
    let code = text.chars().find_map(|c| match c {
        '\u{0400}'..='\u{04ff}' => Some("ru"),
        '\u{0370}'..='\u{03ff}' => Some("el"),
        '\u{0600}'..='\u{06ff}' => Some("ar"),
        _ => None,
    })?;
    LANGUAGES.iter().position(|language| language.code == code)
}
