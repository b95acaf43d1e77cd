//! Writes Discord's markdown. Every character that could be a mark is escaped, so that text stays
//! text.

use super::blocks::{Block, Span, Style};

const MARKS: &str = "\\*_~`|>#-[]()<:@";
const FENCE: &str = "```";
/// A zero-width space between two adjacent marks, which Discord would otherwise read as one.
/// Readers do not see it.
const BETWEEN: char = '\u{200b}';

/// An upper bound of a character's length. A slash counts twice, to make room for the brackets
/// around an address.
pub(super) fn escaped_length(character: char) -> usize {
    if MARKS.contains(character) || character == '/' { 2 } else { 1 }
}

pub(super) fn style_length(style: &Style) -> usize {
    if style.code {
        return 4;
    }
    let marks = [(style.bold, 6), (style.italic, 3), (style.strike, 4)];
    let marks: usize = marks.iter().filter(|(is_on, _)| *is_on).map(|(_, length)| length).sum();
    let link = style.link.as_deref().filter(|link| is_address(link));
    marks + link.map_or(0, |link| 6 + link.chars().count())
}

pub(super) fn render(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text { spans, is_quote, .. } => {
                let text = paragraph(spans);
                if *is_quote {
                    out.push_str("> ");
                    out.push_str(&text.replace('\n', "\n> "));
                } else {
                    out.push_str(&text);
                }
            }
            Block::Code { language, text } => {
                let text = without_fences(text);
                out.push_str(&format!("```{language}\n{text}\n```"));
            }
        }
        if index + 1 < blocks.len() {
            out.push_str(block.joint());
        }
    }
    out
}

/// Breaks up each fence inside code after every other backtick, because fences cannot be escaped.
/// No part of a long fence may remain that closes the block.
fn without_fences(code: &str) -> String {
    if code.contains(FENCE) { code.replace("``", "`\u{200b}`") } else { code.to_owned() }
}

/// The number of characters that breaking up the fences adds.
pub(super) fn fences_length(code: &str) -> usize {
    if code.contains(FENCE) { code.matches("``").count() } else { 0 }
}

/// Escapes plain text, so that no character of it becomes markdown.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = address_start(rest) {
        rest[..at].chars().for_each(|character| escape(&mut out, character));
        let end = at + address_length(&rest[at..]);
        // An address in angle brackets gets no preview, and no mark inside it counts.
        out.push_str(&format!("<{}>", &rest[at..end]));
        rest = &rest[end..];
    }
    rest.chars().for_each(|character| escape(&mut out, character));
    out
}

fn paragraph(spans: &[Span]) -> String {
    let mut out = String::new();
    for span in spans {
        let text = written(span);
        if out.ends_with('*') && text.starts_with('*') {
            out.push(BETWEEN);
        }
        out.push_str(&text);
    }
    out
}

fn written(span: &Span) -> String {
    let style = &span.style;
    if style.code {
        let text = span.text.replace('`', "ˋ");
        return format!("`{text}`");
    }
    let link = style.link.as_deref().filter(|link| is_address(link));
    if let Some(link) = link.filter(|link| **link == span.text) {
        return format!("<{}>", tidy(link));
    }
    // Discord does not recognise a mark next to a space, so spaces are put outside the marks.
    let inner = span.text.trim();
    let start = span.text.len() - span.text.trim_start().len();
    let (before, after) = (&span.text[..start], &span.text[start + inner.len()..]);
    if inner.is_empty() {
        return span.text.clone();
    }
    let mut text: String = match link {
        // Discord does not allow an address inside a link's text, so the text is only escaped.
        Some(_) => {
            let mut text = String::new();
            inner.chars().for_each(|character| escape(&mut text, character));
            text
        }
        None => literal(inner),
    };
    for (is_on, mark) in [(style.strike, "~~"), (style.italic, "*"), (style.bold, "**")] {
        if is_on {
            let between = if text.starts_with('*') { "\u{200b}" } else { "" };
            text = format!("{mark}{between}{text}{between}{mark}");
        }
    }
    if let Some(link) = link {
        text = format!("[{text}](<{}>)", tidy(link));
    }
    format!("{before}{text}{after}")
}

/// Whether Discord makes a link of this address.
fn is_address(link: &str) -> bool {
    link.starts_with("https://") || link.starts_with("http://")
}

fn tidy(link: &str) -> String {
    link.replace(['>', '<', ' ', '\n', '\t', '\r'], "")
}

fn escape(out: &mut String, character: char) {
    if MARKS.contains(character) {
        out.push('\\');
    }
    out.push(character);
}

fn address_start(text: &str) -> Option<usize> {
    let places = ["https://", "http://"].iter().filter_map(|scheme| text.find(scheme));
    places.min()
}

/// The length of the address at the start of the text, without punctuation that ends the sentence.
fn address_length(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || "<>\"`".contains(c)).unwrap_or(text.len());
    text[..end]
        .trim_end_matches(['.', ',', ':', ';', '!', '?', ')', ']', '\'', '*', '_', '|'])
        .len()
}
