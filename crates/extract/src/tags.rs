//! Scans HTML before it is parsed: a tree builder may need time and memory far beyond the size of
//! its input (an unclosed `<b>` is repeated in every paragraph after it, and each opening tag
//! searches all that are open). One pass gives an upper bound for both.

use std::collections::HashMap;

use crate::ExtractError;

/// The deepest nesting that is allowed. Pages have about thirty levels, so some hundreds are an
/// attack or a broken generator.
const DEEPEST: usize = 400;
/// The most tags. The longest articles have a tenth of this, and every search for the article
/// visits all of them.
const MOST_TAGS: usize = 200_000;
/// How many copies a parser may make of formatting that was never closed.
const MOST_REPEATS: usize = 500_000;

/// Tags that are repeated in every block that begins while they are open.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Tags that have no content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "image", "frame", "keygen",
];
/// Tags that end where the next one of their kind begins, so unclosed ones do not nest.
const ENDED_BY_THE_NEXT: &[&str] = &[
    "p", "li", "dd", "dt", "tr", "td", "th", "thead", "tbody", "tfoot", "caption", "colgroup",
    "option", "optgroup", "rb", "rp", "rt", "rtc", "html", "head", "body", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "a", "nobr", "button",
];
/// Tags whose content is text up to the closing tag.
const RAW: &[&str] =
    &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

pub(crate) fn check(html: &str) -> Result<(), ExtractError> {
    let mut open = Open::default();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end..]);
        } else if let Some(closing) = rest.strip_prefix('/') {
            open.close(&name(closing));
        } else {
            let name = name(rest);
            if RAW.contains(&name.as_str()) {
                rest = after_closing(rest, &name);
            } else if !name.is_empty() {
                open.open(name)?;
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Open {
    by_name: HashMap<String, usize>,
    depth: usize,
    formatting: usize,
    repeats: usize,
    tags: usize,
}

impl Open {
    fn open(&mut self, name: String) -> Result<(), ExtractError> {
        self.tags += 1;
        if self.tags > MOST_TAGS {
            return Err(ExtractError::TooComplex("HTML"));
        }
        if VOID.contains(&name.as_str()) {
            return Ok(());
        }
        self.repeats += self.formatting;
        if FORMATTING.contains(&name.as_str()) {
            self.formatting += 1;
        }
        if !ENDED_BY_THE_NEXT.contains(&name.as_str()) {
            self.depth += 1;
        }
        *self.by_name.entry(name).or_default() += 1;
        if self.depth > DEEPEST || self.repeats > MOST_REPEATS {
            return Err(ExtractError::TooComplex("HTML"));
        }
        Ok(())
    }

    /// Closes a tag. A closing tag without an opening one is ignored.
    fn close(&mut self, name: &str) {
        let Some(count) = self.by_name.get_mut(name).filter(|count| **count > 0) else { return };
        *count -= 1;
        if FORMATTING.contains(&name) {
            self.formatting -= 1;
        }
        if !ENDED_BY_THE_NEXT.contains(&name) {
            self.depth -= 1;
        }
    }
}

/// The name of a tag; empty if there is none, as in `a < b`.
fn name(text: &str) -> String {
    let is_name = |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'<');
    let length = text.bytes().take(64).take_while(is_name).count();
    match text.get(..length) {
        Some(name) if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            name.to_ascii_lowercase()
        }
        Some(_) | None => String::new(),
    }
}

fn after_closing<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(start) = rest.find("</") {
        rest = &rest[start + 2..];
        if rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return rest;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sloppy_page_is_fine() {
        let items = "<li>one <b>bold</b><p>two<br>three".repeat(20_000);
        assert_eq!(check(&format!("<html><body><ul>{items}</ul>a < b")), Ok(()));
    }

    #[test]
    fn what_a_script_or_comment_holds_opens_nothing() {
        let divs = "<div>".repeat(10_000);
        assert_eq!(check(&format!("<script>{divs}</SCRIPT><!--{divs}--><p>x</p>")), Ok(()));
    }

    #[test]
    fn deep_nesting_is_refused_whatever_closes_in_between() {
        let refused = Err(ExtractError::TooComplex("HTML"));
        assert_eq!(check(&"<div>".repeat(500)), refused);
        assert_eq!(check(&"<div></p></nothing>".repeat(500)), refused);
        assert_eq!(check(&"<table><tr><td></div>".repeat(500)), refused);
    }

    #[test]
    fn formatting_that_would_be_repeated_in_every_paragraph_is_refused() {
        let bold: String = (0..300).map(|index| format!("<b id={index}>")).collect();
        let bomb = format!("{bold}{}", "<p>x".repeat(100_000));
        assert_eq!(check(&bomb), Err(ExtractError::TooComplex("HTML")));
    }
}
