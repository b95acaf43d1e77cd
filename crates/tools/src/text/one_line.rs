const LINE_CHARS: usize = 160;

/// Text from a model or a file as one line for people: no control characters, not too long.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for (count, c) in text.trim().chars().enumerate() {
        if count == LINE_CHARS {
            line.push('…');
            break;
        }
        line.push(if c.is_control() || is_invisible(c) { ' ' } else { c });
    }
    line
}

/// Marks that turn or hide text, so that a name cannot be shown as another.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_people_holds_nothing_that_turns_or_breaks_it() {
        assert_eq!(one_line("  a\nb\u{202e}c  "), "a b c");
        assert_eq!(one_line(&"x".repeat(200)).chars().count(), LINE_CHARS + 1);
    }
}
