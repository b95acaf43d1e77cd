//! Reads a file and cuts it into the chunks that the table stores.

use std::sync::Arc;

use jiff::civil::Date;
use onyx_storage::{
    ChunkRow, History, Message, Object, ObjectKey, Objects, SourceKey, SourceKind, SourceRow,
    Stamp, StoreError, declared_origin,
};
use onyx_types::{Clock, Hash, Origin, Timestamp, Zone};

use crate::chunk::{indexed_text, is_date, zone_of};
use crate::files::places::{PlacedFile, is_binary_name};
use crate::files::transcript::{self, TranscriptMessage};
use crate::indexing::RereadScope;
use crate::{Chunking, Document, KnowledgeError, Ruler};

/// The largest file that is read. Larger files are no notes and would need too much memory.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;
/// The mark of lines in a daily log that an agent wrote after it had read untrusted text.
const TAINT_MARK: &str = "<!-- agent_tainted -->";

/// A file that is to be read.
pub(crate) struct File<'a> {
    pub(crate) key: SourceKey,
    pub(crate) path: &'a ObjectKey,
    pub(crate) place: PlacedFile,
    /// The file's size and time, if it was listed.
    pub(crate) listed: Option<Stamp>,
    /// The row that the table holds of the file.
    pub(crate) before: Option<SourceRow>,
    pub(crate) how: RereadScope,
}

/// Reads the files of one person, or the shared ones.
pub(crate) struct FileReader {
    pub(crate) objects: Arc<dyn Objects>,
    /// The history of the files; `None` for shared files, whose versions are not kept.
    pub(crate) history: Option<History>,
    pub(crate) ruler: Ruler,
    pub(crate) chunking: Chunking,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The result of reading a file.
pub(crate) enum Reading {
    /// The file does not exist, and the table has no row for it.
    Nothing,
    Gone(SourceKey),
    /// The file was written again with the same content.
    Same {
        key: SourceKey,
        stamp: Stamp,
        at: Timestamp,
    },
    New(SourceRow, Vec<ChunkRow>),
    /// The content is the same, but it is written to the table once more.
    Again(SourceRow, Vec<ChunkRow>),
}

impl FileReader {
    pub(crate) async fn read(&self, file: File<'_>) -> Result<Reading, KnowledgeError> {
        let File { key, path, place, listed, before, how } = file;
        let read = if is_binary_name(&key.path) {
            Err(StoreError::Refused("files of this kind hold no text".to_owned()))
        } else {
            self.objects.get(path, LARGEST_FILE).await
        };
        let object = match read {
            Ok(Some(object)) => object,
            Ok(None) | Err(StoreError::NotFound) => {
                return Ok(before.map_or(Reading::Nothing, |_| Reading::Gone(key)));
            }
            // The path leads to a folder or a link, or the file is too large. The table keeps the
            // reason, so that the status can show it.
            Err(StoreError::Refused(why)) => {
                let stamp = match listed {
                    Some(stamp) => stamp,
                    None => stamp_of(&*self.objects, path).await?,
                };
                let row = self.row(key, place, stamp, Hash::ZERO);
                return Ok(problem(row, before, why, how));
            }
            Err(error) => return Err(error.into()),
        };
        let stamp = Stamp { size: object.bytes.len() as u64, modified: object.modified };
        let mut row = self.row(key, place, stamp, object.hash);
        let same = |before: &SourceRow| {
            (before.checksum, before.kind, &before.scope) == (row.checksum, row.kind, &row.scope)
                && self.is_well_cut(before)
        };
        let is_same = before.as_ref().is_some_and(same);
        let text = text_of(&object);
        let declared = text.as_ref().map_or(Origin::Person, |text| declared_origin(text));
        row.origin = origin_of(&row, path, &object, self.history.as_ref()).await?.max(declared);
        // The same bytes may have another origin by now, because another writer wrote them too or a
        // person accepted them.
        let is_known = before.as_ref().is_some_and(|before| before.origin == row.origin);
        if is_same && is_known && how == RereadScope::Changes {
            return Ok(Reading::Same { key: row.key, stamp, at: row.indexed_at });
        }
        match text {
            Ok(text) => {
                let rows = self.cut(&mut row, text);
                Ok(if is_same { Reading::Again(row, rows) } else { Reading::New(row, rows) })
            }
            Err(why) => Ok(problem(row, before, why, how)),
        }
    }

    /// Whether the chunks of a file are cut as they would be now.
    pub(crate) fn is_well_cut(&self, row: &SourceRow) -> bool {
        self.ruler.is_met_by(&row.chunking, &self.chunking)
    }

    fn row(&self, key: SourceKey, place: PlacedFile, stamp: Stamp, checksum: Hash) -> SourceRow {
        let name = key.path.rsplit('/').next().unwrap_or(&key.path);
        SourceRow {
            kind: place.kind,
            scope: place.scope,
            origin: Origin::Person,
            title: name.strip_suffix(".md").unwrap_or(name).to_owned(),
            checksum,
            stamp,
            chunking: self.ruler.fingerprint(&self.chunking),
            problem: None,
            indexed_at: self.clock.wall(),
            conversation: None,
            dated: None,
            key,
        }
    }

    /// The chunks of messages. A message is one chunk if it fits.
    fn message_rows(&self, row: &SourceRow, messages: Vec<TranscriptMessage>) -> Vec<ChunkRow> {
        let mut rows = Vec::with_capacity(messages.len());
        for (position, spoken) in (0..).zip(messages) {
            let TranscriptMessage { author, at, text, start_line, end_line } = spoken;
            let message = Message { turn: None, author, at, position };
            let pieces = if self.ruler.count(&text) <= self.chunking.tokens {
                vec![text]
            } else {
                let pieces = self.document(&text).pieces.into_iter();
                pieces.map(|piece| piece.text).collect()
            };
            for text in pieces {
                rows.push(ChunkRow {
                    start_line,
                    end_line,
                    heading: String::new(),
                    origin: row.origin,
                    hash: Hash::of(text.as_bytes()),
                    text,
                    message: Some(message.clone()),
                });
            }
        }
        rows
    }

    fn document(&self, text: &str) -> Document {
        Document::read(text, &self.chunking, &self.ruler)
    }

    fn cut(&self, row: &mut SourceRow, text: &str) -> Vec<ChunkRow> {
        let document = self.document(text);
        let date = document.date.or_else(|| is_date(&row.title).then(|| row.title.clone()));
        let zone = zone_of(&*self.clock, row.key.person.as_ref());
        row.dated = date.as_ref().and_then(|date| noon_of(date.get(..10)?, &zone));
        let name = std::mem::take(&mut row.title);
        row.title = match (row.kind, document.title) {
            (SourceKind::Memory | SourceKind::Daily, _) | (_, None) => name,
            (_, Some(title)) => title,
        };
        if let Some(date) = date.filter(|date| !row.title.contains(date.as_str())) {
            row.title = format!("{} ({date})", row.title);
        }
        if let Some(messages) = transcript_of(row.kind, text, &zone) {
            row.conversation = Some(row.key.path.clone());
            return self.message_rows(row, messages);
        }
        let chunk = |piece: crate::Piece| {
            let tainted = row.kind == SourceKind::Daily && piece.text.contains(TAINT_MARK);
            let origin = if tainted { row.origin.max(Origin::AgentTainted) } else { row.origin };
            let indexed = indexed_text(&row.title, &piece.heading, &piece.text);
            ChunkRow {
                start_line: piece.start_line,
                end_line: piece.end_line,
                heading: piece.heading,
                origin,
                text: piece.text,
                hash: Hash::of(indexed.as_bytes()),
                message: None,
            }
        };
        document.pieces.into_iter().map(chunk).collect()
    }
}

/// Noon of a day in the given time zone.
fn noon_of(date: &str, zone: &Zone) -> Option<Timestamp> {
    let noon = date.parse::<Date>().ok()?.at(12, 0, 0, 0);
    let noon = zone.time_zone().to_timestamp(noon).ok()?;
    Some(Timestamp::from_millis(noon.as_millisecond()))
}

/// The messages of a file that is a transcript. Memories, pages, tasks and the like are never read
/// as transcripts, because they have forms of their own.
fn transcript_of(kind: SourceKind, text: &str, zone: &Zone) -> Option<Vec<TranscriptMessage>> {
    match kind {
        SourceKind::Note | SourceKind::Source | SourceKind::Shared => transcript::read(text, zone),
        SourceKind::Memory
        | SourceKind::Daily
        | SourceKind::Page
        | SourceKind::Task
        | SourceKind::Ref
        | SourceKind::Project
        | SourceKind::Session => None,
    }
}

fn problem(
    mut row: SourceRow,
    before: Option<SourceRow>,
    why: String,
    how: RereadScope,
) -> Reading {
    let is_same = before.as_ref().is_some_and(|before| before.problem.as_ref() == Some(&why));
    // A row that was cut in another way must be written again; otherwise every look would read the
    // file again.
    let is_known = before.is_some_and(|before| before.chunking == row.chunking) && is_same;
    if is_known && how == RereadScope::Changes {
        return Reading::Same { key: row.key, stamp: row.stamp, at: row.indexed_at };
    }
    row.problem = Some(why);
    if is_same { Reading::Again(row, Vec::new()) } else { Reading::New(row, Vec::new()) }
}

/// The origin of a file's content. The text of a source always came from outside.
async fn origin_of(
    row: &SourceRow,
    path: &ObjectKey,
    object: &Object,
    history: Option<&History>,
) -> Result<Origin, KnowledgeError> {
    match history {
        _ if row.kind == SourceKind::Source => Ok(Origin::External),
        // A hit shows the path too, so the origin of the file's name counts as well.
        Some(history) => {
            let content = history.origin(path, object).await?;
            Ok(content.max(history.named_by([path]).await?))
        }
        None => Ok(Origin::Person),
    }
}

fn text_of(object: &Object) -> Result<&str, String> {
    let bytes = &object.bytes;
    if bytes.iter().take(8 * 1024).any(|byte| *byte == 0) {
        return Err("it is binary, not text".to_owned());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 text (byte {})", error.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The size and time of a file that cannot be read, taken from the listing of its folder.
async fn stamp_of(objects: &dyn Objects, path: &ObjectKey) -> Result<Stamp, StoreError> {
    let folder = path.as_str().rsplit_once('/').and_then(|(folder, _)| folder.parse().ok());
    let listed = match objects.list(folder.as_ref(), usize::MAX).await {
        Ok(listed) => listed,
        Err(StoreError::NotFound) => Vec::new(),
        Err(error) => return Err(error),
    };
    let found = listed.into_iter().find(|meta| meta.key == *path);
    let unknown = Stamp { size: 0, modified: onyx_types::Timestamp::from_millis(0) };
    Ok(found.map_or(unknown, |meta| Stamp { size: meta.size, modified: meta.modified }))
}
