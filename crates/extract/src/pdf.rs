//! The text layer of a PDF. The parser panics on bad files and can be made to run for ever, so
//! documents from outside are parsed only in a process that may be killed.

use std::panic::{self, AssertUnwindSafe};

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use crate::{ExtractError, LONGEST_TEXT};

const MOST_PAGES: usize = 5_000;

pub(crate) fn pages(bytes: &[u8]) -> Result<Vec<String>, ExtractError> {
    panic::catch_unwind(AssertUnwindSafe(|| read(bytes)))
        .unwrap_or_else(|_| Err(ExtractError::Damaged("the PDF cannot be understood".to_owned())))
}

/// Each page gets a heading, so that a search result can be cited by its page.
pub(crate) fn markdown(pages: &[String]) -> Result<String, ExtractError> {
    let pages = pages.iter().enumerate().filter(|(_, text)| !text.trim().is_empty());
    let pages: Vec<String> =
        pages.map(|(index, text)| format!("## Page {}\n\n{}\n", index + 1, tidy(text))).collect();
    if pages.is_empty() { Err(ExtractError::NoText) } else { Ok(pages.join("\n")) }
}

fn read(bytes: &[u8]) -> Result<Vec<String>, ExtractError> {
    let mut document = Document::load_mem(bytes)
        .map_err(|error| ExtractError::Damaged(format!("the PDF cannot be opened: {error}")))?;
    if document.is_encrypted() {
        // Many PDFs only have printing locked and open with an empty password.
        document.decrypt("").map_err(|_| ExtractError::Encrypted)?;
    }
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    if numbers.len() > MOST_PAGES {
        return Err(ExtractError::TooComplex("PDF"));
    }
    let (mut pages, mut length) = (Vec::with_capacity(numbers.len()), 0);
    for number in numbers {
        let page = page(&document, number);
        length += page.len();
        if length > LONGEST_TEXT {
            return Err(ExtractError::TooLarge { limit: LONGEST_TEXT });
        }
        pages.push(page);
    }
    Ok(pages)
}

/// The text of a page. A page that cannot be read is empty, because the others are still useful.
fn page(document: &Document, number: u32) -> String {
    let read = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut text = String::new();
        let written = output_doc_page(document, &mut PlainTextOutput::new(&mut text), number);
        written.map(|()| text)
    }));
    match read {
        Ok(Ok(text)) => text,
        Ok(Err(_)) | Err(_) => String::new(),
    }
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
