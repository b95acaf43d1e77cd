use super::blocks::{Block, BlockKind};
use crate::Ruler;

/// How texts are cut. If a setting or the version of the code changes, every text is cut again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunking {
    pub tokens: usize,
    pub overlap: usize,
}

impl Default for Chunking {
    fn default() -> Self {
        Self { tokens: 400, overlap: 80 }
    }
}

impl Chunking {
    /// A name for this way of cutting, by which chunks that were cut in another way are recognised.
    pub fn fingerprint(&self) -> String {
        const VERSION: u32 = 1;
        format!("{VERSION}:{}:{}", self.tokens, self.overlap)
    }

    /// The most tokens of a code block or table that is not cut.
    const fn most_whole(&self) -> usize {
        self.tokens * 4
    }

    /// A section with fewer tokens than this shares its chunk with the next section.
    const fn least(&self) -> usize {
        self.tokens / 6
    }
}

/// A chunk of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first line of the piece. Lines are counted from 1, and the last one is included.
    pub start_line: u32,
    pub end_line: u32,
    /// The headings above the piece, outermost first, joined by ` > `.
    pub heading: String,
    pub text: String,
}

pub(super) fn pack(text: &str, blocks: &[Block], chunking: &Chunking, ruler: &Ruler) -> Vec<Piece> {
    let lines: Vec<&str> = text.lines().collect();
    let tokens = lines.iter().map(|line| ruler.count_line(line)).collect();
    let mut packer = Packer {
        lines,
        tokens,
        ruler,
        chunking: *chunking,
        headings: Vec::new(),
        open: None,
        pieces: Vec::new(),
    };
    for block in blocks {
        packer.take(block);
    }
    packer.close();
    packer.pieces
}

struct Packer<'a> {
    lines: Vec<&'a str>,
    tokens: Vec<usize>,
    ruler: &'a Ruler,
    chunking: Chunking,
    /// The level and text of each heading above the current line, outermost first.
    headings: Vec<(usize, String)>,
    open: Option<OpenChunk>,
    pieces: Vec<Piece>,
}

/// The chunk that is being filled. It holds the lines from `start` to before `end`.
struct OpenChunk {
    start: usize,
    end: usize,
    heading: String,
    /// The first line that may be repeated at the start of the next chunk.
    repeatable_from: usize,
    /// Whether the chunk holds more than lines that are repeated from the chunk before.
    has_new: bool,
}

impl Packer<'_> {
    fn take(&mut self, block: &Block) {
        match &block.kind {
            BlockKind::Heading { level, text } => self.enter(block, *level, text),
            BlockKind::Whole
                if self.weight(block.start, block.end) > self.chunking.most_whole() =>
            {
                self.add_lines(block);
            }
            BlockKind::Whole => {
                self.make_room(block.start, block.end);
                self.add(block.start, block.end);
                if let Some(open) = &mut self.open {
                    open.repeatable_from = block.end;
                }
            }
            BlockKind::Text => self.add_lines(block),
        }
    }

    fn enter(&mut self, block: &Block, level: usize, text: &str) {
        let enough = self
            .open
            .as_ref()
            .is_some_and(|open| self.weight(open.start, open.end) >= self.chunking.least());
        if enough {
            self.close();
        }
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, text.to_owned()));
        self.add(block.start, block.end);
    }

    /// Adds a block of text as a whole if it fits into one chunk, else line by line.
    fn add_lines(&mut self, block: &Block) {
        if self.weight(block.start, block.end) <= self.chunking.tokens {
            self.make_room(block.start, block.end);
            self.add(block.start, block.end);
            return;
        }
        for line in block.start..block.end {
            if self.tokens[line] > self.chunking.tokens {
                self.close();
                self.add_long_line(line);
            } else {
                self.make_room(line, line + 1);
                self.add(line, line + 1);
            }
        }
    }

    /// Adds a line that is too long for a chunk, as programs without line breaks write paragraphs.
    /// It is cut between words.
    fn add_long_line(&mut self, line: usize) {
        let number = line_number(line);
        let heading = self.heading();
        let mut rest = self.lines[line];
        while !rest.is_empty() {
            let (part, after) = split_at_tokens(rest, self.chunking.tokens, self.ruler);
            self.pieces.push(Piece {
                start_line: number,
                end_line: number,
                heading: heading.clone(),
                text: part.trim().to_owned(),
            });
            rest = after;
        }
    }

    /// Closes the open chunk if these lines would make it too long. The next chunk begins with the
    /// end of the closed one.
    fn make_room(&mut self, start: usize, end: usize) {
        let Some(open) = &self.open else { return };
        if self.weight(open.start, end) <= self.chunking.tokens {
            return;
        }
        let mut from = open.end;
        let room = self.chunking.tokens.saturating_sub(self.weight(start, end));
        let overlap = self.chunking.overlap.min(room);
        let first = open.repeatable_from.max(open.start + 1);
        while from > first && self.weight(from - 1, open.end) <= overlap {
            from -= 1;
        }
        let last = open.end;
        self.close();
        while from < last && self.lines[from].trim().is_empty() {
            from += 1;
        }
        if from < last {
            self.open = Some(OpenChunk {
                start: from,
                end: last,
                heading: self.heading(),
                repeatable_from: from,
                has_new: false,
            });
        }
    }

    fn add(&mut self, start: usize, end: usize) {
        let heading = self.heading();
        let open = self.open.get_or_insert(OpenChunk {
            start,
            end,
            heading,
            repeatable_from: start,
            has_new: true,
        });
        open.end = end;
        open.has_new = true;
    }

    fn close(&mut self) {
        let Some(open) = self.open.take().filter(|open| open.has_new) else { return };
        self.pieces.push(Piece {
            start_line: line_number(open.start),
            end_line: line_number(open.end - 1),
            heading: open.heading,
            text: self.lines[open.start..open.end].join("\n"),
        });
    }

    fn heading(&self) -> String {
        let texts: Vec<&str> = self.headings.iter().map(|(_, text)| text.as_str()).collect();
        texts.join(" > ")
    }

    fn weight(&self, start: usize, end: usize) -> usize {
        self.tokens[start..end].iter().sum()
    }
}

fn line_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The longest start of a text that has at most this many tokens, cut at a space if possible.
fn split_at_tokens<'a>(text: &'a str, most: usize, ruler: &Ruler) -> (&'a str, &'a str) {
    // The search starts at eight characters a token, because few texts have longer tokens.
    let mut end = text.char_indices().nth(most * 8).map_or(text.len(), |(at, _)| at);
    while end > 1 && ruler.count(&text[..end]) > most {
        end = text.floor_char_boundary(end * 3 / 4).max(1);
    }
    let end = text.ceil_char_boundary(end);
    if end < text.len()
        && let Some(space) = text[..end].rfind(char::is_whitespace).filter(|at| *at > end / 2)
    {
        return text.split_at(space);
    }
    text.split_at(end)
}
