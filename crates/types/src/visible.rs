//! Makes text that a model, a file or a page chose safe to look at. Characters that would control a
//! terminal, change the direction of writing or be invisible are written out (`\u{202e}`), so that
//! no text shown to a person can deceive. Every surface shows such text through this module, the
//! web app through its twin (`web/src/ui/visible.ts`); `crates/types/tests/visible.json` holds the
//! cases of both.
//!
//! Ordinary text stays as it is: a joiner (U+200C, U+200D) or a variation selector (U+FE0E, U+FE0F)
//! directly after a character outside ASCII, as in Persian and in emoji.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serializer;

/// Makes text of several lines visible: line breaks and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, Lines::Many, written_out)
}

/// Makes text for one line visible: line breaks and tabs are written out too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    shown(text, Lines::One, written_out)
}

/// Makes the characters in the strings of JSON visible, written in JSON's own form (`\u202e`), so
/// that its meaning does not change.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    shown(json, Lines::Many, |out, character| {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Serialises fields that are shown to people.
pub fn serialize_visible<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&visible(text))
}

/// Text of several lines that comes in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct VisiblePieces(PrecedingKind);

impl VisiblePieces {
    pub fn add<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        rest_shown(piece, Lines::Many, &mut self.0, written_out)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    One,
    Many,
}

/// The kind of the preceding character, which decides whether an invisible one may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PrecedingKind {
    #[default]
    Plain,
    /// A visible character outside ASCII.
    Foreign,
    /// A variation selector that stays.
    Selector,
}

fn shown(text: &str, lines: Lines, write_out: impl Fn(&mut String, char)) -> Cow<'_, str> {
    rest_shown(text, lines, &mut PrecedingKind::default(), write_out)
}

fn rest_shown<'a>(
    text: &'a str,
    lines: Lines,
    before: &mut PrecedingKind,
    write_out: impl Fn(&mut String, char),
) -> Cow<'a, str> {
    // Nearly all text is plain, and every line of the log passes through here, so this check comes
    // first.
    if text.bytes().all(|byte| is_plain(byte, lines)) {
        if !text.is_empty() {
            *before = PrecedingKind::Plain;
        }
        return Cow::Borrowed(text);
    }
    let mut changed: Option<String> = None;
    for (at, character) in text.char_indices() {
        let stays = stays(character, lines, before);
        match (&mut changed, stays) {
            (None, true) => {}
            (Some(out), true) => out.push(character),
            (None, false) => {
                let mut out = String::with_capacity(text.len() + 16);
                out.push_str(&text[..at]);
                write_out(&mut out, character);
                changed = Some(out);
            }
            (Some(out), false) => write_out(out, character),
        }
    }
    changed.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether a byte may always be shown as it is, by the rules of `stays`.
const fn is_plain(byte: u8, lines: Lines) -> bool {
    matches!(byte, b' '..=b'~') || (matches!(lines, Lines::Many) && matches!(byte, b'\n' | b'\t'))
}

/// Whether a character may be shown as it is; `before` is then updated for the next one.
fn stays(character: char, lines: Lines, before: &mut PrecedingKind) -> bool {
    let (stays, after) = match (character, *before) {
        ('\n' | '\t', _) => (lines == Lines::Many, PrecedingKind::Plain),
        ('\u{200c}' | '\u{200d}', PrecedingKind::Foreign | PrecedingKind::Selector) => {
            (true, PrecedingKind::Plain)
        }
        ('\u{fe0e}' | '\u{fe0f}', PrecedingKind::Foreign) => (true, PrecedingKind::Selector),
        (character, _) if deceives(character) => (false, PrecedingKind::Plain),
        (character, _) if character.is_ascii() => (true, PrecedingKind::Plain),
        _ => (true, PrecedingKind::Foreign),
    };
    *before = after;
    stays
}

/// Whether a character is a control, a direction mark, or without width.
const fn deceives(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn written_out(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        // Writing to a string cannot fail.
        other => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(other));
        }
    }
}
