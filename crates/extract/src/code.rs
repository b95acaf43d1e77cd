//! Code is kept unchanged, in fenced pieces that end where a definition ends, each under a heading
//! that names its lines.

use std::fmt::Write as _;

use crate::kind::extension;

/// A piece of this many lines ends at the next empty line before something that is not indented.
const ENOUGH_LINES: usize = 30;
/// A piece ends after this many lines in any case.
const MOST_LINES: usize = 80;

pub(crate) fn markdown(name: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let language = extension(name).unwrap_or_default();
    let file = name.rsplit('/').next().unwrap_or(name);
    let mut markdown = String::with_capacity(text.len() + 256);
    let mut start = 0;
    while start < lines.len() {
        let end = end_of_piece(&lines, start);
        let piece = &lines[start..end];
        if piece.iter().any(|line| !line.trim().is_empty()) {
            let fence = fence(piece);
            // Writing into a string cannot fail.
            let _ = write!(markdown, "## {file}, lines {}–{end}\n\n{fence}{language}\n", start + 1);
            for line in piece {
                markdown.push_str(line);
                markdown.push('\n');
            }
            let _ = write!(markdown, "{fence}\n\n");
        }
        start = end;
    }
    markdown
}

fn end_of_piece(lines: &[&str], start: usize) -> usize {
    let last = lines.len().min(start + MOST_LINES);
    let begins_anew = |index: &usize| {
        lines[index - 1].trim().is_empty()
            && lines[*index].starts_with(|first: char| !first.is_whitespace())
    };
    let from = start + ENOUGH_LINES;
    if last == lines.len() && lines.len() <= from {
        return last;
    }
    (from..last).find(begins_anew).unwrap_or(last)
}

/// A fence that is longer than any run of backquotes inside the piece.
fn fence(piece: &[&str]) -> String {
    let runs = piece.iter().flat_map(|line| line.split(|letter| letter != '`'));
    "`".repeat(runs.map(str::len).max().unwrap_or(0).max(2) + 1)
}
