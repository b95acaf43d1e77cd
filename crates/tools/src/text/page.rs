use crate::ToolError;

/// The most bytes of a page. The trailer must fit too into what a model is given of one output.
const PAGE_BYTES: usize = 30 * 1024;

/// A page of a text, as many lines as a model may be given at once.
///
/// The lines are returned unchanged, so that an edit can quote them. A trailer says what is missing
/// and how to get it.
pub(crate) fn page(
    name: &str,
    text: &str,
    from: Option<u32>,
    lines: Option<u32>,
) -> Result<String, ToolError> {
    let from = from.map_or(1, |from| from as usize);
    let wanted = lines.map_or(usize::MAX, |lines| lines as usize);
    let total = text.split_inclusive('\n').count();
    if from > total.max(1) {
        return Err(ToolError::Arguments(format!("{name} has only {total} lines")));
    }

    let mut page = String::new();
    let mut taken = 0;
    for line in text.split_inclusive('\n').skip(from - 1).take(wanted) {
        if page.len() + line.len() > PAGE_BYTES {
            break;
        }
        page.push_str(line);
        taken += 1;
    }
    if taken == 0 && total > 0 {
        return Ok(start_of_long_line(text, from));
    }
    let last = from + taken - 1;
    if taken < total {
        end_line(&mut page);
        page.push_str(&format!("[lines {from}-{last} of {total}"));
        if last < total {
            page.push_str(&format!("; go on with from={}", last + 1));
        }
        page.push(']');
    }
    Ok(page)
}

fn start_of_long_line(text: &str, number: usize) -> String {
    let line = text.split_inclusive('\n').nth(number - 1).unwrap_or_default();
    let start = &line[..line.floor_char_boundary(PAGE_BYTES)];
    format!(
        "{start}\n[line {number} is cut: {} of {} bytes; go on with from={}]",
        start.len(),
        line.len(),
        number + 1
    )
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_comes_exactly_as_it_is() {
        assert_eq!(page("a.md", "one\r\ntwo", None, None).unwrap(), "one\r\ntwo");
        assert_eq!(page("a.md", "", None, None).unwrap(), "");
    }

    #[test]
    fn a_range_says_where_it_ends_and_how_to_go_on() {
        let text = "1\n2\n3\n4\n";
        assert_eq!(
            page("a.md", text, Some(2), Some(2)).unwrap(),
            "2\n3\n[lines 2-3 of 4; go on with from=4]"
        );
        assert_eq!(page("a.md", text, Some(4), None).unwrap(), "4\n[lines 4-4 of 4]");
    }

    #[test]
    fn a_range_past_the_end_says_how_long_the_text_is() {
        let told = page("a.md", "1\n2\n", Some(3), None).unwrap_err().to_string();
        assert_eq!(told, "a.md has only 2 lines");
    }

    #[test]
    fn pages_of_a_long_text_follow_each_other_without_a_gap() {
        let text: String = (1..=9_000).map(|n| format!("line {n}\n")).collect();
        let mut read = String::new();
        let mut from = Some(1);
        while let Some(start) = from {
            let page = page("a.md", &text, Some(start), None).unwrap();
            assert!(page.len() <= 32 * 1024);
            let (body, trailer) = page.rsplit_once('[').unwrap();
            read.push_str(body);
            from = trailer
                .rsplit_once("from=")
                .map(|(_, next)| next.trim_end_matches(']').parse().unwrap());
        }
        assert_eq!(read, text);
    }

    #[test]
    fn a_line_longer_than_a_page_is_cut_at_a_character_and_says_so() {
        let text = "ü".repeat(40_000);
        let page = page("a.md", &text, None, None).unwrap();
        assert!(page.len() <= 32 * 1024);
        assert!(page.ends_with("[line 1 is cut: 30720 of 80000 bytes; go on with from=2]"));
    }
}
