//! What must hold after every schedule, checked with the logs, the ledger and the observed events.

use std::collections::{BTreeMap, BTreeSet};

use onyx_agent::prompt::History;
use onyx_storage::{RunRow, Store};
use onyx_types::{
    AgentId, Block, ErrorCode, Event, Message, Role, RunId, RunStatus, SessionId, SessionKey, Turn,
    TurnBody, TurnId,
};

use super::book::{Book, Viewer};
use super::gateway::person;
use super::model::MODEL;
use super::schedule::now;

struct Session {
    key: SessionKey,
    turns: Vec<Turn>,
}

pub(super) fn everything(store: &Store, book: &Book) -> Vec<String> {
    let mut found = Vec::new();
    let open = now(store.ledger.active_runs());
    if !open.is_empty() {
        found.push(format!("runs are still open in the books: {open:?}"));
    }
    let mut sessions: Vec<Session> = now(store.turns.sessions(&person()))
        .into_iter()
        .map(|key| Session { turns: now(store.turns.tail(&key, None, usize::MAX)).turns, key })
        .collect();
    found.extend(sessions.iter().flat_map(|session| deleted_flaws(book, session)));
    // Messages that arrived while a session was deleted may have created it again.
    sessions.retain(|session| !book.is_deleted(session.key.session));
    for session in &sessions {
        let row = |run| now(store.ledger.run(&person(), run));
        found.extend(log_flaws(session, &row, !book.parallel.is_empty()));
        found.extend(call_flaws(session));
        found.extend(prompt_flaws(session));
    }
    found.extend(queued_flaws(store, book, &sessions));
    found.extend(said_flaws(book, &sessions));
    found.extend(read_flaws(book, &sessions));
    found.extend(effect_flaws(book, &sessions));
    found.extend(noted_flaws(book, &sessions));
    for viewer in book.viewers.iter().filter(|viewer| !book.may_be_gone(viewer.session)) {
        found.extend(told_flaws(viewer, &sessions));
    }
    found.extend(agreement_flaws(book));
    found
}

/// A deleted session holds none of its old turns.
fn deleted_flaws(book: &Book, session: &Session) -> Option<String> {
    let gone = book.deleted.get(&session.key.session)?;
    let back = session.turns.iter().find(|turn| gone.contains(&turn.id))?;
    Some(format!("{}: turn {} was deleted and is there", session.key.session, back.id))
}

/// Each turn occurs once. Each run that began in the log has one end, and no turns of other runs
/// lie between.
fn log_flaws(
    session: &Session,
    row: &dyn Fn(RunId) -> Option<RunRow>,
    lanes_at_once: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut ids = BTreeSet::new();
    let mut open: Option<RunId> = None;
    let mut ended = BTreeSet::new();
    let mut lanes: BTreeMap<RunId, u16> = BTreeMap::new();
    let id = session.key.session;
    for turn in &session.turns {
        if !ids.insert(turn.id) {
            found.push(format!("{id}: turn {} stands in the log twice", turn.id));
        }
        let Some(run) = turn.run else { continue };
        let own = row(run).is_some_and(|row| row.key.session == id);
        if ended.contains(&run) && own {
            found.push(format!("{id}: run {run} goes on after its end: {:?}", turn.body.kind()));
        }
        match &turn.body {
            TurnBody::RunStart(_) => {
                if let Some(before) = open.filter(|before| own_run(row, *before, id)) {
                    found.push(format!("{id}: run {run} begins before {before} has ended"));
                }
                open = Some(run);
            }
            TurnBody::RunEnd(_) => {
                if open != Some(run) && own {
                    found.push(format!("{id}: run {run} ends without having begun"));
                }
                open = None;
                ended.insert(run);
            }
            TurnBody::AssistantText(_) | TurnBody::ToolCall(_) | TurnBody::ToolResult(_) => {
                let lane = lanes.entry(run).or_default();
                if turn.lane.0 < *lane && !lanes_at_once {
                    found.push(format!("{id}: lanes of run {run} are out of order"));
                }
                *lane = turn.lane.0;
            }
            _ => {}
        }
    }
    if let Some(run) = open.filter(|run| own_run(row, *run, id)) {
        found.push(format!("{id}: run {run} has no end"));
    }
    found
}

fn own_run(row: &dyn Fn(RunId) -> Option<RunRow>, run: RunId, session: SessionId) -> bool {
    row(run).is_some_and(|row| row.key.session == session)
}

/// Each call has an id of its own and at most one result, which comes after it.
fn call_flaws(session: &Session) -> Vec<String> {
    let mut found = Vec::new();
    let mut calls = BTreeSet::new();
    let mut answered = BTreeSet::new();
    for turn in &session.turns {
        match &turn.body {
            // Ids must differ as far back as a prompt reaches, which is at least within a run.
            TurnBody::RunStart(_) => {
                calls.clear();
                answered.clear();
            }
            TurnBody::ToolCall(call) => {
                let id = &call.tool_use_id;
                let first = calls.insert(id.clone());
                if id.0.is_empty() || !first {
                    found.push(format!("{}: two calls are called {id:?}", session.key.session));
                }
            }
            TurnBody::ToolResult(result) => {
                let id = &result.tool_use_id;
                if !calls.contains(id) || !answered.insert(id.clone()) {
                    found.push(format!("{}: a result too many for {id}", session.key.session));
                }
            }
            _ => {}
        }
    }
    found
}

/// Every provider accepts the prompts that the log leads to, for each agent.
fn prompt_flaws(session: &Session) -> Vec<String> {
    let agents: [AgentId; 2] = ["main".parse().unwrap(), "other".parse().unwrap()];
    let flaw = |agent: &AgentId| {
        let mut conversation: History = session.turns.iter().cloned().collect();
        let messages = conversation.messages(agent, MODEL);
        let parted = parted_call(&messages)?;
        Some(format!("{}: the prompt of {agent} is not convertible: {parted}", session.key.session))
    };
    agents.iter().filter_map(flaw).collect()
}

/// Why a provider would refuse these messages; `None` if none would.
pub(super) fn flaw_of(messages: &[Message]) -> Option<String> {
    if messages.first().is_none_or(|message| message.role != Role::User) {
        return Some("the first message is not the person's".to_owned());
    }
    if messages.last().is_none_or(|message| message.role != Role::User) {
        return Some("the last message is not the person's".to_owned());
    }
    parted_call(messages)
}

fn parted_call(messages: &[Message]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut last = None;
    for message in messages {
        if last.replace(message.role) == Some(message.role) {
            return Some("two messages of one role follow each other".to_owned());
        }
        if message.content.is_empty() {
            return Some("a message is empty".to_owned());
        }
        if message.role == Role::Assistant && !open.is_empty() {
            return Some(format!("calls without result: {open:?}"));
        }
        let mut words_came = false;
        for block in &message.content {
            match block {
                Block::ToolUse { id, .. } => {
                    if !seen.insert(id.0.as_str()) {
                        return Some(format!("two calls are called {id}"));
                    }
                    open.push(&id.0);
                }
                Block::ToolResult { id, .. } => {
                    let Some(at) = open.iter().position(|open| *open == id.0) else {
                        return Some(format!("a result without a call: {id}"));
                    };
                    if words_came {
                        return Some(format!("words stand before the result of {id}"));
                    }
                    open.remove(at);
                }
                Block::Text { text } => {
                    words_came = true;
                    if text.is_empty() {
                        return Some("an empty text".to_owned());
                    }
                }
                Block::Image { .. } | Block::Attachment(_) | Block::Reasoning { .. } => {}
            }
        }
    }
    (!open.is_empty()).then(|| format!("calls without result: {open:?}"))
}

/// Each acknowledged message is in the log or still waits.
fn queued_flaws(store: &Store, book: &Book, sessions: &[Session]) -> Vec<String> {
    let mut found = Vec::new();
    for (id, turn) in book.queued.iter().filter(|(id, _)| !book.may_be_gone(*id)) {
        let session = sessions.iter().find(|session| session.key.session == *id);
        let in_log = session.is_some_and(|session| session.turns.iter().any(|t| t.id == *turn));
        let waiting = session.is_some_and(|session| {
            now(store.ledger.inbox(&session.key)).iter().any(|row| row.turn == *turn)
        });
        if !in_log && !waiting {
            found.push(format!("{id}: acknowledged words {turn} are lost"));
        }
    }
    found
}

/// Each message is in the log of its session at most once, and once if the start of its run was
/// reported.
fn said_flaws(book: &Book, sessions: &[Session]) -> Vec<String> {
    let mut found = Vec::new();
    let mut times: BTreeMap<(SessionId, String), usize> = BTreeMap::new();
    for session in sessions {
        for turn in &session.turns {
            if let TurnBody::User(user) = &turn.body {
                *times.entry((session.key.session, user.content.text())).or_default() += 1;
            }
        }
    }
    for ((session, text), times) in &times {
        if *times > 1 {
            found.push(format!("{session}: {text:?} was written {times} times"));
        }
    }
    for (text, started) in &book.said {
        let Some((session, run)) = started else { continue };
        if book.may_be_gone(*session) {
            continue;
        }
        let start = |event: &Event| matches!(event, Event::Start { .. });
        let told = book.viewers.iter().any(|viewer| {
            viewer.run == *run && viewer.events.iter().any(|(_, _, event)| start(event))
        });
        if told && !times.contains_key(&(*session, text.clone())) {
            found.push(format!("{session}: {text:?} was told and is lost"));
        }
    }
    found
}

/// What somebody has read stays in the log as it was read, however late they got the answer.
fn read_flaws(book: &Book, sessions: &[Session]) -> Vec<String> {
    let mut found = Vec::new();
    for (id, read) in book.read.iter().filter(|(id, _)| !book.may_be_gone(*id)) {
        let session = sessions.iter().find(|session| session.key.session == *id);
        let turns: Vec<TurnId> =
            session.iter().flat_map(|session| &session.turns).map(|turn| turn.id).collect();
        if !read.is_empty() && !turns.windows(read.len()).any(|part| part == read.as_slice()) {
            found.push(format!("{id}: turns that were read are not in the log: {read:?}"));
        }
    }
    found
}

/// No tool has an effect twice, or before its call was on disk.
fn effect_flaws(book: &Book, sessions: &[Session]) -> Vec<String> {
    let mut found = Vec::new();
    let mut done = BTreeSet::new();
    let calls = sessions.iter().flat_map(|session| &session.turns);
    let written: BTreeSet<&str> = calls
        .filter_map(|turn| match &turn.body {
            TurnBody::ToolCall(call) => call.input["key"].as_str(),
            _ => None,
        })
        .collect();
    for effect in &book.effects {
        if !done.insert(effect) {
            found.push(format!("{effect} happened twice"));
        }
        // The log of a deleted session holds no calls.
        if !written.contains(effect.as_str()) && book.may_be_gone.is_empty() {
            found.push(format!("{effect} happened, but no log has its call"));
        }
    }
    found
}

fn noted_flaws(book: &Book, sessions: &[Session]) -> Vec<String> {
    let text_of = |id: SessionId, turn: TurnId| {
        let session = sessions.iter().find(|session| session.key.session == id)?;
        session.turns.iter().find_map(|candidate| match &candidate.body {
            TurnBody::AssistantText(text) if candidate.id == turn => Some(text.content.clone()),
            _ => None,
        })
    };
    let mut found = Vec::new();
    for ((session, turn), noted) in &book.noted {
        if book.may_be_gone(*session) {
            continue;
        }
        if !text_of(*session, *turn).is_some_and(|text| text.starts_with(noted)) {
            found.push(format!("{session}: noted text {turn} is lost"));
        }
    }
    found
}

/// The events of one viewer are in order, end once, and agree with the log.
fn told_flaws(viewer: &Viewer, sessions: &[Session]) -> Vec<String> {
    let mut found = Vec::new();
    let run = viewer.run;
    for (expected, (seq, _, _)) in (viewer.after + 1..).zip(&viewer.events) {
        if *seq != expected {
            found.push(format!("run {run}: {expected} was due, {seq} came"));
            break;
        }
    }
    let is_done = |event: &Event| matches!(event, Event::Done { .. });
    let ends = viewer.events.iter().filter(|(_, _, event)| is_done(event)).count();
    let last = viewer.events.last().is_some_and(|(_, _, event)| is_done(event));
    if (ends > 0 && !last) || ends > 1 {
        found.push(format!("run {run}: `done` is not the last event"));
    }
    // A viewer who returns after `done` receives nothing more.
    if viewer.closed && ends == 0 && !viewer.events.is_empty() {
        found.push(format!("run {run}: the feed ended without `done`"));
    }
    let session = sessions.iter().find(|session| session.key.session == viewer.session);
    let turns = session.map(|session| session.turns.as_slice()).unwrap_or_default();
    let stored = |code: &ErrorCode| {
        !matches!(
            code,
            ErrorCode::StorageFull
                | ErrorCode::StorageFailed
                | ErrorCode::StorageUnavailable
                | ErrorCode::SessionBusy
        )
    };
    let mut could_write = true;
    for (_, _, event) in &viewer.events {
        if let Event::Error { code, .. } = event {
            could_write &= stored(code);
        }
        if !is_kept(event, run, turns, could_write && viewer.after == 0) {
            found.push(format!("run {run}: told but not in the log: {event:?}"));
        }
    }
    found
}

fn is_kept(event: &Event, run: RunId, turns: &[Turn], could_write: bool) -> bool {
    let mut of_run = turns.iter().filter(|turn| turn.run == Some(run));
    match event {
        Event::Start { .. } => of_run.any(|turn| matches!(turn.body, TurnBody::RunStart(_))),
        Event::TextComplete { turn_id, text, .. } => of_run.any(|turn| {
            turn.id == *turn_id
                && matches!(&turn.body, TurnBody::AssistantText(kept) if kept.content == *text)
        }),
        Event::ToolCall { turn_id, tool_use_id, .. } => of_run.any(|turn| {
            turn.id == *turn_id
                && matches!(&turn.body, TurnBody::ToolCall(kept) if kept.tool_use_id == *tool_use_id)
        }),
        Event::ToolResult { turn_id, output, .. } => of_run.any(|turn| {
            turn.id == *turn_id
                && matches!(&turn.body, TurnBody::ToolResult(kept) if kept.output == *output)
        }),
        Event::Done { status, .. } => {
            let ended = of_run.find_map(|turn| match &turn.body {
                TurnBody::RunEnd(end) => Some(end.status),
                _ => None,
            });
            match ended {
                Some(ended) if ended == *status => true,
                // The store refused to write the end, so the run was closed later, or the log has
                // nothing of it.
                Some(RunStatus::Interrupted) | None => !could_write && *status == RunStatus::Error,
                Some(_) => !could_write,
            }
        }
        Event::TextDelta { .. }
        | Event::ReasoningDelta { .. }
        | Event::ToolOutput { .. }
        | Event::Draft { .. }
        | Event::Confirm { .. }
        | Event::Context { .. }
        | Event::Status { .. }
        | Event::Usage { .. }
        | Event::Error { .. } => true,
    }
}

/// All viewers who saw an event of a run saw the same event.
fn agreement_flaws(book: &Book) -> Vec<String> {
    let mut told: BTreeMap<(RunId, u64), &Event> = BTreeMap::new();
    let mut found = Vec::new();
    for viewer in &book.viewers {
        for (seq, _, event) in &viewer.events {
            if *told.entry((viewer.run, *seq)).or_insert(event) != event {
                found.push(format!("run {}: event {seq} was told in two ways", viewer.run));
            }
        }
    }
    found
}
