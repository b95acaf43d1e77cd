//! The pages of a PDF: their text layer, and which of them are scans. The parser panics on bad files
//! and can be made to run for ever, so documents from outside are parsed only in a process that may
//! be killed.

use std::panic::{self, AssertUnwindSafe};

use pdf_extract::{Document, Object, ObjectId, PlainTextOutput, output_doc_page};
use serde::{Deserialize, Serialize};

use crate::{ExtractError, ExtractedText, Kind, LONGEST_TEXT, scans};

const MOST_PAGES: usize = 5_000;

/// A page as the parser finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Page {
    Text(String),
    /// It has no text, but a picture on which text may be recognised.
    Picture,
    Empty,
    /// The parser failed on it.
    Unreadable,
}

/// What the document's text shows of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Text(String),
    Empty,
    Failed(ExtractError),
}

impl Page {
    pub(crate) fn is_picture(&self) -> bool {
        *self == Self::Picture
    }

    /// The section of the page if pictures fail with this error.
    pub(crate) fn section_or(self, of_picture: &ExtractError) -> Section {
        match self {
            Self::Text(text) => Section::Text(text),
            Self::Picture => Section::Failed(of_picture.clone()),
            Self::Empty => Section::Empty,
            Self::Unreadable => {
                Section::Failed(ExtractError::Damaged("its text cannot be understood".to_owned()))
            }
        }
    }
}

/// The sections of pages if pictures fail with this error.
pub(crate) fn sections_or(pages: Vec<Page>, of_pictures: &ExtractError) -> Vec<Section> {
    pages.into_iter().map(|page| page.section_or(of_pictures)).collect()
}

pub(crate) fn pages(bytes: &[u8]) -> Result<Vec<Page>, ExtractError> {
    caught(|| read(bytes))
}

/// The picture of a page that consists of one, as a file.
pub(crate) fn picture(bytes: &[u8], number: u32) -> Result<Vec<u8>, ExtractError> {
    caught(|| {
        let document = open(bytes)?;
        let page = document.get_pages().get(&number).copied();
        let page = page.ok_or_else(|| ExtractError::Damaged("the page is missing".to_owned()))?;
        scans::picture(&document, page)
    })
}

pub(crate) fn extracted(sections: &[Section]) -> Result<ExtractedText, ExtractError> {
    let lacks = sections.iter().find_map(|section| match section {
        Section::Failed(error) if is_temporary(error) => Some(error),
        Section::Text(_) | Section::Empty | Section::Failed(_) => None,
    });
    let markdown = markdown(sections)?;
    ExtractedText { kind: Kind::Pdf, title: None, markdown, lacks: lacks.cloned() }.bounded()
}

/// The document's text. Each page gets a heading, so that a search result can be cited by its page.
/// A page that failed says so in its place; if no page has text, the first failure is that of the
/// document.
pub(crate) fn markdown(sections: &[Section]) -> Result<String, ExtractError> {
    let (mut written, mut failure, mut has_text) = (Vec::new(), None, false);
    for (number, section) in (1..).zip(sections) {
        match section {
            Section::Text(text) if text.trim().is_empty() => {}
            Section::Text(text) => {
                has_text = true;
                written.push(format!("## Page {number}\n\n{}\n", tidy(text)));
            }
            Section::Failed(error) => {
                failure = failure.or(Some(error));
                let why = format!("This page could not be read: {error}.");
                written.push(format!("## Page {number}\n\n*{why}*\n"));
            }
            Section::Empty => {}
        }
    }
    match failure {
        _ if has_text => Ok(written.join("\n")),
        Some(error) => Err(error.clone()),
        None => Err(ExtractError::NoText),
    }
}

/// Whether another reading of the same bytes may succeed, because it was this machine that failed.
fn is_temporary(error: &ExtractError) -> bool {
    match error {
        ExtractError::NeedsOcr | ExtractError::NoLanguage | ExtractError::Reader(_) => true,
        ExtractError::TooLarge { .. }
        | ExtractError::TooComplex(_)
        | ExtractError::NotText
        | ExtractError::Damaged(_)
        | ExtractError::NoText
        | ExtractError::Unreadable(_)
        | ExtractError::Encrypted
        | ExtractError::TooCostly { .. } => false,
    }
}

fn caught<T>(read: impl FnOnce() -> Result<T, ExtractError>) -> Result<T, ExtractError> {
    panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ExtractError::Damaged("the PDF cannot be understood".to_owned())))
}

fn open(bytes: &[u8]) -> Result<Document, ExtractError> {
    let mut document = Document::load_mem(bytes)
        .map_err(|error| ExtractError::Damaged(format!("the PDF cannot be opened: {error}")))?;
    if document.is_encrypted() {
        // Many PDFs only have printing locked and open with an empty password.
        document.decrypt("").map_err(|_| ExtractError::Encrypted)?;
    }
    Ok(document)
}

fn read(bytes: &[u8]) -> Result<Vec<Page>, ExtractError> {
    let mut document = open(bytes)?;
    empty_pictures(&mut document);
    let numbered = document.get_pages();
    if numbered.len() > MOST_PAGES {
        return Err(ExtractError::TooComplex("PDF"));
    }
    let (mut pages, mut length) = (Vec::with_capacity(numbered.len()), 0);
    for (number, id) in numbered {
        let page = page(&document, number, id);
        if let Page::Text(text) = &page {
            length += text.len();
        }
        if length > LONGEST_TEXT {
            return Err(ExtractError::TooLarge { limit: LONGEST_TEXT });
        }
        pages.push(page);
    }
    Ok(pages)
}

/// Empties all pictures, because the parser of the text layer takes their pixels for operators that
/// draw: it would unpack each of them, and a page could fail only for its picture.
fn empty_pictures(document: &mut Document) {
    for object in document.objects.values_mut() {
        if let Object::Stream(stream) = object
            && stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|of| of == b"Image")
        {
            stream.set_plain_content(Vec::new());
        }
    }
}

/// A page whose text cannot be read may still be a picture, and the others are useful in any case.
fn page(document: &Document, number: u32, id: ObjectId) -> Page {
    let text = text(document, number);
    let has_text = text.as_ref().is_some_and(|text| !text.trim().is_empty());
    match text {
        Some(text) if has_text => Page::Text(text),
        Some(_) | None if has_picture(document, id) => Page::Picture,
        Some(_) => Page::Empty,
        None => Page::Unreadable,
    }
}

/// The text layer of a page; `None` if the parser fails on it.
fn text(document: &Document, number: u32) -> Option<String> {
    let read = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut text = String::new();
        let written = output_doc_page(document, &mut PlainTextOutput::new(&mut text), number);
        written.map(|()| text)
    }));
    read.ok()?.ok()
}

fn has_picture(document: &Document, id: ObjectId) -> bool {
    panic::catch_unwind(AssertUnwindSafe(|| scans::has_picture(document, id))).unwrap_or(false)
}

fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    let keeps = |index: &usize| !lines[*index].is_empty() || !lines[index - 1].is_empty();
    let kept: Vec<&str> = (0..lines.len())
        .filter(|index| *index == 0 || keeps(index))
        .map(|index| lines[index])
        .collect();
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_their_numbers_and_a_failure_stays_in_its_place() {
        let failed = ExtractError::Unreadable("its picture is compressed with JBIG2".to_owned());
        let text = |text: &str| Section::Text(text.to_owned());
        let sections = [
            text("one"),
            Section::Empty,
            Section::Failed(failed.clone()),
            text(" \n"),
            text("five"),
        ];
        let expected = "## Page 1\n\none\n\n## Page 3\n\n*This page could not be read: its picture \
                        is compressed with JBIG2.*\n\n## Page 5\n\nfive\n";
        assert_eq!(markdown(&sections).as_deref(), Ok(expected));
        assert_eq!(markdown(&sections[1..4]), Err(failed));
        assert_eq!(markdown(&sections[1..2]), Err(ExtractError::NoText));
    }
}
