//! Writes Telegram's HTML: the tags `b i s code pre a blockquote` and three escaped characters,
//! nothing else.

use super::blocks::{Block, Span};

pub(super) fn render(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text { spans, is_quote: true, .. } => {
                // Adjacent paragraphs of a quote share one element.
                let before = index.checked_sub(1).and_then(|before| blocks.get(before));
                if !before.is_some_and(Block::is_quote) {
                    out.push_str("<blockquote>");
                }
                spans.iter().for_each(|span| write_span(&mut out, span));
                if !blocks.get(index + 1).is_some_and(Block::is_quote) {
                    out.push_str("</blockquote>");
                }
            }
            Block::Text { spans, .. } => spans.iter().for_each(|span| write_span(&mut out, span)),
            Block::Code { language, text } if language.is_empty() => {
                out.push_str("<pre>");
                escape(&mut out, text);
                out.push_str("</pre>");
            }
            Block::Code { language, text } => {
                out.push_str("<pre><code class=\"language-");
                escape(&mut out, language);
                out.push_str("\">");
                escape(&mut out, text);
                out.push_str("</code></pre>");
            }
        }
        if index + 1 < blocks.len() {
            out.push_str(block.joint());
        }
    }
    out
}

fn write_span(out: &mut String, span: &Span) {
    let style = &span.style;
    if style.code {
        // Telegram allows no other tags inside or around code.
        out.push_str("<code>");
        escape(out, &span.text);
        out.push_str("</code>");
        return;
    }
    let link = style.link.as_deref().filter(|link| may_be_linked(link));
    if let Some(link) = link {
        out.push_str("<a href=\"");
        escape(out, link);
        out.push_str("\">");
    }
    let marks = [(style.bold, "b"), (style.italic, "i"), (style.strike, "s")];
    let marks = || marks.iter().filter(|(is_on, _)| *is_on).map(|(_, mark)| *mark);
    for mark in marks() {
        out.push_str(&format!("<{mark}>"));
    }
    escape(out, &span.text);
    for mark in marks().rev() {
        out.push_str(&format!("</{mark}>"));
    }
    if link.is_some() {
        out.push_str("</a>");
    }
}

/// Only web and mail addresses become links; any other target stays text.
pub(super) fn may_be_linked(link: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
}
