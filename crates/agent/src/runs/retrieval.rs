//! Retrieval for a message before the model is called, and the addresses that the session has seen.

use std::collections::BTreeSet;

use onyx_knowledge::{Hit, Index, Retrieval, RetrievedHits};
use onyx_tools::Addresses;
use onyx_types::{
    CitedSource, ContextPiece, Event, Origin, RunId, Scope, SessionKey, StatusCode, TurnBody,
};

use super::opening::MessageToAnswer;
use crate::prompt::{self, History, UntrustedPiece};
use crate::step::client::ClientTurn;
use crate::step::{LaneSetup, Speaker};

/// Text that was found for the message, and the notes about it that people see.
#[derive(Default)]
pub(super) struct RetrievedContext {
    pub(super) pieces: Vec<UntrustedPiece>,
    pub(super) events: Vec<Event>,
    pub(super) taints: bool,
}

const PARTIAL: &str = "The context may be incomplete: not everything is indexed yet";

/// Searches these groups of scopes for context. If a search fails, the run has no context, and a
/// notice says so.
pub(super) async fn retrieve(
    index: Option<&Index>,
    session: &SessionKey,
    run: RunId,
    message: &MessageToAnswer,
    groups: Vec<Vec<Scope>>,
    lanes: &[LaneSetup],
) -> RetrievedContext {
    let (Some(index), Some(words)) = (index, &message.words) else {
        return RetrievedContext::default();
    };
    // A message of pictures alone has no words to search for.
    let text = words.content.text();
    if groups.is_empty() || text.trim().is_empty() {
        return RetrievedContext::default();
    }
    let window = lanes.iter().map(|lane| prompt::window(lane.context_window)).min();
    let retrieval = Retrieval {
        person: session.person.clone(),
        groups,
        session: Some(session.session),
        text,
        max_tokens: Retrieval::budget(window.unwrap_or_default()),
    };
    match index.retrieve(&retrieval).await {
        Ok(retrieved) => RetrievedContext::from(retrieved),
        Err(error) => {
            tracing::warn!(%run, %error, "a message is answered without context");
            let events = vec![degraded(format!("Answered without context: {error}"))];
            RetrievedContext { events, ..RetrievedContext::default() }
        }
    }
}

impl From<RetrievedHits> for RetrievedContext {
    fn from(RetrievedHits { hits, degraded: why, partial }: RetrievedHits) -> Self {
        let why = why.map(|why| degraded(format!("Context was searched by words only: {why}")));
        let partial = partial.then(|| degraded(PARTIAL.to_owned()));
        let context = Event::Context { pieces: hits.iter().map(context_piece).collect() };
        let context = (!hits.is_empty()).then_some(context);
        Self {
            taints: hits.iter().any(|hit| hit.origin.taints()),
            events: why.into_iter().chain(partial).chain(context).collect(),
            pieces: hits.into_iter().map(untrusted_piece).collect(),
        }
    }
}

fn degraded(message: String) -> Event {
    Event::Status { message, code: StatusCode::Degraded }
}

fn cited(hit: &Hit) -> CitedSource {
    CitedSource {
        source_id: hit.source_id(),
        chunk_id: hit.chunk.0.to_string(),
        title: hit.title.clone(),
        session_id: hit.session().map(|(session, _)| session),
        turn: hit.message.as_ref().and_then(|message| message.turn),
    }
}

fn context_piece(hit: &Hit) -> ContextPiece {
    ContextPiece {
        source: hit.path(),
        cited: cited(hit),
        scope: hit.scope.clone(),
        origin: hit.origin,
        score: hit.score,
        match_type: hit.match_type,
        start_line: hit.start_line,
        end_line: hit.end_line,
    }
}

fn untrusted_piece(hit: Hit) -> UntrustedPiece {
    let scope = match &hit.scope {
        Scope::Person => "person",
        Scope::Agent(_) => "agent",
        Scope::Space(_) => "space",
        Scope::Channel(_) => "channel",
        Scope::Thread(_) => "thread",
        Scope::Shared => "shared",
    };
    UntrustedPiece {
        scope: scope.to_owned(),
        cited: Some(cited(&hit)),
        source: hit.path(),
        lines: Some((hit.start_line, hit.end_line)),
        text: hit.text,
    }
}

/// Tools whose results hold the addresses of pages unchanged.
const WEB_TOOLS: [&str; 2] = ["web_search", "web_fetch"];

/// Addresses that may be fetched without approval: those that the person wrote in this session, and
/// those in results of its searches and fetches.
pub(super) fn known_addresses(
    history: &History,
    message: &MessageToAnswer,
    client_turns: &[ClientTurn],
    addresses: Addresses,
) -> Addresses {
    let mut from_web = BTreeSet::new();
    for turn in history.turns() {
        match &turn.body {
            TurnBody::User(words) if turn.origin == Origin::Person => {
                addresses.person_wrote(&words.content.text());
            }
            TurnBody::ToolCall(call) if WEB_TOOLS.contains(&call.tool_name.as_str()) => {
                from_web.insert(&call.tool_use_id);
            }
            // The result of a call that was only drafted, rehearsed or refused repeats the address
            // that the model made up, so it does not count.
            TurnBody::ToolResult(result)
                if turn.origin == Origin::External && from_web.contains(&result.tool_use_id) =>
            {
                addresses.page_says(&result.output);
            }
            _ => {}
        }
    }
    let spoken = message.leading.iter().chain(&message.words);
    for words in spoken.filter(|words| words.by == Speaker::Person) {
        addresses.person_wrote(&words.content.text());
    }
    for turn in client_turns {
        if let ClientTurn::User(content) = turn {
            addresses.person_wrote(&content.text());
        }
    }
    addresses
}
