//! Divides a markdown text into blocks of lines that belong together, and finds its headings.

/// A block of consecutive lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The first line, counted from 0; `end` is the line after the last one.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: BlockKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Heading {
        level: usize,
        text: String,
    },
    /// Text that may be cut between any two lines.
    Text,
    /// A fenced code block or a table, which is cut only if it is far too long.
    Whole,
}

#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    pub(super) front_matter: Option<String>,
    pub(super) first_heading: Option<String>,
}

pub(super) fn read(text: &str) -> Blocks {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Blocks::default();
    let mut at = 0;
    if let Some(end) = front_matter(&lines) {
        found.front_matter = Some(lines[1..end - 1].join("\n"));
        found.blocks.push(Block { start: 0, end, kind: BlockKind::Text });
        at = end;
    }
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        let block = block_at(&lines, at);
        at = block.end;
        if let BlockKind::Heading { text, .. } = &block.kind {
            found.first_heading.get_or_insert_with(|| text.clone());
        }
        found.blocks.push(block);
    }
    found
}

fn front_matter(lines: &[&str]) -> Option<usize> {
    if lines.first()?.trim_end() != "---" {
        return None;
    }
    let end = lines.iter().skip(1).position(|line| line.trim_end() == "---")?;
    Some(end + 2)
}

fn block_at(lines: &[&str], start: usize) -> Block {
    if let Some((level, text)) = heading(lines[start]) {
        let kind = BlockKind::Heading { level, text };
        return Block { start, end: start + 1, kind };
    }
    if let Some(fence) = fence(lines[start]) {
        let closing = lines[start + 1..].iter().position(|line| closes(line, fence));
        let end = closing.map_or(lines.len(), |offset| start + offset + 2);
        return Block { start, end, kind: BlockKind::Whole };
    }
    if is_table_row(lines[start]) {
        let rows = lines[start..].iter().take_while(|line| is_table_row(line)).count();
        return Block { start, end: start + rows, kind: BlockKind::Whole };
    }
    let mut end = start + 1;
    while end < lines.len() && is_continued(lines[end]) {
        end += 1;
    }
    Block { start, end, kind: BlockKind::Text }
}

/// Whether a line continues the paragraph before it, because no other block begins with it.
fn is_continued(line: &str) -> bool {
    !line.trim().is_empty()
        && heading(line).is_none()
        && fence(line).is_none()
        && !is_table_row(line)
        && !is_item(line)
}

fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = line.get(level..)?.strip_prefix(' ')?;
    let text = text.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !text.is_empty()).then(|| (level, text.to_owned()))
}

/// The character that opens a fence, and how often it is repeated.
fn fence(line: &str) -> Option<(u8, usize)> {
    let line = line.trim_start();
    let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    // Backticks that are closed on the same line are inline code.
    let inline = mark == b'`' && line[length..].contains('`');
    (length >= 3 && !inline).then_some((mark, length))
}

fn closes(line: &str, (mark, length): (u8, usize)) -> bool {
    let line = line.trim();
    line.len() >= length && line.bytes().all(|byte| byte == mark)
}

fn is_table_row(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('|') && line[1..].contains('|')
}

/// Whether a line is a list item at the margin, which begins a block. Indented items belong to the
/// block of the item above them.
fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    match digits {
        0 => rest.starts_with("- ") || rest.starts_with("* ") || rest.starts_with("+ "),
        _ => rest.starts_with(". ") || rest.starts_with(") "),
    }
}
