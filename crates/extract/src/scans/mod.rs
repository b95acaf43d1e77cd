//! Pictures that hold text: files of their own, and the pages of scanned PDFs. Whatever a PDF holds
//! becomes a picture file that `tesseract` opens by itself, or a sentence that says why not.
//!
//! This runs in the confined helper process: its input is hostile, and nothing of it is trusted but
//! the bounds.

mod fax;
mod filters;
mod pixels;

use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

use crate::ExtractError;
use fax::FaxSettings;
use filters::Encoded;
use pixels::Colours;

/// The most pixels of one picture: a page of A4 at 600 dots an inch, or A3 at 400.
const MOST_PIXELS: usize = 40_000_000;
/// The most objects of one page that are looked at.
const MOST_OBJECTS: usize = 2_000;
/// How many ancestors of a page are asked for what it inherits.
const MOST_ANCESTORS: usize = 32;

/// The width and height of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    width: usize,
    height: usize,
}

/// Whether the bytes are a picture that `tesseract` can read. Each start is as long as the one that
/// `tesseract` looks for, because it takes bytes that it does not know for a list of file names.
pub(crate) fn is_picture(bytes: &[u8]) -> bool {
    const STARTS: &[&[u8]] =
        &[b"\x89PNG\r\n\x1a\n", JPEG, b"II*\0", b"MM\0*", b"GIF87a", b"GIF89a"];
    let is_webp = bytes.len() > 12 && bytes.starts_with(b"RIFF") && &bytes[8..12] == b"WEBP";
    // A text may begin with these two letters, but not have the empty fields after the size.
    let is_bitmap = bytes.len() > 10 && bytes.starts_with(b"BM") && &bytes[6..10] == b"\0\0\0\0";
    is_webp || is_bitmap || STARTS.iter().any(|start| bytes.starts_with(start))
}

const JPEG: &[u8] = b"\xff\xd8\xff";

/// Whether the page draws a picture.
pub(crate) fn has_picture(document: &Document, page: ObjectId) -> bool {
    largest_picture(document, page).is_some()
}

/// The largest picture of a page, as a file that `tesseract` reads.
pub(crate) fn picture(document: &Document, page: ObjectId) -> Result<Vec<u8>, ExtractError> {
    let stream = largest_picture(document, page)
        .ok_or_else(|| ExtractError::Damaged("its picture is missing".to_owned()))?;
    let dictionary = &stream.dict;
    match filters::decode(document, stream)? {
        Encoded::Jpeg(bytes) if bytes.starts_with(JPEG) => Ok(bytes),
        Encoded::Jpeg(_) => Err(ExtractError::Damaged("its picture is no JPEG".to_owned())),
        Encoded::Fax { data, settings } => {
            let size = Size::of(document, dictionary)?;
            let settings = FaxSettings::of(document, settings);
            let colours = Colours::of(document, dictionary)?;
            fax::tiff(&data, size, &settings, fax::InkColour::of(&settings, &colours))
        }
        Encoded::Pixels(data) => {
            let size = Size::of(document, dictionary)?;
            pixels::pgm(&data, size, &Colours::of(document, dictionary)?)
        }
    }
}

impl Size {
    fn of(document: &Document, picture: &Dictionary) -> Result<Self, ExtractError> {
        let length = |key: &[u8]| usize::try_from(number(document, picture, key)?).ok();
        let (Some(width @ 1..), Some(height @ 1..)) = (length(b"Width"), length(b"Height")) else {
            return Err(ExtractError::Damaged("the size of its picture is missing".to_owned()));
        };
        match width.checked_mul(height) {
            Some(..=MOST_PIXELS) => Ok(Self { width, height }),
            Some(_) | None => {
                let most = MOST_PIXELS / 1_000_000;
                Err(refused(format!("its picture has more than {most} million pixels")))
            }
        }
    }
}

/// The picture with the most pixels among those that the page draws, also within forms. The layer
/// of a scan that holds the text is the one with the highest resolution.
fn largest_picture(document: &Document, page: ObjectId) -> Option<&Stream> {
    let drawn = drawn(document, page);
    let is_drawn = |name: &[u8]| drawn.as_ref().is_none_or(|all| all.iter().any(|one| one == name));
    let own = objects(document, resources(document, page)?);
    let mut waiting: Vec<&Object> =
        own.into_iter().filter(|(name, _)| is_drawn(name)).map(|(_, object)| object).collect();
    let mut largest: Option<((i64, usize), &Stream)> = None;
    let mut looked_at = 0;
    while let Some(object) = waiting.pop() {
        looked_at += 1;
        if looked_at > MOST_OBJECTS {
            break;
        }
        let Ok(stream) = document.dereference(object).and_then(|(_, object)| object.as_stream())
        else {
            continue;
        };
        match name(document, &stream.dict, b"Subtype") {
            Some(b"Image") => {
                let rank = rank(document, stream);
                if largest.is_none_or(|(most, _)| rank > most) {
                    largest = Some((rank, stream));
                }
            }
            Some(b"Form") => {
                let inside = dictionary(document, &stream.dict, b"Resources");
                let inside = inside.map(|inside| objects(document, inside)).unwrap_or_default();
                waiting.extend(inside.into_iter().map(|(_, object)| object));
            }
            Some(_) | None => {}
        }
    }
    largest.map(|(_, stream)| stream)
}

/// Pictures are compared by their pixels, and those of unknown size by their bytes.
fn rank(document: &Document, picture: &Stream) -> (i64, usize) {
    let length = |key: &[u8]| number(document, &picture.dict, key).unwrap_or(0).max(0);
    (length(b"Width").saturating_mul(length(b"Height")), picture.content.len())
}

/// The names of the objects that the page draws; `None` if its content cannot be read. Documents
/// may list the pictures of all pages on each of them.
fn drawn(document: &Document, page: ObjectId) -> Option<Vec<Vec<u8>>> {
    let content = document.get_and_decode_page_content(page).ok()?;
    let draws = content.operations.iter().filter(|operation| operation.operator == "Do");
    Some(draws.filter_map(|draw| Some(draw.operands.first()?.as_name().ok()?.to_vec())).collect())
}

/// The resources of a page, its own or those that it inherits.
fn resources(document: &Document, page: ObjectId) -> Option<&Dictionary> {
    let mut node = document.get_dictionary(page).ok()?;
    for _ in 0..MOST_ANCESTORS {
        if let Some(resources) = dictionary(document, node, b"Resources") {
            return Some(resources);
        }
        node = dictionary(document, node, b"Parent")?;
    }
    None
}

fn objects<'a>(document: &'a Document, resources: &'a Dictionary) -> Vec<(&'a [u8], &'a Object)> {
    let objects = dictionary(document, resources, b"XObject");
    let objects = objects.into_iter().flat_map(Dictionary::iter).take(MOST_OBJECTS);
    objects.map(|(name, object)| (name.as_slice(), object)).collect()
}

fn value<'a>(document: &'a Document, of: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    of.get_deref(key, document).ok()
}

fn dictionary<'a>(
    document: &'a Document,
    of: &'a Dictionary,
    key: &[u8],
) -> Option<&'a Dictionary> {
    value(document, of, key)?.as_dict().ok()
}

fn name<'a>(document: &'a Document, of: &'a Dictionary, key: &[u8]) -> Option<&'a [u8]> {
    value(document, of, key)?.as_name().ok()
}

fn number(document: &Document, of: &Dictionary, key: &[u8]) -> Option<i64> {
    value(document, of, key)?.as_i64().ok()
}

fn refused(why: impl Into<String>) -> ExtractError {
    ExtractError::Unreadable(why.into())
}
