//! Word documents: paragraphs, headings, lists and tables of `word/document.xml`.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::ExtractError;
use crate::archive::Archive;

/// The deepest nesting that is read. Documents have about twenty levels, so some hundreds are an
/// attack.
const DEEPEST: usize = 400;

/// The title, if there is one, and the text.
pub(crate) fn read(bytes: &[u8]) -> Result<(Option<String>, String), ExtractError> {
    let mut archive = Archive::open(bytes)?;
    let xml = archive
        .text("word/document.xml")?
        .ok_or_else(|| ExtractError::Damaged("it holds no document".to_owned()))?;
    let markdown = markdown(&xml)?;
    let named = archive.text("docProps/core.xml")?.and_then(|xml| title(&xml));
    let heading = markdown.lines().find_map(|line| line.strip_prefix("# "));
    Ok((named.or_else(|| heading.map(str::to_owned)), markdown))
}

fn title(xml: &str) -> Option<String> {
    let (_, rest) = xml.split_once("<dc:title>")?;
    let (title, _) = rest.split_once("</dc:title>")?;
    let title = quick_xml::escape::unescape(title).ok()?.trim().to_owned();
    (!title.is_empty()).then_some(title)
}

/// A paragraph that is being read.
#[derive(Default)]
struct Paragraph {
    text: String,
    /// The level of a heading; 1 is the largest.
    heading: Option<usize>,
    is_item: bool,
    indent: usize,
}

#[derive(Default)]
struct Writer {
    markdown: String,
    paragraph: Paragraph,
    /// The cells of the row that is being read, for each open table.
    rows: Vec<Vec<String>>,
    /// For each open table, whether the line under its heading was written.
    is_headed: Vec<bool>,
    in_text: bool,
    depth: usize,
}

fn markdown(xml: &str) -> Result<String, ExtractError> {
    let mut reader = Reader::from_str(xml);
    let mut writer = Writer::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => writer.open(&tag)?,
            Ok(Event::Empty(tag)) => writer.mark(&tag),
            Ok(Event::End(tag)) => writer.close(tag.local_name().as_ref()),
            Ok(Event::Text(text)) if writer.in_text => {
                let text = text.decode().map_err(|error| damaged(&error))?;
                writer.paragraph.text.push_str(&text);
            }
            Ok(Event::GeneralRef(name)) if writer.in_text => {
                let name = name.decode().map_err(|error| damaged(&error))?;
                let whole = format!("&{name};");
                let text = quick_xml::escape::unescape(&whole).map_err(|error| damaged(&error))?;
                writer.paragraph.text.push_str(&text);
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => return Err(damaged(&error)),
        }
    }
    Ok(writer.markdown)
}

fn damaged(error: &dyn std::fmt::Display) -> ExtractError {
    ExtractError::Damaged(format!("the document cannot be understood: {error}"))
}

impl Writer {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), ExtractError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ExtractError::TooComplex("document"));
        }
        match tag.local_name().as_ref() {
            b"t" => self.in_text = true,
            b"tbl" => {
                self.rows.push(Vec::new());
                self.is_headed.push(false);
            }
            _ => self.mark(tag),
        }
        Ok(())
    }

    /// Handles tags within a paragraph that hold no text.
    fn mark(&mut self, tag: &BytesStart<'_>) {
        let paragraph = &mut self.paragraph;
        match tag.local_name().as_ref() {
            b"tab" => paragraph.text.push(' '),
            b"br" | b"cr" => paragraph.text.push('\n'),
            b"numPr" => paragraph.is_item = true,
            b"ilvl" => {
                paragraph.indent = value(tag).and_then(|level| level.parse().ok()).unwrap_or(0);
            }
            b"pStyle" => paragraph.heading = value(tag).and_then(|style| level_of(&style)),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        self.depth = self.depth.saturating_sub(1);
        match name {
            b"t" => self.in_text = false,
            b"p" => self.end_paragraph(),
            b"tc" => {
                // The paragraphs of a cell were collected in the current paragraph.
                let cell = std::mem::take(&mut self.paragraph.text);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            b"tr" => self.end_row(),
            b"tbl" => {
                self.rows.pop();
                self.is_headed.pop();
                self.markdown.push('\n');
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        if !self.rows.is_empty() {
            // The paragraph continues until its cell ends.
            self.paragraph.text.push('\n');
            return;
        }
        let Paragraph { text, heading, is_item, indent } = std::mem::take(&mut self.paragraph);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let line = match (heading, is_item) {
            (Some(level), _) => format!("{} {text}\n\n", "#".repeat(level)),
            (None, true) => format!("{}- {text}\n", "  ".repeat(indent.min(8))),
            (None, false) => format!("{text}\n\n"),
        };
        self.markdown.push_str(&line);
    }

    fn end_row(&mut self) {
        let Some(cells) = self.rows.last_mut().map(std::mem::take) else { return };
        // A table within a cell becomes a line of that cell.
        if self.rows.len() > 1 {
            self.paragraph.text.push_str(&cells.join(", "));
            return;
        }
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        self.markdown.push_str(&format!("| {} |\n", cells.join(" | ")));
        if let Some(is_headed) = self.is_headed.last_mut().filter(|is_headed| !**is_headed) {
            *is_headed = true;
            self.markdown.push_str(&format!("|{}\n", " --- |".repeat(cells.len())));
        }
    }
}

fn value(tag: &BytesStart<'_>) -> Option<String> {
    let attribute = tag.attributes().flatten().find(|it| it.key.local_name().as_ref() == b"val")?;
    String::from_utf8(attribute.value.into_owned()).ok()
}

/// The level of a style such as `Heading2` or `Title`; in other languages the number is the same.
fn level_of(style: &str) -> Option<usize> {
    if style.eq_ignore_ascii_case("title") {
        return Some(1);
    }
    let number = style.trim_start_matches(|c: char| !c.is_ascii_digit());
    let word = style.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase();
    const WORDS: &[&str] =
        &["heading", "berschrift", "überschrift", "titre", "ttulo", "título", "titolo", "kop"];
    let level: usize = number.parse().ok()?;
    (WORDS.contains(&word.as_str()) && (1..=6).contains(&level)).then_some(level)
}
