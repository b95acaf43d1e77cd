//! Exports of a session: the log's own lines, or a page to read.

use std::collections::HashMap;
use std::fmt::Write as _;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use onyx_agent::Sessions;
use onyx_storage::{Pos, SessionMeta};
use onyx_surface::ToolView;
use onyx_types::{Fault, Feedback, PersonId, Rating, SessionId, Turn, TurnBody, TurnId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::session_id;
use crate::messages::{Fold, HistoryMessage, MessageRole, MessageStatus};
use crate::{ApiState, AuthContext, Problem, QueryOf};

/// How many turns are held at once, however long the session is.
const PAGE: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExportQuery {
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ExportFormat")]
enum Format {
    #[default]
    Jsonl,
    Markdown,
}

pub(in crate::routes) async fn export(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<ExportQuery>,
) -> Result<Response, Problem> {
    let meta = state.agent.sessions.meta(&caller.person, session_id(&id)?).await?;
    let (content_type, page) = match query.format {
        Format::Jsonl => ("application/x-ndjson", Page::Jsonl),
        Format::Markdown => {
            let agent = meta.agent.to_string();
            let page = Markdown { agent, fold: Fold::default(), ratings: HashMap::new() };
            ("text/markdown; charset=utf-8", Page::Markdown(page))
        }
    };
    let (pages, ratings) =
        Pages::open(&state.agent.sessions, &caller.person, meta.session_id).await?;
    let page = page.with_ratings(ratings);
    let head = page.head(&meta).into_bytes();
    let body = stream::unfold(Some((Export { pages, page }, head)), |export| async {
        let (mut export, ready) = export?;
        let next = match export.next().await {
            Ok(next) => next.map(|bytes| (export, bytes)),
            // It is too late for a status: the broken body shows that the export is incomplete.
            Err(fault) => return Some((Err(std::io::Error::other(fault.message)), None)),
        };
        Some((Ok(Bytes::from(ready)), next))
    });
    Ok(([(header::CONTENT_TYPE, content_type)], Body::from_stream(body)).into_response())
}

/// The whole page to read; content beyond one mebibyte is left out.
pub(in crate::routes) async fn markdown(
    state: &ApiState,
    person: &PersonId,
    id: &str,
) -> Result<String, Problem> {
    const MOST_BYTES: usize = 1024 * 1024;
    let meta = state.agent.sessions.meta(person, session_id(id)?).await?;
    let (pages, ratings) = Pages::open(&state.agent.sessions, person, meta.session_id).await?;
    let page =
        Page::Markdown(Markdown { agent: meta.agent.to_string(), fold: Fold::default(), ratings });
    let mut bytes = page.head(&meta).into_bytes();
    let mut export = Export { pages, page };
    while let Some(more) = export.next().await? {
        bytes.extend(more);
        if bytes.len() > MOST_BYTES {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let end = text.floor_char_boundary(MOST_BYTES);
    Ok(text[..end].to_owned())
}

struct Export {
    pages: Pages,
    page: Page,
}

impl Export {
    /// The next piece of the body; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        match self.pages.next().await? {
            Some(turns) => self.page.take(&turns).map(Some),
            None => Ok(self.page.end().map(String::into_bytes)),
        }
    }
}

/// A session's turns from the first on, a page at a time. The log is read from its end, so the
/// places where pages begin are found first.
struct Pages {
    sessions: Sessions,
    person: PersonId,
    session: SessionId,
    /// The positions at which the older pages end, the oldest last.
    ends: Vec<Pos>,
    /// The export holds what existed at its beginning, not what is added meanwhile.
    newest: Option<Vec<Turn>>,
}

impl Pages {
    async fn open(
        sessions: &Sessions,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(Self, Ratings), Fault> {
        let mut page = sessions.turns(person, session, None, PAGE).await?;
        let mut ratings = Ratings::new();
        note_ratings(&mut ratings, &page.turns);
        let newest = Some(std::mem::take(&mut page.turns));
        let mut ends = Vec::new();
        while page.has_older {
            ends.push(page.start);
            page = sessions.turns(person, session, Some(page.start), PAGE).await?;
            note_ratings(&mut ratings, &page.turns);
        }
        let (sessions, person) = (sessions.clone(), person.clone());
        Ok((Self { sessions, person, session, ends, newest }, ratings))
    }

    async fn next(&mut self) -> Result<Option<Vec<Turn>>, Fault> {
        match self.ends.pop() {
            Some(end) => {
                let page = self.sessions.turns(&self.person, self.session, Some(end), PAGE).await?;
                Ok(Some(page.turns))
            }
            None => Ok(self.newest.take()),
        }
    }
}

enum Page {
    Jsonl,
    Markdown(Markdown),
}

struct Markdown {
    agent: String,
    fold: Fold,
    /// The person's ratings, which follow the rated answers in the log.
    ratings: Ratings,
}

/// The newest rating of each answer, by the turn of one of its texts.
type Ratings = HashMap<TurnId, Feedback>;

/// Notes the ratings of a page. Pages come from the newest to the oldest, so the first rating of an
/// answer is its newest.
fn note_ratings(ratings: &mut Ratings, page: &[Turn]) {
    for turn in page.iter().rev() {
        if let TurnBody::Feedback(feedback) = &turn.body {
            ratings.entry(feedback.about).or_insert_with(|| feedback.clone());
        }
    }
}

impl Page {
    fn with_ratings(self, ratings: Ratings) -> Self {
        match self {
            Self::Jsonl => Self::Jsonl,
            Self::Markdown(page) => Self::Markdown(Markdown { ratings, ..page }),
        }
    }

    fn head(&self, meta: &SessionMeta) -> String {
        match self {
            Self::Jsonl => String::new(),
            Self::Markdown(_) => {
                let title = meta.title.as_deref().unwrap_or("Session").replace('\n', " ");
                format!(
                    "# {title}\n\nSession `{}` with `{}`, started {}.\n",
                    meta.session_id, meta.agent, meta.created_at
                )
            }
        }
    }

    fn take(&mut self, turns: &[Turn]) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Jsonl => jsonl(turns),
            Self::Markdown(page) => {
                turns.iter().for_each(|turn| page.fold.add(turn));
                Ok(page.messages_so_far().into_bytes())
            }
        }
    }

    fn end(&mut self) -> Option<String> {
        match self {
            Self::Jsonl => None,
            Self::Markdown(page) => page.rest(),
        }
    }
}

fn jsonl(turns: &[Turn]) -> Result<Vec<u8>, Fault> {
    let mut lines = Vec::new();
    for turn in turns {
        serde_json::to_writer(&mut lines, turn).map_err(|error| {
            Fault::new(
                onyx_types::ErrorCode::Internal,
                format!("a turn could not be written: {error}"),
            )
        })?;
        lines.push(b'\n');
    }
    Ok(lines)
}

impl Markdown {
    fn messages_so_far(&mut self) -> String {
        let finished = self.fold.take_finished();
        self.written(&finished)
    }

    /// Renders messages that have no end in the log.
    fn rest(&mut self) -> Option<String> {
        let rest = self.fold.take_all();
        (!rest.is_empty()).then(|| self.written(&rest))
    }

    fn written(&self, messages: &[HistoryMessage]) -> String {
        let mut text = String::new();
        for message in messages {
            add_message(&mut text, message, &self.agent);
            let rated = message.trace.texts.iter().rev().find_map(|id| self.ratings.get(id));
            if let Some(line) = rated.and_then(rating_line) {
                let _ = writeln!(text, "\n> {line}");
            }
        }
        text
    }
}

// Writing to a string cannot fail, so the results of `write!` are dropped below.

fn add_message(page: &mut String, message: &HistoryMessage, agent: &str) {
    let who = match message.role {
        MessageRole::User => "You",
        MessageRole::Assistant => message.agent.as_ref().map_or(agent, |agent| agent.as_str()),
    };
    let _ = write!(page, "\n## {who}, {}", message.created_at);
    if let Some(note) = note_of(message.status) {
        let _ = write!(page, " ({note})");
    }
    page.push('\n');
    for tool in &message.tools {
        let _ = writeln!(page, "\n> {}", tool_line(tool));
    }
    if !message.content.is_empty() {
        let _ = writeln!(page, "\n{}", message.content.trim_end());
    }
    if let Some(error) = &message.error {
        let _ = writeln!(page, "\n> {}: {}", error.code, error.message);
    }
}

fn rating_line(feedback: &Feedback) -> Option<String> {
    let rating = match feedback.rating? {
        Rating::Good => "Rated good",
        Rating::Bad => "Rated bad",
    };
    Some(match &feedback.note {
        Some(note) => format!("{rating}: {}", note.replace('\n', "\n> ")),
        None => rating.to_owned(),
    })
}

fn tool_line(tool: &ToolView) -> String {
    let result = match tool.ok {
        Some(true) => "ok",
        Some(false) => "failed",
        None => "no result",
    };
    format!("`{}` {result}: {}", tool.tool, tool.summary)
}

fn note_of(status: MessageStatus) -> Option<&'static str> {
    match status {
        MessageStatus::Complete => None,
        MessageStatus::Cancelled => Some("cancelled"),
        MessageStatus::Error => Some("failed"),
        MessageStatus::Interrupted => Some("interrupted"),
        MessageStatus::Streaming => Some("in progress"),
    }
}
