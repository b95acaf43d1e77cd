//! The parts that every reader needs: the opened export, its files read within bounds, and a place
//! for the items found and the reasons for those left out.

mod database;
mod json;
mod opened;
mod times;
mod walk;

use crate::error::ImportError;
use crate::form::{Import, ImportedMessage, ImportedPart, ImportedSession, Item, Note, NoteKind};

pub(crate) use database::Database;
pub use json::JSON5;
pub(crate) use json::{json_file, json_lines, json5, number, object, text, words};
pub(crate) use opened::OpenedExport;
pub use opened::Upload;
pub(crate) use times::{iso, millis, seconds};
pub(crate) use walk::{FoundFile, walk};

/// What to do with a file that is not in its program's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokenFiles {
    /// The import stops, and nothing is written.
    #[default]
    Stop,
    /// The file is left out and named in the report.
    Skip,
}

/// The items and notes that were found so far.
#[derive(Debug)]
pub(crate) struct Reading {
    broken: BrokenFiles,
    items: Vec<Item>,
    notes: Vec<Note>,
}

impl Reading {
    pub(crate) fn new(broken: BrokenFiles) -> Self {
        Self { broken, items: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn add(&mut self, item: Item) {
        self.items.push(item);
    }

    pub(crate) fn left_out(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let (what, why) = (what.into(), why.into());
        self.notes.push(Note { note: NoteKind::LeftOut, what, why });
    }

    pub(crate) fn renamed(&mut self, what: impl Into<String>, now: impl Into<String>) {
        let note = Note { note: NoteKind::Renamed, what: what.into(), why: now.into() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The content of a file; `None` if it is broken and broken files are skipped.
    pub(crate) fn tolerate<T>(
        &mut self,
        read: Result<T, ImportError>,
    ) -> Result<Option<T>, ImportError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.broken == BrokenFiles::Skip && error.is_of_one_file() => {
                self.left_out(error.to_string(), "it is broken");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a session, unless it has no messages.
    pub(crate) fn add_session(&mut self, mut session: ImportedSession) {
        session.messages = without_orphans(session.messages);
        if session.messages.is_empty() {
            let name = session.title.unwrap_or(session.key);
            return self.left_out(format!("session {name}"), "it has no messages");
        }
        self.add(Item::Session(session));
    }

    pub(crate) fn finish(mut self) -> Import {
        self.items.extend(self.notes.into_iter().map(Item::Note));
        Import { items: self.items }
    }
}

/// Removes results whose calls are missing, because no prompt could hold them.
fn without_orphans(messages: Vec<ImportedMessage>) -> Vec<ImportedMessage> {
    let mut called = std::collections::HashSet::new();
    let mut is_whole = |message: &ImportedMessage| match &message.said {
        ImportedPart::Call { id, .. } => {
            called.insert(id.clone());
            true
        }
        ImportedPart::Result { id, .. } => called.contains(id),
        ImportedPart::Person { text } | ImportedPart::Model { text, .. } => !text.trim().is_empty(),
    };
    messages.into_iter().filter(|message| is_whole(message)).collect()
}
