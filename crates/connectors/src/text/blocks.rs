//! Parses markdown into a flat list of blocks. Lists become lines, and tables become columns or
//! records, so that both can be read on any network.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::table::Table;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
    pub link: Option<String>,
}

impl Style {
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Text {
        spans: Vec<Span>,
        is_quote: bool,
        /// Whether no empty line separates this block from the next one.
        is_tight: bool,
    },
    Code {
        language: String,
        text: String,
    },
}

impl Block {
    pub(super) fn text(text: impl Into<String>) -> Self {
        let spans = vec![Span { text: text.into(), style: Style::default() }];
        Self::Text { spans, is_quote: false, is_tight: false }
    }

    pub(super) fn joint(&self) -> &'static str {
        match self {
            Self::Text { is_tight: true, .. } => "\n",
            Self::Text { .. } | Self::Code { .. } => "\n\n",
        }
    }

    pub(super) fn is_quote(&self) -> bool {
        matches!(self, Self::Text { is_quote: true, .. })
    }

    /// Whether the block is one line of bold text, and so the title of what comes next.
    pub(super) fn is_heading(&self) -> bool {
        match self {
            Self::Text { spans, is_quote: false, .. } => {
                spans.iter().all(|span| span.style.bold && !span.text.contains('\n'))
            }
            Self::Text { .. } | Self::Code { .. } => false,
        }
    }

    fn is_blank(&self) -> bool {
        match self {
            Self::Text { spans, .. } => spans.iter().all(|span| span.text.trim().is_empty()),
            Self::Code { text, .. } => text.trim().is_empty(),
        }
    }
}

/// The text of the blocks without any formatting.
pub(super) fn plain(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text { spans, .. } => {
                for span in spans {
                    out.push_str(&span.text);
                    if let Some(link) = span.style.link.as_ref().filter(|link| **link != span.text)
                    {
                        out.push_str(&format!(" ({link})"));
                    }
                }
            }
            Block::Code { text, .. } => out.push_str(text),
        }
        if index + 1 < blocks.len() {
            out.push_str(block.joint());
        }
    }
    out
}

pub(super) fn parse(markdown: &str) -> Vec<Block> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(markdown, options) {
        reader.read(event);
    }
    reader.end_block();
    reader.blocks.retain(|block| !block.is_blank());
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    spans: Vec<Span>,
    style: Style,
    quotes: usize,
    /// The next number of each open list; `None` for a list without numbers.
    lists: Vec<Option<u64>>,
    /// The mark of a list item, which is written before its first text.
    mark: Option<String>,
    code: Option<(String, String)>,
    table: Option<Table>,
    links: Vec<Option<String>>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.say(&text),
            },
            Event::Code(text) => {
                let style = Style { code: true, ..Style::default() };
                self.put(&text, style);
            }
            // HTML is shown as the text that was written and is never rendered.
            Event::Html(text) | Event::InlineHtml(text) => self.say(&text),
            Event::SoftBreak | Event::HardBreak => self.say("\n"),
            Event::Rule => {
                self.end_block();
                self.blocks.push(Block::text("———"));
            }
            Event::TaskListMarker(is_done) => self.say(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.end_block();
                self.style.bold = true;
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.end_block();
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => word(language),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.end_block();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_block();
                self.mark = Some(self.item_mark());
            }
            Tag::Paragraph => self.end_block(),
            Tag::HtmlBlock => self.end_block(),
            Tag::Table(_) => {
                self.end_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::Emphasis => self.style.italic = true,
            Tag::Strong => self.style.bold = true,
            Tag::Strikethrough => self.style.strike = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let before = self.style.link.replace(dest_url.to_string());
                self.links.push(before);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_block();
                self.style.bold = false;
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
                    self.blocks.push(Block::Code { language, text });
                }
            }
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
                if self.lists.is_empty()
                    && let Some(Block::Text { is_tight, .. }) = self.blocks.last_mut()
                {
                    *is_tight = false;
                }
            }
            TagEnd::Item | TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.add_cell(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.blocks.extend(table.into_blocks());
                }
            }
            TagEnd::Emphasis => self.style.italic = false,
            TagEnd::Strong => self.style.bold = false,
            TagEnd::Strikethrough => self.style.strike = false,
            TagEnd::Link | TagEnd::Image => self.style.link = self.links.pop().flatten(),
            _ => {}
        }
    }

    fn item_mark(&mut self) -> String {
        let indent = "    ".repeat(self.lists.len().saturating_sub(1));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{indent}{number}. ");
                *number += 1;
                mark
            }
            Some(None) | None => format!("{indent}• "),
        }
    }

    fn say(&mut self, text: &str) {
        let style = self.style.clone();
        self.put(text, style);
    }

    fn put(&mut self, text: &str, style: Style) {
        let indent = match self.mark.take() {
            Some(mark) => Some(mark),
            // A second paragraph of a list item is indented like the text of the first.
            None if self.spans.is_empty() && !self.lists.is_empty() && self.table.is_none() => {
                Some("    ".repeat(self.lists.len() - 1) + "  ")
            }
            None => None,
        };
        if let Some(indent) = indent {
            self.spans.push(Span { text: indent, style: Style::default() });
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style }),
        }
    }

    fn end_block(&mut self) {
        if self.spans.is_empty() || self.table.is_some() {
            return;
        }
        let mut spans = std::mem::take(&mut self.spans);
        if let Some(last) = spans.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
        }
        let (is_quote, is_tight) = (self.quotes > 0, !self.lists.is_empty());
        self.blocks.push(Block::Text { spans, is_quote, is_tight });
    }
}

/// The language of a code block, which must be one short word, because anything else would break
/// the fence.
fn word(info: &str) -> String {
    let first = info.split([' ', ',', '{']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-_#.".contains(c);
    if first.len() <= 32 && first.chars().all(is_plain) { first.to_owned() } else { String::new() }
}
