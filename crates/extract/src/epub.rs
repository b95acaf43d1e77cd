//! Books: the chapters of an EPUB in reading order.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::archive::Archive;
use crate::{ExtractError, LONGEST_TEXT, html};

const CONTAINER: &str = "META-INF/container.xml";
const ENCRYPTION: &str = "META-INF/encryption.xml";
const MOST_CHAPTERS: usize = 5_000;

/// The title, if there is one, and the text.
pub(crate) fn read(bytes: &[u8]) -> Result<(Option<String>, String), ExtractError> {
    let mut archive = Archive::open(bytes)?;
    let container = archive.text(CONTAINER)?.ok_or_else(|| missing(CONTAINER))?;
    let package = attribute_of(&container, b"rootfile", "full-path")?
        .ok_or_else(|| ExtractError::Damaged("the book does not say where it begins".to_owned()))?;
    let package_text = archive.text(&package)?.ok_or_else(|| missing(&package))?;
    let book = Package::read(&package_text)?;
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let locked = archive.text(ENCRYPTION)?.unwrap_or_default();
    let mut markdown = String::new();
    for chapter in book.chapters.iter().take(MOST_CHAPTERS) {
        let path = path_of(folder, chapter);
        if locked.contains(&format!("\"{path}\"")) {
            return Err(ExtractError::Encrypted);
        }
        let Some(page) = archive.text(&path)? else { continue };
        markdown.push_str(html::whole(&page)?.trim());
        markdown.push_str("\n\n");
        if markdown.len() > LONGEST_TEXT {
            return Err(ExtractError::TooLarge { limit: LONGEST_TEXT });
        }
    }
    Ok((book.title, markdown))
}

fn missing(name: &str) -> ExtractError {
    ExtractError::Damaged(format!("the book holds no {name}"))
}

fn damaged(error: &dyn std::fmt::Display) -> ExtractError {
    ExtractError::Damaged(format!("the book cannot be understood: {error}"))
}

#[derive(Default)]
struct Package {
    title: Option<String>,
    /// The addresses of the chapters, in reading order.
    chapters: Vec<String>,
}

impl Package {
    fn read(package_text: &str) -> Result<Self, ExtractError> {
        let mut reader = Reader::from_str(package_text);
        let (mut items, mut spine) = (HashMap::new(), Vec::new());
        let (mut title, mut in_title) = (String::new(), false);
        loop {
            match reader.read_event() {
                Ok(Event::Start(tag) | Event::Empty(tag)) => match tag.local_name().as_ref() {
                    b"title" => in_title = title.is_empty(),
                    b"item" => {
                        let named = (attribute(&tag, "id"), attribute(&tag, "href"));
                        if let (Some(id), Some(href)) = named {
                            items.insert(id, href);
                        }
                    }
                    b"itemref" => spine.extend(attribute(&tag, "idref")),
                    _ => {}
                },
                Ok(Event::End(_)) => in_title = false,
                Ok(Event::Text(text)) if in_title => {
                    title.push_str(&text.decode().map_err(|error| damaged(&error))?);
                }
                Ok(Event::Eof) => break,
                Ok(_) => {}
                Err(error) => return Err(damaged(&error)),
            }
        }
        let title = title.trim().to_owned();
        Ok(Self {
            title: (!title.is_empty()).then_some(title),
            chapters: spine.iter().filter_map(|id| items.remove(id)).collect(),
        })
    }
}

fn attribute_of(xml: &str, name: &[u8], wanted: &str) -> Result<Option<String>, ExtractError> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) if tag.local_name().as_ref() == name => {
                return Ok(attribute(&tag, wanted));
            }
            Ok(Event::Eof) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(damaged(&error)),
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut all = tag.attributes().flatten();
    let found = all.find(|it| it.key.local_name().as_ref() == name.as_bytes())?;
    let text = String::from_utf8(found.value.into_owned()).ok()?;
    quick_xml::escape::unescape(&text).ok().map(|text| text.into_owned())
}

/// The name of the archive's file that an address within the book leads to.
fn path_of(folder: &str, address: &str) -> String {
    let address = address.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    unescaped(&parts.join("/"))
}

/// Decodes escapes such as `%20`.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
