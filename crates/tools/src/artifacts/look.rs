//! Pages of a long text, and searches in it. Positions are bytes, because a tool's output may be one line.

use std::fmt::Write as _;

/// The most bytes of a page. The trailer must fit too into what a model is given of one output.
const PAGE_BYTES: usize = 30 * 1024;
const MOST_FOUND: usize = 40;
/// How much text is shown before and after a match, in bytes.
const AROUND: usize = 160;

/// The page of the text that begins at this byte, as long as a model may be given at once.
pub(crate) fn page_at(text: &str, offset: usize) -> String {
    let from = text.floor_char_boundary(offset);
    let to = text.floor_char_boundary(from + PAGE_BYTES);
    let mut page = text[from..to].to_owned();
    if from > 0 || to < text.len() {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n[bytes {from}-{to} of {}", text.len());
        if to < text.len() {
            let _ = write!(page, "; go on with offset={to}");
        }
        page.push(']');
    }
    page
}

/// The places where the words occur, ignoring case, each with the text around it.
pub(crate) fn found_in(text: &str, words: &str, offset: usize) -> String {
    let (lower, wanted) = (text.to_ascii_lowercase(), words.to_ascii_lowercase());
    let start = lower.floor_char_boundary(offset);
    let mut found = lower[start..].match_indices(&wanted).map(|(at, _)| start + at);
    let mut output = String::new();
    let mut covered = start;
    for at in found.by_ref() {
        if at < covered {
            continue;
        }
        if output.lines().count() >= MOST_FOUND {
            let _ = writeln!(output, "[there are more; go on with offset={at}]");
            return output;
        }
        let from = text.floor_char_boundary(at.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((at + wanted.len() + AROUND).min(text.len()));
        let shown = text[from..to].split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(output, "[byte {at}] {shown}");
        covered = to;
    }
    if output.is_empty() {
        let _ = writeln!(output, "[{words:?} is not in it]");
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_one_long_line_follow_each_other_without_a_gap() {
        let text = "ü".repeat(50_000);
        let (mut read, mut offset) = (String::new(), 0);
        loop {
            let page = page_at(&text, offset);
            let (body, trailer) = page.rsplit_once("\n[").unwrap();
            read.push_str(body);
            match trailer.split_once("offset=") {
                Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(read, text);
    }

    #[test]
    fn words_are_found_in_any_case_with_their_place() {
        let text = format!("{} the Needle in {}", "hay ".repeat(1_000), "hay ".repeat(1_000));
        let output = found_in(&text, "needle", 0);
        let (place, around) = output.split_once("] ").unwrap();
        let at: usize = place.trim_start_matches("[byte ").parse().unwrap();
        assert_eq!(&text[at..at + 6], "Needle");
        assert!(around.contains("the Needle in hay") && around.len() < 400, "{around}");
        assert_eq!(found_in(&text, "pin", 0), "[\"pin\" is not in it]\n");
        let many = found_in(&"needle hay ".repeat(20_000), "needle", 0);
        assert!(many.lines().last().unwrap().contains("go on with offset="), "{many}");
    }
}
