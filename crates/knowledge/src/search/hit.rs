//! The question of a search, and its result.

use onyx_storage::{ChunkId, Message, SourceKey, SourceKind, SourceRow, StoredChunk};
use onyx_types::{MatchType, Origin, RunId, Scope, ScopeSet, SessionId, Timestamp};

use super::ranking::Match;
use crate::chunk::is_date;
use crate::settings::SearchSettings;
use crate::text::snippet::SnippetPart;

/// What to search for, and where.
#[derive(Clone, Debug)]
pub struct Search {
    pub text: String,
    /// The scopes that the search may see, which follow from the person and the session.
    pub scopes: ScopeSet,
    /// The kinds of sources to search; all kinds if empty.
    pub kinds: Vec<SourceKind>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SearchResults {
    pub hits: Vec<Hit>,
    /// The reason why the search did not use meaning.
    pub degraded: Option<String>,
    /// Whether not everything is indexed yet, so that a later search may find more.
    pub partial: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub chunk: ChunkId,
    pub key: SourceKey,
    pub kind: SourceKind,
    pub scope: Scope,
    pub origin: Origin,
    pub title: String,
    pub heading: String,
    /// The first line, counted from 1. In a conversation these are messages of the run or session
    /// that the path names.
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    pub snippet: Vec<SnippetPart>,
    /// The score from 0 to 1, where 1 is the best by words and by meaning.
    pub score: f32,
    pub match_type: MatchType,
    pub modified: Timestamp,
    /// The author and time of a message; `None` for notes.
    pub message: Option<Message>,
}

impl Hit {
    /// The session of a message, and its run if it is known.
    pub fn session(&self) -> Option<(SessionId, Option<RunId>)> {
        self.key.session()
    }

    /// The id of what the hit is part of: the attached source to which the document belongs, else
    /// the file or conversation.
    pub fn source_id(&self) -> String {
        let mut parts = self.key.path.split('/').skip_while(|part| *part != "sources").skip(1);
        // Only these places hold attached sources; people may have a folder of that name among
        // their own files.
        let holds_sources = ["spaces/", "memory/"].iter().any(|at| self.key.path.starts_with(at));
        match parts.next() {
            Some(id) if holds_sources => id.to_owned(),
            Some(_) | None => self.path(),
        }
    }

    /// The path in the form that people see.
    pub fn path(&self) -> String {
        self.key.rooted_path()
    }
}

/// The end of the day that a daily log is about. The name of the log gives the day, whenever the
/// file was edited.
fn day_of(log: &SourceRow) -> Timestamp {
    let name = log.key.path.rsplit('/').next().unwrap_or_default();
    let day = is_date(name).then(|| format!("{}T23:59:59Z", &name[..10]).parse().ok()).flatten();
    day.unwrap_or(log.stamp.modified)
}

pub(super) fn hit(
    chunk: StoredChunk,
    mut score: f32,
    found: Match,
    settings: &SearchSettings,
    now: Timestamp,
) -> Hit {
    let StoredChunk { id, source, row } = chunk;
    if let Some(days) = settings.half_life_days.filter(|_| source.kind == SourceKind::Daily) {
        let age = (now.as_millis() - day_of(&source).as_millis()).max(0) as f64 / 86_400_000.0;
        score *= 0.5_f64.powf(age / days.max(0.01)) as f32;
    }
    Hit {
        chunk: id,
        key: source.key,
        kind: source.kind,
        scope: source.scope,
        origin: row.origin,
        title: source.title,
        heading: row.heading,
        start_line: row.start_line,
        end_line: row.end_line,
        text: row.text,
        snippet: Vec::new(),
        score,
        match_type: found.match_type(),
        modified: source.stamp.modified,
        message: row.message,
    }
}
