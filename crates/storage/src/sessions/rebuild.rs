use std::borrow::Cow;

use onyx_types::{
    PersonId, SessionId, SessionKey, SessionOrigin, TextStatus, Timestamp, Turn, TurnBody,
};

use super::details::{SessionDetails, read_details};
use crate::{
    Files, Ledger, SessionMarks, SessionMeta, SessionStatus, StoreError, TitleSource, TurnLog,
};

/// The number of turns that are read at a time: enough to read a log quickly, few enough to need
/// little memory.
const PAGE: usize = 512;
const PREVIEW_CHARS: usize = 100;
const TITLE_CHARS: usize = 60;

/// The counts that rebuilding a person's metadata returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildCounts {
    pub sessions: u64,
    /// The number of logs that have damaged lines; their other lines were read.
    pub damaged: u64,
}

/// Returns the first 100 characters of a message, in one line.
pub fn preview_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(PREVIEW_CHARS).collect()
}

/// What a session's row says of the messages in its log: how many there are, and how the newest
/// begins. A message is what a person wrote, or a text of an agent that was completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    pub count: u64,
    pub preview: Option<String>,
}

impl Messages {
    /// Adds a turn that is newer than those before.
    pub fn add(&mut self, turn: &Turn) {
        if let Some(text) = message_in(&turn.body) {
            self.count += 1;
            self.preview = Some(preview_of(&text));
        }
    }

    /// Adds a turn that is older than those before.
    pub fn add_older(&mut self, turn: &Turn) {
        if let Some(text) = message_in(&turn.body) {
            self.count += 1;
            self.preview.get_or_insert_with(|| preview_of(&text));
        }
    }
}

fn message_in(body: &TurnBody) -> Option<Cow<'_, str>> {
    match body {
        TurnBody::User(user) => Some(Cow::Owned(user.content.text())),
        TurnBody::AssistantText(answer) if answer.status == TextStatus::Complete => {
            Some(Cow::Borrowed(&answer.content))
        }
        TurnBody::AssistantText(_)
        | TurnBody::Reasoning(_)
        | TurnBody::ToolCall(_)
        | TurnBody::ToolResult(_)
        | TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Summary(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => None,
    }
}

/// The title of a session until there is a better one: the shortened first line of its text.
pub fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// Finds where a session lies: by its row, or by its log if it has no row (yet).
pub async fn find_session(
    turns: &dyn TurnLog,
    ledger: &dyn Ledger,
    person: &PersonId,
    session: SessionId,
) -> Result<Option<SessionKey>, StoreError> {
    if let Some(meta) = ledger.session(person, session).await? {
        return Ok(Some(SessionKey { person: person.clone(), agent: meta.agent, session }));
    }
    let keys = turns.sessions(person).await?;
    Ok(keys.into_iter().find(|key| key.session == session))
}

/// Rebuilds the metadata of all of a person's sessions from their logs. What a log does not say
/// (title, status, origin, family, who answers) comes from the file beside it, else from the
/// existing row.
pub async fn rebuild_person(
    turns: &dyn TurnLog,
    ledger: &dyn Ledger,
    files: &dyn Files,
    person: &PersonId,
) -> Result<RebuildCounts, StoreError> {
    let mut rebuilt = RebuildCounts::default();
    for key in turns.sessions(person).await? {
        let mut summary = summarise(turns, &key).await?;
        let details = match read_details(files, &key).await {
            Ok(details) => details,
            Err(StoreError::Damaged(why)) => {
                tracing::warn!(session = %key.session, why, "a session's settings cannot be used");
                summary.damaged = true;
                None
            }
            Err(error) => return Err(error),
        };
        let row = ledger.session(person, key.session).await?;
        let mut meta = summary.meta(&key, row.as_ref());
        if let Some(details) = details {
            apply(&mut meta, details);
        }
        ledger.put_session(person, &meta).await?;
        rebuilt.sessions += 1;
        rebuilt.damaged += u64::from(summary.damaged);
    }
    Ok(rebuilt)
}

fn apply(meta: &mut SessionMeta, details: SessionDetails) {
    if details.title.is_some() {
        (meta.title, meta.titled_by) = (details.title, details.titled_by);
    }
    (meta.status, meta.origin, meta.mode) = (details.status, details.origin, details.mode);
    (meta.root, meta.fork_turn) = (details.root, details.fork_turn);
    meta.created_at = details.created_at;
    meta.updated_at = meta.updated_at.max(details.created_at);
    if !details.agents.is_empty() {
        meta.agents = details.agents;
    }
}

/// What a log says about its session.
#[derive(Clone, Debug, Default)]
struct LogSummary {
    oldest: Option<Timestamp>,
    newest: Option<Timestamp>,
    messages: Messages,
    tokens: u64,
    title: Option<String>,
    last_run: Option<(onyx_types::RunId, Option<onyx_types::RunStatus>)>,
    damaged: bool,
}

async fn summarise(turns: &dyn TurnLog, key: &SessionKey) -> Result<LogSummary, StoreError> {
    let mut summary = LogSummary::default();
    let mut before = None;
    loop {
        let page = turns.tail(key, before, PAGE).await?;
        summary.damaged |= !page.damage.is_empty();
        for turn in page.turns.iter().rev() {
            summary.take(turn);
        }
        if !page.has_older {
            return Ok(summary);
        }
        before = Some(page.start);
    }
}

impl LogSummary {
    /// Adds the next older turn. Turns come newest first, so a field that is set already came from
    /// a later turn and stays.
    fn take(&mut self, turn: &Turn) {
        self.oldest = Some(turn.ts);
        // Rating an old answer must not move a conversation to the top of the list.
        if !matches!(turn.body, TurnBody::Feedback(_)) {
            self.newest = self.newest.max(Some(turn.ts));
        }
        if let (None, Some(run)) = (self.last_run, turn.run) {
            let status = match &turn.body {
                TurnBody::RunEnd(end) => Some(end.status),
                _ => None,
            };
            self.last_run = Some((run, status));
        }
        self.messages.add_older(turn);
        match &turn.body {
            TurnBody::User(user) => {
                self.title = title_of(&user.content.text()).or(self.title.take());
            }
            TurnBody::RunEnd(end) => self.tokens += end.usage.tokens(),
            TurnBody::AssistantText(_)
            | TurnBody::Reasoning(_)
            | TurnBody::ToolCall(_)
            | TurnBody::ToolResult(_)
            | TurnBody::Decision(_)
            | TurnBody::RunStart(_)
            | TurnBody::Summary(_)
            | TurnBody::Feedback(_)
            | TurnBody::Unknown(_) => {}
        }
    }

    fn meta(&self, key: &SessionKey, row: Option<&SessionMeta>) -> SessionMeta {
        let oldest = self.oldest.unwrap_or(Timestamp::UNIX_EPOCH);
        SessionMeta {
            session_id: key.session,
            agent: key.agent.clone(),
            created_at: oldest,
            updated_at: self.newest.unwrap_or(oldest),
            message_count: self.messages.count,
            token_count: self.tokens,
            preview: self.messages.preview.clone().unwrap_or_default(),
            last_run: self.last_run.map(|(run, _)| run),
            last_run_status: self.last_run.and_then(|(_, status)| status),
            marks: SessionMarks::default(),
            title: row.and_then(|row| row.title.clone()).or_else(|| self.title.clone()),
            titled_by: row.map_or(TitleSource::Words, |row| row.titled_by),
            agents: row.map_or_else(|| vec![key.agent.clone()], |row| row.agents.clone()),
            mode: row.map(|row| row.mode).unwrap_or_default(),
            status: row.map_or(SessionStatus::Active, |row| row.status),
            origin: row.map_or(SessionOrigin::Chat, |row| row.origin),
            root: row.map_or(key.session, |row| row.root),
            fork_turn: row.and_then(|row| row.fork_turn),
        }
    }
}
