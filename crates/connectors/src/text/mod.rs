//! Renders an agent's text for each network. Markdown is parsed into blocks (`blocks.rs`), blocks
//! are packed into messages within the network's limit (`pack.rs`), and a format writes them
//! (`html.rs` for Telegram, `marks.rs` for Discord). Nothing here knows about accounts or peers.

mod blocks;
mod html;
mod marks;
mod pack;
mod table;

use serde::{Deserialize, Serialize};

pub use blocks::{Block, Span, Style};
pub use pack::pack;

/// One message as a network gets it, and the same text without formatting, in case the network
/// refuses the formatting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedMessage {
    pub marked: String,
    pub plain: String,
}

impl RenderedMessage {
    /// A message with the same text in both forms.
    pub fn literal(text: impl Into<String>) -> Self {
        let plain = text.into();
        Self { marked: plain.clone(), plain }
    }
}

/// How a network formats and measures text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Telegram's HTML, whose length is the visible text in UTF-16 units.
    TelegramHtml,
    /// Discord's markdown, whose length counts every character that is sent.
    DiscordMarkdown,
    /// Plain text, for pages that show no formatting.
    Plain,
    /// Markdown as the agent wrote it, for receivers that render it themselves.
    Markdown,
}

/// The size of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLimits {
    pub length: usize,
    /// The most formatted pieces; the network ignores further ones.
    pub styles: usize,
}

impl TextFormat {
    /// The text as messages, in order. A blank text yields no message.
    pub fn messages(self, text: &str, limits: TextLimits) -> Vec<RenderedMessage> {
        if self == Self::Markdown {
            return pack::pieces(text, limits.length)
                .into_iter()
                .map(RenderedMessage::literal)
                .collect();
        }
        let blocks = blocks::parse(text);
        pack(self, blocks, limits).iter().map(|blocks| self.render(blocks)).collect()
    }

    /// A short text whose characters are all shown as they are.
    pub(crate) fn literal(self, text: &str) -> RenderedMessage {
        let marked = match self {
            Self::TelegramHtml => {
                text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            }
            Self::DiscordMarkdown => marks::literal(text),
            Self::Plain | Self::Markdown => text.to_owned(),
        };
        RenderedMessage { marked, plain: text.to_owned() }
    }

    fn render(self, blocks: &[Block]) -> RenderedMessage {
        let plain = blocks::plain(blocks);
        let marked = match self {
            Self::TelegramHtml => html::render(blocks),
            Self::DiscordMarkdown => marks::render(blocks),
            Self::Plain | Self::Markdown => plain.clone(),
        };
        RenderedMessage { marked, plain }
    }

    /// The length of a character inside a piece of this style.
    fn char_length(self, character: char, is_code: bool) -> usize {
        match self {
            Self::TelegramHtml => character.len_utf16(),
            Self::DiscordMarkdown if is_code => 1,
            Self::DiscordMarkdown => marks::escaped_length(character),
            Self::Plain | Self::Markdown => 1,
        }
    }

    /// The length of the marks of a style.
    fn style_length(self, style: &Style) -> usize {
        match self {
            Self::TelegramHtml | Self::Plain | Self::Markdown => 0,
            Self::DiscordMarkdown => marks::style_length(style),
        }
    }

    /// The length of the marks around a block.
    fn block_overhead(self, block: &Block) -> usize {
        match (self, block) {
            (Self::DiscordMarkdown, Block::Code { language, text }) => {
                8 + language.chars().count() + marks::fences_length(text)
            }
            // Every line of a quote begins with a mark of two characters.
            (Self::DiscordMarkdown, Block::Text { is_quote: true, spans, .. }) => {
                let lines = spans.iter().map(|span| span.text.matches('\n').count()).sum::<usize>();
                2 * (lines + 1)
            }
            _ => 0,
        }
    }
}
