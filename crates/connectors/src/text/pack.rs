//! Packs blocks into messages. A message gets as many whole blocks as fit. A block that is too long
//! for a message is cut at the end of a line, a sentence or a word, or else between two visible
//! characters.

use super::blocks::{Block, Span};
use super::{TextFormat, TextLimits};

/// The blocks of each message, in order.
pub fn pack(text_format: TextFormat, blocks: Vec<Block>, limits: TextLimits) -> Vec<Vec<Block>> {
    let mut packer = Packer { text_format, limits, done: Vec::new(), open: Vec::new() };
    for block in blocks {
        packer.add(block);
    }
    packer.close();
    packer.done
}

struct Packer {
    text_format: TextFormat,
    limits: TextLimits,
    done: Vec<Vec<Block>>,
    open: Vec<Block>,
}

impl Packer {
    fn add(&mut self, block: Block) {
        let mut rest = Some(block);
        while let Some(block) = rest.take() {
            let joint = self.open.last().map_or(0, |last| last.joint().len());
            let weight = weigh(self.text_format, &block);
            if self.used().plus(joint).plus_weight(&weight).fits(self.limits) {
                self.open.push(block);
            } else if !self.open.is_empty() {
                let title = self.title();
                self.close();
                self.open.extend(title);
                rest = Some(block);
            } else {
                let (head, tail) = cut(self.text_format, block, self.limits);
                self.done.push(vec![head]);
                rest = tail;
            }
        }
    }

    /// Takes a heading off the end of a message that has other content, so that the heading moves
    /// to the next message with its text.
    fn title(&mut self) -> Option<Block> {
        let is_title = self.open.len() > 1 && self.open.last().is_some_and(Block::is_heading);
        if is_title { self.open.pop() } else { None }
    }

    fn used(&self) -> Weight {
        let mut used = Weight::default();
        for (index, block) in self.open.iter().enumerate() {
            used = used.plus_weight(&weigh(self.text_format, block));
            if index + 1 < self.open.len() {
                used = used.plus(block.joint().len());
            }
        }
        used
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.done.push(std::mem::take(&mut self.open));
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    length: usize,
    styles: usize,
}

impl Weight {
    fn plus(self, length: usize) -> Self {
        Self { length: self.length + length, ..self }
    }

    fn plus_weight(self, other: &Self) -> Self {
        Self { length: self.length + other.length, styles: self.styles + other.styles }
    }

    fn fits(self, limits: TextLimits) -> bool {
        self.length <= limits.length && self.styles <= limits.styles
    }
}

fn weigh(text_format: TextFormat, block: &Block) -> Weight {
    let overhead = text_format.block_overhead(block);
    match block {
        Block::Code { text, .. } => {
            let length = text.chars().map(|c| text_format.char_length(c, true)).sum::<usize>();
            // Telegram counts the block and its language as two styles.
            Weight { length: length + overhead, styles: 2 }
        }
        Block::Text { spans, is_quote, .. } => {
            let mut weight = Weight { length: overhead, styles: usize::from(*is_quote) };
            for span in spans {
                weight = weight.plus_weight(&span_weight(text_format, span));
            }
            weight
        }
    }
}

fn span_weight(text_format: TextFormat, span: &Span) -> Weight {
    let style = &span.style;
    let words = span.text.chars().map(|c| text_format.char_length(c, style.code)).sum::<usize>();
    let marks = [style.bold, style.italic, style.strike, style.code, style.link.is_some()];
    Weight {
        length: words + text_format.style_length(style),
        styles: marks.iter().filter(|mark| **mark).count(),
    }
}

/// The largest part of a block that fits into one message, and the rest of it.
fn cut(text_format: TextFormat, block: Block, limits: TextLimits) -> (Block, Option<Block>) {
    match block {
        Block::Code { language, text } => {
            let empty = Block::Code { language: language.clone(), text: String::new() };
            let overhead = text_format.block_overhead(&empty);
            let room = limits.length.saturating_sub(overhead).max(1);
            // A fence inside the code is broken up, which adds at most one character for each of
            // its backticks.
            let weigh = |c: char| text_format.char_length(c, true) + usize::from(c == '`');
            let end = cut_at(&text, room, weigh, &["\n"]);
            let (head, tail) = text.split_at(end);
            let tail = tail.strip_prefix('\n').unwrap_or(tail);
            let rest = (!tail.is_empty())
                .then(|| Block::Code { language: language.clone(), text: tail.to_owned() });
            (Block::Code { language, text: head.to_owned() }, rest)
        }
        Block::Text { spans, is_quote, is_tight } => {
            let (head, tail) = cut_spans(text_format, spans, is_quote, limits);
            let rest =
                (!tail.is_empty()).then_some(Block::Text { spans: tail, is_quote, is_tight });
            (Block::Text { spans: head, is_quote, is_tight }, rest)
        }
    }
}

fn cut_spans(
    text_format: TextFormat,
    spans: Vec<Span>,
    is_quote: bool,
    limits: TextLimits,
) -> (Vec<Span>, Vec<Span>) {
    let mut used = Weight { length: if is_quote { 2 } else { 0 }, styles: usize::from(is_quote) };
    let mut head = Vec::new();
    let mut spans = spans.into_iter();
    while let Some(span) = spans.next() {
        let lines = if is_quote { 2 * span.text.matches('\n').count() } else { 0 };
        let weight = span_weight(text_format, &span).plus(lines);
        if used.plus_weight(&weight).fits(limits) {
            used = used.plus_weight(&weight);
            head.push(span);
            continue;
        }
        let marks = text_format.style_length(&span.style);
        let room = limits.length.saturating_sub(used.length + marks);
        let style_fits = used.styles + weight.styles <= limits.styles;
        let length = |c: char| {
            let line = if is_quote && c == '\n' { 2 } else { 0 };
            line + text_format.char_length(c, span.style.code)
        };
        let end = if style_fits && room > 0 {
            cut_at(&span.text, room, length, &["\n\n", "\n", ". ", " "])
        } else {
            0
        };
        if end == 0 && head.is_empty() {
            // The markup alone is too long for a message, so the text is sent without it.
            let bare = Span { text: span.text, style: super::Style::default() };
            let rest = std::iter::once(bare).chain(spans).collect();
            return cut_spans(text_format, rest, is_quote, limits);
        }
        let (first, second) = span.text.split_at(end);
        if !first.is_empty() {
            head.push(Span { text: first.to_owned(), style: span.style.clone() });
        }
        let second = second.strip_prefix([' ', '\n']).unwrap_or(second);
        let mut tail = Vec::new();
        if !second.is_empty() {
            tail.push(Span { text: second.to_owned(), style: span.style });
        }
        tail.extend(spans);
        return (head, tail);
    }
    (head, Vec::new())
}

/// The position at which to cut a text so that its first part has at most this length: after the
/// last boundary of the best kind in its second half, else between two visible characters.
fn cut_at(text: &str, room: usize, length: impl Fn(char) -> usize, boundaries: &[&str]) -> usize {
    let mut used = 0;
    let mut end = text.len();
    for (index, character) in text.char_indices() {
        used += length(character);
        if used > room {
            end = index;
            break;
        }
    }
    if end == text.len() {
        return end;
    }
    let half = text.floor_char_boundary(end / 2);
    for boundary in boundaries {
        if let Some(found) = text[half..end].rfind(boundary) {
            let words = if boundary.trim().is_empty() { 0 } else { 1 };
            return half + found + words;
        }
    }
    character_boundary(text, end)
}

/// The last position up to `end` that does not split what a reader sees as one character: accents,
/// joiners and the second half of a flag stay with what is before them.
fn character_boundary(text: &str, end: usize) -> usize {
    let mut end = end;
    for _ in 0..32 {
        let next = text[end..].chars().next();
        let before = text[..end].chars().next_back();
        let (Some(next), Some(before)) = (next, before) else { return end };
        if !joins(before, next) {
            return end;
        }
        let Some((shorter, _)) = text[..end].char_indices().next_back() else { return end };
        if shorter == 0 {
            break;
        }
        end = shorter;
    }
    end
}

fn joins(before: char, next: char) -> bool {
    let is_flag = |c: char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
    let is_mark = matches!(next,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{20d0}'..='\u{20ff}' | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{200d}');
    is_mark || before == '\u{200d}' || (is_flag(before) && is_flag(next))
}

/// Cuts a text into pieces of at most this many characters, for receivers that accept markdown.
pub(super) fn pieces(text: &str, most: usize) -> Vec<String> {
    let mut rest = text.trim();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let end = cut_at(rest, most, |_| 1, &["\n\n", "\n", ". ", " "]).max(1);
        let end = rest.ceil_char_boundary(end);
        pieces.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    pieces
}
