//! The text of a document as a file of its source.

use std::collections::BTreeSet;

use onyx_extract::ExtractedText;
use onyx_storage::FrontMatter;

const LONGEST_NAME: usize = 60;

/// The document's own title, else the last part of its origin.
pub(crate) fn title(extracted: &ExtractedText, from: &str) -> String {
    let named =
        extracted.title.as_deref().map(|title| title.split_whitespace().collect::<Vec<_>>());
    match named {
        Some(words) if !words.is_empty() => words.join(" "),
        Some(_) | None => last_part(from).to_owned(),
    }
}

pub(crate) fn last_part(from: &str) -> &str {
    let from = from.trim_end_matches('/');
    from.rsplit('/').next().filter(|part| !part.is_empty()).unwrap_or(from)
}

/// Adds a heading to the text, so that the file describes itself.
pub(crate) fn text(extracted: &ExtractedText, title: &str, from: &str) -> String {
    let mut matter = FrontMatter::default();
    matter.set_text("title", title);
    matter.set_text("source", from);
    matter.set_text("origin", "external");
    let (_, body) = FrontMatter::split(&extracted.markdown);
    let body = body.trim();
    let heading = if body.starts_with("# ") { String::new() } else { format!("# {title}\n\n") };
    matter.join(&format!("\n{heading}{body}\n"))
}

/// A plain file name that no other document of the source has.
pub(crate) fn file_name(from: &str, taken: &BTreeSet<String>) -> String {
    let lowered = last_part(from).to_lowercase();
    let letters = lowered.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' });
    let name: String = letters.collect();
    let name = name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let name = name[..name.floor_char_boundary(LONGEST_NAME)].trim_end_matches('-');
    let name = if name.is_empty() { "document" } else { name };
    let numbered = (2_u32..).map(|number| format!("{name}-{number}.md"));
    let mut names = std::iter::once(format!("{name}.md")).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_else(|| format!("{name}.md"))
}
