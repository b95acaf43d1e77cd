//! What each route reads and writes, beside what the router knows.

use onyx_types::Envelope;
use schemars::JsonSchema;

use super::{SchemaOf, accounts, answers, personas, schema_of, spaces};
use crate::decode;
use crate::encode::{ChatReply, Line};
use crate::logs::LogLine;
use crate::routes::views;

/// The description of one route.
pub(super) struct Doc {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Option<SchemaOf>,
    pub(super) body: Option<SchemaOf>,
    pub(super) answer: Answer,
    /// Kept for clients of before; another route does it now.
    pub(super) deprecated: bool,
}

/// What a good answer holds, by its kind.
pub(super) enum Answer {
    Json(SchemaOf),
    Created(SchemaOf),
    Nothing,
    Text(&'static str),
    /// A text of one kind or another, as the request asks for it.
    Texts(&'static [&'static str]),
    /// One event after another.
    Stream(&'static str, SchemaOf),
    /// As the request asks for it.
    JsonOrEvents(SchemaOf, SchemaOf),
}

pub(super) const EVENTS: &str = "text/event-stream";

impl Answer {
    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Created(_) => 201,
            Self::Nothing => 204,
            Self::Json(_)
            | Self::Text(_)
            | Self::Texts(_)
            | Self::Stream(..)
            | Self::JsonOrEvents(..) => 200,
        }
    }

    pub(super) fn forms(&self) -> Vec<(&'static str, SchemaOf)> {
        const JSON: &str = "application/json";
        match self {
            Self::Nothing => Vec::new(),
            Self::Json(schema) | Self::Created(schema) => vec![(JSON, *schema)],
            Self::Text(kind) => vec![(*kind, schema_of::<String>)],
            Self::Texts(kinds) => {
                kinds.iter().map(|kind| (*kind, schema_of::<String> as SchemaOf)).collect()
            }
            Self::Stream(kind, event) => vec![(*kind, *event)],
            Self::JsonOrEvents(whole, event) => vec![(JSON, *whole), (EVENTS, *event)],
        }
    }
}

pub(super) fn doc(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    answer: Answer,
) -> Doc {
    Doc { method, path, summary, query: None, body: None, answer, deprecated: false }
}

impl Doc {
    pub(super) fn deprecated(self) -> Self {
        Self { deprecated: true, ..self }
    }

    pub(super) fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(schema_of::<T>), ..self }
    }

    pub(super) fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(schema_of::<T>), ..self }
    }
}

pub(super) fn json<T: JsonSchema>() -> Answer {
    Answer::Json(schema_of::<T>)
}

pub(super) fn docs() -> Vec<Doc> {
    let mut docs = agent_api();
    docs.extend(personas::agent_page());
    docs.extend(personas::older_clients());
    docs.extend(personas::personas());
    docs.extend(spaces::spaces());
    docs.extend(spaces::companion());
    docs.extend(spaces::channels());
    docs.push(spaces::ui_chat());
    docs.extend(sessions());
    docs.extend(decisions());
    docs.extend(knowledge_sources());
    docs.extend(memory());
    docs.extend(clients());
    docs.extend(accounts::sign_in());
    docs.extend(accounts::administration());
    docs
}

fn agent_api() -> Vec<Doc> {
    use views::{
        ChatRequest, Cleared, EventsQuery, Health, History, HistoryQuery, Ready, Reindexed,
        SessionRequest, StopRequest, Stopped, UndoQuery, Undone,
    };
    let lines = Answer::Stream("application/x-ndjson", schema_of::<Line<'static>>);
    let events = Answer::Stream(EVENTS, schema_of::<Envelope>);
    vec![
        doc("GET", "/health", "Is it alive?", json::<Health>()),
        doc("GET", "/ready", "What it stands on, each with its state", json::<Ready>()),
        doc("POST", "/api/agent/chat-stream", "Answers a message, event by event", lines)
            .body::<ChatRequest>(),
        doc("POST", "/api/agent/chat", "Answers a message whole", json::<ChatReply>())
            .body::<ChatRequest>(),
        doc("POST", "/api/agent/stop", "Stops a run", json::<Stopped>()).body::<StopRequest>(),
        doc(
            "POST",
            "/api/agent/session/clear",
            "Archives a session, makes a new one",
            json::<Cleared>(),
        )
        .body::<SessionRequest>(),
        doc("GET", "/api/agent/session/history", "What was said", json::<History>())
            .query::<HistoryQuery>(),
        doc("GET", "/api/runs/{id}/events", "What a run tells, from any event on", events)
            .query::<EventsQuery>(),
        doc("POST", "/api/runs/{id}/cancel", "Stops a run", json::<Stopped>()),
        doc("POST", "/api/runs/{id}/undo", "Takes back what a run wrote", json::<Undone>())
            .query::<UndoQuery>(),
        doc("POST", "/api/admin/reindex", "Makes everything derived anew", json::<Reindexed>()),
    ]
}

fn sessions() -> Vec<Doc> {
    use views::{
        AgentDetails, AgentFields, AgentList, ExportQuery, Fork, ListQuery, NewAgent, Patch,
        SessionList, SessionView, SessionWithSiblings, TurnList, TurnsQuery,
    };
    vec![
        doc("GET", "/v1/agents", "Who there is", json::<AgentList>()),
        doc("POST", "/v1/agents", "Makes an agent", Answer::Created(schema_of::<AgentDetails>))
            .body::<NewAgent>(),
        doc("GET", "/v1/agents/{id}", "One agent and its files", json::<AgentDetails>()),
        doc("PUT", "/v1/agents/{id}", "Sets it anew; If-Match holds", json::<AgentDetails>())
            .body::<AgentFields>(),
        doc("PATCH", "/v1/agents/{id}", "Changes what is named", json::<AgentDetails>())
            .body::<AgentFields>(),
        doc("DELETE", "/v1/agents/{id}", "Takes it out of the config", Answer::Nothing),
        doc(
            "GET",
            "/v1/agents/{id}/files/{name}",
            "A file, with its ETag",
            Answer::Text("text/markdown"),
        ),
        doc(
            "PUT",
            "/v1/agents/{id}/files/{name}",
            "Writes a file; If-Match and If-None-Match hold",
            Answer::Nothing,
        ),
        doc("GET", "/v1/sessions", "Conversations, newest first", json::<SessionList>())
            .query::<ListQuery>(),
        doc("GET", "/v1/sessions/{id}", "One conversation", json::<SessionWithSiblings>()),
        doc("PATCH", "/v1/sessions/{id}", "Renames, archives", json::<SessionView>())
            .body::<Patch>(),
        doc("DELETE", "/v1/sessions/{id}", "Removes it for good", Answer::Nothing),
        doc("GET", "/v1/sessions/{id}/turns", "Its log, in pages", json::<TurnList>())
            .query::<TurnsQuery>(),
        doc(
            "POST",
            "/v1/sessions/{id}/fork",
            "A copy up to a turn",
            Answer::Created(schema_of::<SessionView>),
        )
        .body::<Fork>(),
        doc(
            "GET",
            "/v1/sessions/{id}/export",
            "The log, or a page to read",
            Answer::Texts(&["application/x-ndjson", "text/markdown"]),
        )
        .query::<ExportQuery>(),
    ]
}

fn decisions() -> Vec<Doc> {
    use views::{
        AuditChains, AuditPage, AuditQuery, DraftDecision, PendingChange, PendingChanges,
        PendingChangesQuery, VerifyQuery,
    };
    let feed = Answer::Stream(EVENTS, schema_of::<PendingChange>);
    let path = "/api/pending-changes/{id}";
    vec![
        doc("GET", "/api/pending-changes", "What agents proposed", json::<PendingChanges>())
            .query::<PendingChangesQuery>(),
        doc("GET", "/api/pending-changes/events", "Tells of each that changes", feed),
        doc("GET", path, "One of them, whole", json::<PendingChange>()),
        doc("POST", "/api/pending-changes/{id}/approve", "Does it", json::<PendingChange>())
            .body::<DraftDecision>(),
        doc("POST", "/api/pending-changes/{id}/reject", "Turns it down", json::<PendingChange>())
            .body::<DraftDecision>(),
        doc("GET", "/api/admin/audit", "What was done and decided", json::<AuditPage>())
            .query::<AuditQuery>(),
        doc("GET", "/api/admin/audit/verify", "Is the record whole?", json::<AuditChains>())
            .query::<VerifyQuery>(),
    ]
}

fn knowledge_sources() -> Vec<Doc> {
    use views::{ProgressView, SourceList, SourceRequest, SourceView, SourcesQuery};
    let events = Answer::Stream(EVENTS, schema_of::<ProgressView>);
    let made = Answer::Created(schema_of::<SourceView>);
    vec![
        doc("GET", "/api/sources", "What is attached, newest first", json::<SourceList>())
            .query::<SourcesQuery>(),
        doc("POST", "/api/sources", "Attaches a file, folder, address or text", made)
            .body::<SourceRequest>(),
        doc("GET", "/api/sources/{id}", "One source and its documents", json::<SourceView>()),
        doc("POST", "/api/sources/{id}", "Looks at what it comes from again", json::<SourceView>()),
        doc("DELETE", "/api/sources/{id}", "Takes it away with its text", Answer::Nothing),
        doc("GET", "/api/sources/{id}/events", "How far its import is", events),
    ]
}

fn memory() -> Vec<Doc> {
    use onyx_knowledge::IndexStatus;
    use views::{
        FileList, FilesQuery, Found, KnowledgeQuery, MemoryQuery, NewMemory, ReadQuery, Remembered,
        Restore,
    };
    let file = "/v1/memory/files/{*path}";
    vec![
        doc(
            "GET",
            "/v1/memory/search",
            "What is remembered and noted, best first",
            json::<Found>(),
        )
        .query::<MemoryQuery>(),
        doc("POST", "/v1/memory", "Adds to a daily log or MEMORY.md", json::<Remembered>())
            .body::<NewMemory>(),
        doc("GET", "/v1/memory/status", "How the index is", json::<IndexStatus>()),
        doc("GET", "/v1/memory/files", "The files behind it", json::<FileList>())
            .query::<FilesQuery>(),
        doc(
            "GET",
            file,
            "A file, with its ETag; `<path>/history` is what became of it",
            Answer::Text("text/markdown"),
        )
        .query::<ReadQuery>(),
        doc("PUT", file, "Writes a file; If-Match and If-None-Match hold", Answer::Nothing),
        doc("DELETE", file, "Removes a file; its last version is kept", Answer::Nothing),
        doc("POST", file, "`<path>/restore`: puts back an earlier version", Answer::Nothing)
            .body::<Restore>(),
        doc("GET", "/api/search", "Everything of the person's, by kind", json::<Found>())
            .query::<KnowledgeQuery>(),
    ]
}

fn clients() -> Vec<Doc> {
    use views::{EmbeddingList, EmbeddingRequest, LogLines, LogsQuery, ModelList, ModelView};
    let logs = Answer::JsonOrEvents(schema_of::<LogLines>, schema_of::<LogLine>);
    let chat = Answer::JsonOrEvents(answers::chat_completion, answers::chat_chunk);
    let responses = Answer::JsonOrEvents(answers::response, answers::response_event);
    let messages = Answer::JsonOrEvents(answers::message, answers::message_event);
    vec![
        doc("POST", "/v1/chat/completions", "OpenAI chat completions", chat)
            .body::<decode::ChatBody>(),
        doc("POST", "/v1/responses", "OpenAI responses", responses).body::<decode::ResponsesBody>(),
        doc("POST", "/v1/messages", "Anthropic messages", messages).body::<decode::MessagesBody>(),
        doc("POST", "/v1/embeddings", "Vectors for texts", json::<EmbeddingList>())
            .body::<EmbeddingRequest>(),
        doc("GET", "/v1/models", "Agents and models", json::<ModelList>()),
        doc("GET", "/v1/models/{*id}", "One of them", json::<ModelView>()),
        doc("GET", "/openapi.json", "This document", Answer::Json(answers::any_object)),
        doc("GET", "/docs", "This document as a page", Answer::Text("text/html")),
        doc("GET", "/api/admin/logs", "The newest lines of the log, or a feed of them", logs)
            .query::<LogsQuery>(),
        doc("GET", "/metrics", "Figures for Prometheus", Answer::Text("text/plain")),
    ]
}
