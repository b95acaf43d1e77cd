//! Builds the message that the agent reads: who wrote it, what it replies to, and what its files
//! contain.

use onyx_storage::PeerKind;

use crate::connector::{FileKind, FileRef, Incoming};
use crate::context::AccountContext;
use crate::port::Picture;

const MOST_FILES: usize = 8;
const LARGEST_PICTURE: u64 = 8 * 1024 * 1024;
const LARGEST_VOICE: u64 = 20 * 1024 * 1024;
const LARGEST_TEXT: u64 = 200 * 1024;
const LONGEST_QUOTE: usize = 2_000;

pub(super) struct Content {
    pub(super) text: String,
    pub(super) pictures: Vec<Picture>,
}

pub(super) async fn content(context: &AccountContext, incoming: &Incoming) -> Content {
    let mut pieces = Vec::new();
    if let Some(quote) = &incoming.quoted {
        let end = quote.text.floor_char_boundary(LONGEST_QUOTE);
        let lines = quote.text[..end].replace('\n', "\n> ");
        pieces.push(format!("> {}: {lines}", quote.author));
    }
    let text = incoming.text.trim();
    if !text.is_empty() {
        // Several people write in a group, so the agent is told who wrote this.
        pieces.push(match incoming.kind {
            PeerKind::Group => format!("{}: {text}", incoming.author.name),
            PeerKind::Person => text.to_owned(),
        });
    }
    let mut pictures = Vec::new();
    for file in incoming.files.iter().take(MOST_FILES) {
        match read(context, file).await {
            Read::Picture(picture) => pictures.push(picture),
            Read::Text(text) => pieces.push(text),
        }
    }
    if incoming.files.len() > MOST_FILES {
        let left = incoming.files.len() - MOST_FILES;
        pieces.push(format!("[{left} more files came with this message and were not read.]"));
    }
    if pieces.is_empty() {
        pieces.push("[A picture without text.]".to_owned());
    }
    Content { text: pieces.join("\n\n"), pictures }
}

enum Read {
    Picture(Picture),
    Text(String),
}

async fn read(context: &AccountContext, file: &FileRef) -> Read {
    let name = &file.name;
    let unread = |why: &str| Read::Text(format!("[File {name}: {why}]"));
    let largest = match file.kind {
        FileKind::Picture => LARGEST_PICTURE,
        FileKind::Voice => LARGEST_VOICE,
        FileKind::Document => LARGEST_TEXT,
    };
    if file.bytes > largest {
        return unread(&format!("it has {} bytes; at most {largest} are read.", file.bytes));
    }
    if file.kind == FileKind::Document && !is_text(&file.media_type) {
        return unread(&format!("files of type {} cannot be read here.", file.media_type));
    }
    let bytes = match context.connector.download(file).await {
        Ok(bytes) if bytes.len() as u64 <= largest => bytes,
        Ok(_) => return unread("it is larger than the network announced."),
        Err(error) => return unread(&format!("it could not be fetched: {error}")),
    };
    match file.kind {
        FileKind::Picture => Read::Picture(Picture { media_type: file.media_type.clone(), bytes }),
        FileKind::Document => {
            let text = String::from_utf8_lossy(&bytes);
            Read::Text(format!("File {name}:\n```\n{text}\n```"))
        }
        FileKind::Voice => match context.home.transcriber() {
            None => unread("no transcriber is set up, so voice messages cannot be read."),
            Some(transcriber) => match transcriber.words(name, &bytes).await {
                Ok(words) => Read::Text(words),
                Err(error) => unread(&format!("it could not be transcribed: {error}")),
            },
        },
    }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || ["application/json", "application/xml", "application/yaml", "application/toml"]
            .contains(&media_type)
}
