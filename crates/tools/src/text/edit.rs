use crate::ToolError;

/// How many matches are named when there are several.
const NAMED_PLACES: usize = 5;

/// Replaces the only occurrence of `old`.
pub(crate) fn replace_once(
    name: &str,
    text: &str,
    old: &str,
    new: &str,
) -> Result<String, ToolError> {
    if old.is_empty() {
        return Err(ToolError::Arguments("the text to replace is empty; quote some lines".into()));
    }
    if old == new {
        return Err(ToolError::Arguments("the old and the new text are the same".into()));
    }
    // Models write `\n`. A file with `\r\n` keeps its line ends.
    let crlf = |part: &str| part.replace("\r\n", "\n").replace('\n', "\r\n");
    if text.contains("\r\n") && !text.contains(old) {
        return replace_exactly(name, text, &crlf(old), &crlf(new));
    }
    replace_exactly(name, text, old, new)
}

fn replace_exactly(name: &str, text: &str, old: &str, new: &str) -> Result<String, ToolError> {
    let places = places(text, old);
    match places.as_slice() {
        [] => Err(ToolError::Arguments(not_found(name, text, old))),
        [place] => {
            let mut changed = String::with_capacity(text.len() + new.len());
            changed.push_str(&text[..*place]);
            changed.push_str(new);
            changed.push_str(&text[place + old.len()..]);
            Ok(changed)
        }
        many => Err(ToolError::Arguments(not_unique(name, text, many))),
    }
}

/// All occurrences, including overlapping ones: `aa` occurs twice in `aaa`, so it is unclear which
/// one is meant.
fn places(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        places.push(from + at);
        from += at + step;
    }
    places
}

fn not_found(name: &str, text: &str, old: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let near = text.lines().position(|line| !first.is_empty() && line.trim() == first);
    let near = match near {
        Some(line) => format!(
            " (its first line is at line {} with other spaces or other lines after it)",
            line + 1
        ),
        None => String::new(),
    };
    format!("the text to replace is not in {name}{near}; read it again and quote it exactly")
}

fn not_unique(name: &str, text: &str, places: &[usize]) -> String {
    let lines: Vec<String> = places
        .iter()
        .take(NAMED_PLACES)
        .map(|place| (text[..*place].matches('\n').count() + 1).to_string())
        .collect();
    format!(
        "the text to replace occurs {} times in {name} (lines {}); quote more lines around it",
        places.len(),
        lines.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of(text: &str, old: &str, new: &str) -> String {
        replace_once("a.md", text, old, new).unwrap_err().to_string()
    }

    #[test]
    fn the_one_place_is_replaced_and_nothing_else() {
        assert_eq!(replace_once("a.md", "a b c", "b", "$1").unwrap(), "a $1 c");
        assert_eq!(replace_once("a.md", "a\nb\n", "b\n", "").unwrap(), "a\n");
    }

    #[test]
    fn a_file_with_crlf_keeps_its_line_ends() {
        let changed = replace_once("a.md", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n").unwrap();
        assert_eq!(changed, "x\r\ny\r\nc\r\n");
    }

    #[test]
    fn an_unclear_match_names_the_lines() {
        assert_eq!(
            refusal_of("x\ny\nx\n", "x", "z"),
            "the text to replace occurs 2 times in a.md (lines 1, 3); quote more lines around it"
        );
        assert!(refusal_of("aaa", "aa", "b").contains("occurs 2 times"));
        assert!(refusal_of("üüü", "üü", "b").contains("occurs 2 times"));
    }

    #[test]
    fn a_missing_match_points_at_what_is_nearly_it() {
        assert_eq!(
            refusal_of("one\n  two\n", "two\nthree", "z"),
            "the text to replace is not in a.md (its first line is at line 2 with other \
             spaces or other lines after it); read it again and quote it exactly"
        );
        assert_eq!(
            refusal_of("one\n", "four", "z"),
            "the text to replace is not in a.md; read it again and quote it exactly"
        );
    }

    #[test]
    fn an_edit_that_says_nothing_is_refused() {
        assert!(refusal_of("one", "", "z").contains("is empty"));
        assert!(refusal_of("one", "one", "one").contains("are the same"));
    }
}
