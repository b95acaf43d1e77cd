//! Pictures that hold text: files of their own, and the pages of scanned PDFs. `tesseract` reads
//! the text on them, where it is installed.

use pdf_extract::{Dictionary, Document, Object};

use crate::ExtractError;

/// The most pages of a scan; more would take too long.
const MOST_PAGES: usize = 200;

/// Whether the bytes are a picture that `tesseract` can read.
pub(crate) fn is_picture(bytes: &[u8]) -> bool {
    const STARTS: &[&[u8]] =
        &[b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"GIF8", b"BM"];
    let is_webp = bytes.len() > 12 && bytes.starts_with(b"RIFF") && &bytes[8..12] == b"WEBP";
    is_webp || STARTS.iter().any(|start| bytes.starts_with(start))
}

/// The photographs in a scanned PDF, the largest of each page. Scans in other encodings are not
/// found.
pub(crate) fn pictures(bytes: &[u8]) -> Result<Vec<Vec<u8>>, ExtractError> {
    let document = Document::load_mem(bytes)
        .map_err(|error| ExtractError::Damaged(format!("the PDF cannot be opened: {error}")))?;
    let pages = document.get_pages();
    if pages.len() > MOST_PAGES {
        return Err(ExtractError::TooComplex("scan"));
    }
    let mut pictures = Vec::with_capacity(pages.len());
    for page in pages.into_values() {
        pictures.extend(largest_photograph(&document, page));
    }
    Ok(pictures)
}

fn largest_photograph(document: &Document, page: pdf_extract::ObjectId) -> Option<Vec<u8>> {
    let (resources, more) = document.get_page_resources(page).ok()?;
    let more = more.into_iter().filter_map(|id| document.get_dictionary(id).ok());
    let objects = resources.into_iter().chain(more).filter_map(|resources| {
        let objects = resources.get(b"XObject").ok()?;
        document.dereference(objects).ok()?.1.as_dict().ok()
    });
    let photographs = objects.flat_map(Dictionary::iter).filter_map(|(_, object)| {
        let stream = document.dereference(object).ok()?.1.as_stream().ok()?;
        let filter = stream.dict.get(b"Filter").ok()?;
        let is_jpeg = match filter {
            Object::Name(name) => name == b"DCTDecode",
            Object::Array(all) => all.len() == 1 && all[0].as_name().ok() == Some(b"DCTDecode"),
            _ => false,
        };
        is_jpeg.then(|| stream.content.clone())
    });
    photographs.max_by_key(Vec::len)
}
