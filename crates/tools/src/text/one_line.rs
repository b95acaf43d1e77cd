use onyx_types::visible_line;

const LINE_CHARS: usize = 160;

/// Text from a model or a file as one short line for people, with hidden characters made visible.
pub(crate) fn one_line(text: &str) -> String {
    // Only the part that can be shown is processed.
    let text = text.trim();
    let end = text.char_indices().nth(LINE_CHARS + 1).map_or(text.len(), |(at, _)| at);
    let line = visible_line(&text[..end]);
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_people_holds_nothing_that_turns_or_breaks_it() {
        assert_eq!(one_line("  a\nb\u{202e}c  "), r"a\nb\u{202e}c");
        assert_eq!(one_line(&"x".repeat(200)).chars().count(), LINE_CHARS + 1);
    }
}
