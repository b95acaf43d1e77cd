//! Shows a table as columns if it is narrow, and as a list of records if it is wide, because phones
//! show only about `WIDEST` characters in a line.

use unicode_width::UnicodeWidthStr as _;

use super::blocks::{Block, Span, Style};

const WIDEST: usize = 46;
/// The mark around each cell of a table that contains Hebrew or Arabic. Without it such a line
/// would be drawn from the right, with its columns in reverse.
const LEFT_TO_RIGHT: char = '\u{200e}';

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn add_cell(&mut self, spans: Vec<Span>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(spans);
        }
    }

    pub(super) fn into_blocks(self) -> Vec<Block> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(words(cell).width());
            }
        }
        let whole = widths.iter().sum::<usize>() + 3 * columns.saturating_sub(1);
        if whole <= WIDEST { vec![self.columns(&widths)] } else { self.records() }
    }

    fn columns(&self, widths: &[usize]) -> Block {
        let is_mixed = self.rows.iter().flatten().any(|cell| is_right_to_left(&words(cell)));
        let direction = if is_mixed { LEFT_TO_RIGHT.to_string() } else { String::new() };
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let text = row.get(column).map(|cell| words(cell)).unwrap_or_default();
                    let padding = width.saturating_sub(text.width());
                    format!("{direction}{text}{direction}{}", " ".repeat(padding))
                })
                .collect();
            lines.push(cells.join(" │ ").trim_end().to_owned());
            if index == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(rules.join("─┼─"));
            }
        }
        Block::Code { language: String::new(), text: lines.join("\n") }
    }

    /// One block for each row, with the first cell as its name and the others below it after their
    /// headings.
    fn records(self) -> Vec<Block> {
        let mut rows = self.rows.into_iter();
        let heads: Vec<String> = rows.next().unwrap_or_default().iter().map(|c| words(c)).collect();
        let mut blocks = Vec::new();
        for row in rows {
            let mut spans = Vec::new();
            for (column, cell) in row.into_iter().enumerate() {
                let head = heads.get(column).map_or("", String::as_str);
                if column == 0 {
                    let style = Style { bold: true, ..Style::default() };
                    spans.push(Span { text: words(&cell), style });
                } else if !words(&cell).is_empty() {
                    let lead =
                        if head.is_empty() { "\n• ".into() } else { format!("\n• {head}: ") };
                    spans.push(Span { text: lead, style: Style::default() });
                    spans.extend(cell);
                }
            }
            blocks.push(Block::Text { spans, is_quote: false, is_tight: false });
        }
        blocks
    }
}

/// Whether a text contains letters of Hebrew, Arabic, Syriac, Thaana or N'Ko, or their presentation
/// forms.
fn is_right_to_left(text: &str) -> bool {
    let is_letter = |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}');
    text.chars().any(is_letter)
}

fn words(cell: &[Span]) -> String {
    cell.iter().map(|span| span.text.as_str()).collect::<String>().replace('\n', " ")
}
