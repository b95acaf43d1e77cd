//! Edits MEMORY.md, which holds facts under headings.

use std::ops::Range;

use crate::ToolError;
use crate::text::edit::replace_once;

/// Adds a fact at the end of a heading's section. The section is created if it does not exist.
pub(crate) fn add_under(text: &str, heading: &str, fact: &str) -> Result<String, ToolError> {
    let heading = title(heading)?;
    let fact = bullet(fact)?;
    let (before, after, join) = match section(text, &heading) {
        Some(range) => {
            let end = range.start + text[range].trim_end().len();
            (&text[..end], &text[end..], "\n".to_owned())
        }
        None => {
            let gap = if text.trim().is_empty() { "" } else { "\n\n" };
            (text.trim_end(), "\n", format!("{gap}## {heading}\n\n"))
        }
    };
    let after = if after.is_empty() { "\n" } else { after };
    Ok(format!("{before}{join}{fact}{after}"))
}

/// Replaces a fact in a heading's section. An empty replacement removes it.
pub(crate) fn replace_under(
    name: &str,
    text: &str,
    heading: &str,
    old: &str,
    new: &str,
) -> Result<String, ToolError> {
    let heading = title(heading)?;
    let Some(range) = section(text, &heading) else {
        return Err(ToolError::NotFound(format!("heading {heading:?} in {name}")));
    };
    let place = format!("{name} under {heading:?}");
    let changed = replace_once(&place, &text[range.clone()], old, new)?;
    Ok(format!("{}{changed}{}", &text[..range.start], &text[range.end..]))
}

fn title(heading: &str) -> Result<String, ToolError> {
    let title = heading.trim().trim_start_matches('#').trim();
    if title.is_empty() || title.contains(char::is_control) {
        return Err(ToolError::Arguments("\"heading\" must be one line of text".into()));
    }
    Ok(title.to_owned())
}

fn bullet(fact: &str) -> Result<String, ToolError> {
    let fact = fact.trim();
    if fact.is_empty() {
        return Err(ToolError::Arguments("\"text\" is empty".into()));
    }
    let is_block = fact.contains('\n') || fact.starts_with(['-', '*', '#', '|', '>']);
    Ok(if is_block { fact.to_owned() } else { format!("- {fact}") })
}

/// The range from the heading's line to the next heading of the same or a higher level.
fn section(text: &str, title: &str) -> Option<Range<usize>> {
    let headings = headings(text);
    let found =
        headings.iter().position(|heading| heading.title.to_lowercase() == title.to_lowercase())?;
    let level = headings[found].level;
    let end = headings[found + 1..]
        .iter()
        .find(|heading| heading.level <= level)
        .map_or(text.len(), |heading| heading.start);
    Some(headings[found].start..end)
}

struct Heading<'a> {
    start: usize,
    level: usize,
    title: &'a str,
}

fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut headings = Vec::new();
    let mut start = 0;
    let mut in_fence = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_fence = !in_fence;
        }
        let level = line.len() - line.trim_start_matches('#').len();
        if !in_fence && (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
            let title = line[level..].trim().trim_end_matches('#').trim_end();
            headings.push(Heading { start, level, title });
        }
        start += line.len();
    }
    headings
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: &str = "# Memory\n\n## People\n\n- Ada is a friend\n\n### Work\n\n- Bob\n\n## Things\n\n- a bicycle\n";

    #[test]
    fn a_fact_goes_to_the_end_of_its_section_and_nothing_else_moves() {
        assert_eq!(
            add_under(MEMORY, "## people", "Cleo likes tea").unwrap(),
            MEMORY.replace("- Bob\n", "- Bob\n- Cleo likes tea\n")
        );
        assert_eq!(add_under(MEMORY, "Things", "- a boat").unwrap(), format!("{MEMORY}- a boat\n"));
    }

    #[test]
    fn a_missing_section_is_made_at_the_end() {
        assert_eq!(
            add_under(MEMORY, "Places", "Oslo").unwrap(),
            format!("{MEMORY}\n## Places\n\n- Oslo\n")
        );
        assert_eq!(add_under("", "Places", "Oslo").unwrap(), "## Places\n\n- Oslo\n");
    }

    #[test]
    fn a_heading_inside_a_code_fence_is_none() {
        let text = "```\n## People\n```\n";
        assert_eq!(
            add_under(text, "People", "Ada").unwrap(),
            "```\n## People\n```\n\n## People\n\n- Ada\n"
        );
    }

    #[test]
    fn a_fact_is_replaced_only_within_its_section() {
        assert_eq!(
            replace_under("MEMORY.md", MEMORY, "People", "- Bob\n", "").unwrap(),
            MEMORY.replace("- Bob\n", "")
        );
        assert_eq!(
            replace_under("MEMORY.md", MEMORY, "People", "a bicycle", "x").unwrap_err().to_string(),
            "the text to replace is not in MEMORY.md under \"People\"; read it again and quote it \
             exactly"
        );
        assert_eq!(
            replace_under("MEMORY.md", MEMORY, "Pets", "a", "b").unwrap_err().to_string(),
            "there is no heading \"Pets\" in MEMORY.md"
        );
    }

    #[test]
    fn a_heading_is_one_line() {
        assert!(add_under(MEMORY, "A\n## B", "x").is_err());
        assert!(add_under(MEMORY, " # ", "x").is_err());
    }
}
