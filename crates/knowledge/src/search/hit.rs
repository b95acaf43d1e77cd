//! The question of a search, and its answer.

use onyx_storage::{ChunkId, Message, SourceKey, SourceKind, SourceRow, StoredChunk};
use onyx_types::{MatchType, Origin, RunId, Scope, ScopeSet, SessionId, Timestamp};

use super::ranking::Match;
use crate::chunk::is_date;
use crate::settings::SearchSettings;
use crate::text::snippet::SnippetPart;

/// A search: its question, and where to look.
#[derive(Clone, Debug)]
pub struct Search {
    pub text: String,
    /// Made from the person and the session; nothing else is looked at.
    pub scopes: ScopeSet,
    /// None: all kinds.
    pub kinds: Vec<SourceKind>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SearchResults {
    pub hits: Vec<Hit>,
    /// Why meaning was not searched for.
    pub degraded: Option<String>,
    /// Not everything is indexed yet: more may be found later.
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
    /// Lines from 1; of a conversation, the messages of the run or the session that its path names.
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    pub snippet: Vec<SnippetPart>,
    /// From 0 to 1; 1 is best by words and by meaning.
    pub score: f32,
    pub match_type: MatchType,
    pub modified: Timestamp,
    /// `None` for notes.
    pub message: Option<Message>,
}

impl Hit {
    /// The session of a message of a conversation, and its run.
    pub fn session(&self) -> Option<(SessionId, Option<RunId>)> {
        self.key.session()
    }

    /// What it is part of: the attached source whose document it is, else the file or conversation.
    pub fn source_id(&self) -> String {
        let mut parts = self.key.path.split('/').skip_while(|part| *part != "sources").skip(1);
        // People may have a folder of that name among their own files.
        let holds_sources = ["spaces/", "memory/"].iter().any(|at| self.key.path.starts_with(at));
        match parts.next() {
            Some(id) if holds_sources => id.to_owned(),
            Some(_) | None => self.path(),
        }
    }

    /// The path as people know it.
    pub fn path(&self) -> String {
        self.key.rooted_path()
    }
}

/// The day that a daily log is about. Its name says so, whenever the file was edited since.
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
