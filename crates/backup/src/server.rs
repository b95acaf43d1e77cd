//! Backs up the data of server mode in the layout of a home: the database as it was at one moment,
//! and the objects that it names. Content that has the same name as in the last backup is not read
//! again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use onyx_storage::{CopiedContent, CopiedFile, MoveError, ServerCopy, StoreError};
use onyx_types::{Cancel, Timestamp};

use crate::error::BackupError;

pub(crate) const CONFIG: &str = "onyx.json";
const NANOS_OF_MILLI: i64 = 1_000_000;

/// One stored item of a server, by its path in a home.
pub(crate) enum StoredItem<'a> {
    Folder { path: PathBuf },
    File { path: PathBuf, modified: i64, state: Option<String>, content: Content<'a> },
}

pub(crate) enum Content<'a> {
    Here(Vec<u8>),
    /// Content outside of the database, which is read only if needed.
    Elsewhere(Box<dyn FnOnce() -> Result<Vec<u8>, MoveError> + 'a>),
}

impl Content<'_> {
    /// Reads the content. The inner `Err` says why only this content is lost.
    pub(crate) fn read(self) -> Result<Result<Vec<u8>, String>, BackupError> {
        let read = match self {
            Self::Here(bytes) => return Ok(Ok(bytes)),
            Self::Elsewhere(read) => read(),
        };
        match read {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(MoveError::Store(StoreError::Damaged(why))) => Ok(Err(why)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Passes everything except the ledgers to the caller: the config, files, then conversations.
pub(crate) fn walk_server(
    copy: &ServerCopy,
    at: Timestamp,
    stop: &Cancel,
    visit: &mut dyn FnMut(StoredItem<'_>) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    if let Some(text) = copy.config()? {
        let content = Content::Here(text.into_bytes());
        visit(file(CONFIG, at.as_millis(), None, content))?;
    }
    let mut folders = HashSet::new();
    let mut last: Option<CopiedFile> = None;
    loop {
        let page = copy.files_after(last.as_ref())?;
        for found in &page {
            if stop.is_cancelled() {
                return Err(BackupError::Stopped);
            }
            let CopiedFile { path, modified, content, .. } = found;
            match content {
                CopiedContent::Folder if !folders.insert(path.clone()) => {}
                CopiedContent::Folder => visit(StoredItem::Folder { path: path.into() })?,
                CopiedContent::Bytes(bytes) => {
                    visit(file(path, *modified, None, Content::Here(bytes.clone())))?;
                }
                CopiedContent::Object(name) => {
                    let read = Box::new(move || copy.object(path, name));
                    let content = Content::Elsewhere(read);
                    visit(file(path, *modified, Some(name.clone()), content))?;
                }
            }
        }
        let Some(end) = page.into_iter().next_back() else { break };
        last = Some(end);
    }
    for log in &copy.logs()? {
        if stop.is_cancelled() {
            return Err(BackupError::Stopped);
        }
        let content = Content::Elsewhere(Box::new(move || copy.log(log)));
        visit(file(&log.path, log.written, Some(log.state.clone()), content))?;
    }
    Ok(())
}

fn file<'a>(
    path: &str,
    millis: i64,
    state: Option<String>,
    content: Content<'a>,
) -> StoredItem<'a> {
    let modified = millis.saturating_mul(NANOS_OF_MILLI);
    StoredItem::File { path: Path::new(path).to_owned(), modified, state, content }
}
