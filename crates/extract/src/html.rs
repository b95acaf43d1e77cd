use std::borrow::Cow;

use dom_smoothie::{Config, Readability, TextMode};

use crate::{ExtractError, LARGEST_DOCUMENT, tags};

/// The elements around a page's own text.
const FURNITURE: &[&str] =
    &["script", "style", "meta", "head", "noscript", "template", "nav", "footer", "svg", "iframe"];

/// The main text of a page, without the parts around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub title: Option<String>,
    pub markdown: String,
}

/// The readable part of a page as markdown: the article if there is one, else everything except
/// menus and scripts. `address` makes links absolute. This takes some milliseconds of CPU for each
/// 100 kB, so it must be called where blocking is allowed.
pub fn readable(html: &str, address: Option<&str>) -> Result<Page, ExtractError> {
    if html.len() > LARGEST_DOCUMENT {
        return Err(ExtractError::TooLarge { limit: LARGEST_DOCUMENT });
    }
    tags::check(html)?;
    let whole = parse(html, address)?;
    let title = Some(whole.get_article_title().trim().to_owned()).filter(|title| !title.is_empty());
    let article = if whole.is_probably_readable() { article(html, address)? } else { None };
    let markdown = match article {
        Some(article) => article,
        None => whole.doc.md(Some(FURNITURE)).to_string(),
    };
    Ok(Page { title, markdown: tidy(&markdown) })
}

/// The whole page without menus and scripts, for chapters of books.
pub(crate) fn whole(html: &str) -> Result<String, ExtractError> {
    tags::check(html)?;
    Ok(tidy(&parse(html, None)?.doc.md(Some(FURNITURE))))
}

/// Searches the article in a copy of the document, because the search changes it.
fn article(html: &str, address: Option<&str>) -> Result<Option<String>, ExtractError> {
    match parse(html, address)?.parse() {
        Ok(article) => Ok(Some(article.text_content.to_string())),
        // The page has no article, but may still have text.
        Err(dom_smoothie::ReadabilityError::GrabFailed) => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}

fn parse(html: &str, address: Option<&str>) -> Result<Readability, ExtractError> {
    let config = Config { text_mode: TextMode::Markdown, ..Config::default() };
    let absolute = address.filter(|address| address.contains("://"));
    Readability::new(html, absolute, Some(config)).map_err(|error| refused(&error))
}

fn refused(error: &dom_smoothie::ReadabilityError) -> ExtractError {
    match error {
        dom_smoothie::ReadabilityError::TooManyElements(..) => ExtractError::TooComplex("HTML"),
        dom_smoothie::ReadabilityError::BadDocumentURL
        | dom_smoothie::ReadabilityError::GrabFailed => ExtractError::Damaged(error.to_string()),
    }
}

/// Removes escapes, so that a search finds names and addresses as they are written: an underscore
/// inside a word means nothing in markdown, and neither does `&` in an address. Lines lose their
/// trailing spaces, and at most one line in a row is empty.
fn tidy(markdown: &str) -> String {
    let mut tidied = String::with_capacity(markdown.len());
    let (mut in_fence, mut empty) = (false, 0);
    for line in markdown.trim().lines() {
        in_fence ^= line.trim_start().starts_with("```");
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty > 1 && !in_fence {
            continue;
        }
        if in_fence {
            tidied.push_str(line.trim_end());
        } else {
            push_unescaped(&mut tidied, &plain_addresses(line.trim_end()));
        }
        tidied.push('\n');
    }
    tidied
}

fn plain_addresses(line: &str) -> Cow<'_, str> {
    if !line.contains("&amp;") {
        return Cow::Borrowed(line);
    }
    let (first, links) = match line.split_once("](") {
        Some((first, links)) => (first, links.split("](")),
        None => return Cow::Borrowed(line),
    };
    let links = links.map(|link| {
        let (address, rest) = link.split_at(link.find(')').unwrap_or(0));
        format!("]({}{rest}", address.replace("&amp;", "&"))
    });
    Cow::Owned(std::iter::once(first.to_owned()).chain(links).collect())
}

fn push_unescaped(text: &mut String, line: &str) {
    let mut parts = line.split("\\_").peekable();
    while let Some(part) = parts.next() {
        text.push_str(part);
        let Some(next) = parts.peek() else { return };
        let inside_word =
            text.ends_with(char::is_alphanumeric) && next.starts_with(char::is_alphanumeric);
        text.push_str(if inside_word { "_" } else { "\\_" });
    }
}
