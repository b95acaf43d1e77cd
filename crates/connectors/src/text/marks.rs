//! Discord's markdown. Every character that could be a mark is escaped, so that text stays text.

use super::blocks::{Block, Span, Style};
use super::html::may_be_linked;

const MARKS: &str = "\\*_~`|>#-[]()<:@";

pub(super) fn escaped_length(character: char) -> usize {
    if MARKS.contains(character) { 2 } else { 1 }
}

pub(super) fn style_length(style: &Style) -> usize {
    if style.code {
        return 4;
    }
    let marks = [(style.bold, 4), (style.italic, 2), (style.strike, 4)];
    let marks: usize = marks.iter().filter(|(is_on, _)| *is_on).map(|(_, length)| length).sum();
    let link = style.link.as_deref().filter(|link| may_be_linked(link));
    marks + link.map_or(0, |link| 6 + link.chars().count())
}

pub(super) fn render(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text { spans, is_quote, .. } => {
                let text: String = spans.iter().map(written).collect();
                if *is_quote {
                    out.push_str("> ");
                    out.push_str(&text.replace('\n', "\n> "));
                } else {
                    out.push_str(&text);
                }
            }
            Block::Code { language, text } => {
                // A fence cannot be escaped, so one inside is broken up.
                let text = text.replace("```", "``\u{200b}`");
                out.push_str(&format!("```{language}\n{text}\n```"));
            }
        }
        if index + 1 < blocks.len() {
            out.push_str(block.joint());
        }
    }
    out
}

fn written(span: &Span) -> String {
    let style = &span.style;
    if style.code {
        let text = span.text.replace('`', "ˋ");
        return format!("`{text}`");
    }
    let mut text: String = span.text.chars().flat_map(escaped).collect();
    for (is_on, mark) in [(style.strike, "~~"), (style.italic, "*"), (style.bold, "**")] {
        if is_on && !text.trim().is_empty() {
            text = format!("{mark}{text}{mark}");
        }
    }
    match style.link.as_deref().filter(|link| may_be_linked(link)) {
        Some(link) => format!("[{text}](<{}>)", link.replace(['>', '<', ' ', '\n'], "")),
        None => text,
    }
}

fn escaped(character: char) -> impl Iterator<Item = char> {
    let escape = MARKS.contains(character).then_some('\\');
    escape.into_iter().chain([character])
}
