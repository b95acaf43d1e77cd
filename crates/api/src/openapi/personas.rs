//! The agent page, the paths that its older clients use, and the persona editor.

use super::schema_of;
use super::table::{Answer, Doc, EVENTS, doc, json};
use crate::encode::{ChatReply, Line, OlderLine, PersonaEvent};
use crate::routes::views;

const LINES: &str = "application/x-ndjson";

pub(super) fn agent_page() -> Vec<Doc> {
    use views::{ActionView, AgentHealth, PreferencesChange, PreferencesView, RunAction};
    let config = "/api/agent/config";
    let lines = Answer::Stream(LINES, schema_of::<Line<'static>>);
    vec![
        doc("GET", config, "What the person chose for their agents", json::<PreferencesView>()),
        doc("POST", config, "Changes some of it", json::<PreferencesView>())
            .body::<PreferencesChange>(),
        doc("GET", "/api/agent/actions", "Prompt files to run", json::<Vec<ActionView>>()),
        doc("POST", "/api/agent/actions/{id}/run", "Runs one, event by event", lines)
            .body::<RunAction>(),
        doc("GET", "/api/agent/health", "Can agents do their work?", json::<AgentHealth>()),
    ]
}

pub(super) fn older_clients() -> Vec<Doc> {
    use views::{ChatRequest, Cleared, History, HistoryQuery, SessionRequest};
    let lines = Answer::Stream(LINES, schema_of::<OlderLine<'static>>);
    vec![
        doc("POST", "/api/claude/chat-stream", "As /api/agent/chat-stream", lines)
            .body::<ChatRequest>(),
        doc("POST", "/api/claude/chat", "As /api/agent/chat", json::<ChatReply>())
            .body::<ChatRequest>(),
        doc("POST", "/api/claude/clear", "As /api/agent/session/clear", json::<Cleared>())
            .body::<SessionRequest>(),
        doc("GET", "/api/claude/history", "As /api/agent/session/history", json::<History>())
            .query::<HistoryQuery>(),
    ]
    .into_iter()
    .map(Doc::deprecated)
    .collect()
}

pub(super) fn personas() -> Vec<Doc> {
    use views::personas::{
        ChatRequest, Cleared, Content, History, HistoryQuery, OfPersona, PersonaView, PutPersona,
        TestInputList, TestInputView,
    };
    let events = || Answer::Stream(EVENTS, schema_of::<PersonaEvent<'static>>);
    let persona = "/api/storage/personas/{id}";
    let tests = "/api/storage/personas/{id}/test-inputs";
    let test = "/api/storage/personas/{id}/test-inputs/{tid}";
    let run = "/api/storage/personas/{id}/test-inputs/{tid}/run";
    let created = Answer::Created(schema_of::<TestInputView>);
    vec![
        doc("POST", "/api/persona-agent/chat", "Asks the persona editor", events())
            .body::<ChatRequest>(),
        doc("POST", "/api/persona-agent/clear", "Begins the conversation anew", json::<Cleared>())
            .body::<OfPersona>(),
        doc("GET", "/api/persona-agent/history", "What was said to it", json::<History>())
            .query::<HistoryQuery>(),
        doc("GET", persona, "An agent as a persona", json::<PersonaView>()),
        doc("PUT", persona, "Makes or changes it", json::<PersonaView>()).body::<PutPersona>(),
        doc("DELETE", persona, "Takes the agent out of the config", Answer::Nothing),
        doc("GET", tests, "What it is tried with", json::<TestInputList>()),
        doc("POST", tests, "Adds a test input", created).body::<Content>(),
        doc("GET", test, "One test input", json::<TestInputView>()),
        doc("PUT", test, "Makes or changes it", json::<TestInputView>()).body::<Content>(),
        doc("DELETE", test, "Removes it; what it held is kept", Answer::Nothing),
        doc("POST", run, "What the persona answers to it", events()),
    ]
}
