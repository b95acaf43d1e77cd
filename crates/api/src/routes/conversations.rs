//! `/api/conversations`: the companion of a space. A message is added when it is sent and answered
//! when its stream is requested; the run continues without a reader.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use onyx_agent::{AfterFailure, EventReader, KeptMessage, MessageAnswer, NewMessage};
use onyx_storage::{Delivery, SessionMeta};
use onyx_surface::Encoder;
use onyx_types::{
    AgentId, Envelope, ErrorCode, Event as Told, Fault, RunId, SessionId, SessionOrigin, TurnId,
    View,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spaces::find;
use crate::messages::{MessageView, client_id, page, waiting};
use crate::wire::encode::{CompanionEvent, CompanionFrames, EventsFrom, SseFrame};
use crate::wire::{FieldNames, Json};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Routes {
    use Access::{Chat, Read};
    let rows = [
        Route::get("/api/spaces/{id}/companion", Chat, companion)
            .summary("Get or open the conversation of a space")
            .tag("spaces")
            .answers_json::<CompanionView>(),
        Route::get("/api/conversations/{id}/messages", Read, messages)
            .summary("List the messages of a conversation")
            .query::<MessagesQuery>()
            .answers_json::<Messages>(),
        Route::post("/api/conversations/{id}/messages", Chat, post)
            .summary("Add a message to a conversation; honours Idempotency-Key")
            .body::<PostMessage>()
            .answers_created::<Posted>(),
        Route::get("/api/conversations/{id}/stream", Chat, stream)
            .summary("Run a message and stream its events")
            .query::<StreamQuery>()
            .answers_events::<CompanionEvent<'static>>(),
    ];
    Routes::tagged("conversations", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CompanionView {
    conversation_id: SessionId,
    space: String,
    /// The agent that answers now.
    agent: String,
    agent_name: String,
}

pub(super) async fn companion(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(space): Path<String>,
) -> Result<Json<CompanionView>, Problem> {
    let space = find(&state, &caller, &space).await?.id;
    let (meta, agent) = state.agent.conversations.open_companion(&caller.person, &space).await?;
    Ok(Json(CompanionView {
        conversation_id: meta.session_id,
        space: space.to_string(),
        agent_name: name_of(&state, &agent),
        agent: agent.to_string(),
    }))
}

fn name_of(state: &ApiState, agent: &AgentId) -> String {
    let roster = state.agent.roster();
    roster.get(agent).map_or_else(|| agent.to_string(), |agent| agent.name.clone())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PostMessage {
    content: String,
    /// The view that the person looks at.
    view: Option<ViewRequest>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ViewRequest {
    entity_type: String,
    entity_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Posted {
    message_id: TurnId,
}

pub(super) async fn post(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PostMessage>,
) -> Result<impl IntoResponse, Problem> {
    let session = conversation(&state, &caller, &id).await?.session_id;
    let client_id = client_id(&headers)?;
    if request.content.trim().is_empty() {
        return Err(Problem::field("content", "it is empty"));
    }
    let view =
        request.view.map(|view| View { entity_type: view.entity_type, entity_id: view.entity_id });
    // The message is answered after the answer in progress, even if no client asks for its stream.
    let delivery = if state.agent.runs.is_at_work(&caller.person, session).await? {
        Delivery::FollowUp
    } else {
        Delivery::OnRequest
    };
    let message = NewMessage { content: request.content, view, client_id, delivery };
    let message_id =
        match state.agent.conversations.keep_message(&caller.person, session, message).await? {
            KeptMessage::Known(turn) => turn,
            KeptMessage::New(row) => {
                if delivery == Delivery::FollowUp {
                    state.agent.conversations.promise(&caller.person, session, row.turn);
                }
                row.turn
            }
        };
    Ok((StatusCode::CREATED, Json(Posted { message_id })))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MessagesQuery {
    /// Only messages before this one.
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Messages {
    /// Oldest first.
    messages: Vec<MessageView>,
    /// Give it as `before` for the messages before these; absent at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<TurnId>,
}

pub(super) async fn messages(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<MessagesQuery>,
) -> Result<Json<Messages>, Problem> {
    let session = conversation(&state, &caller, &id).await?.session_id;
    let page = page(&state, &caller, session, query.before.as_deref(), query.limit).await?;
    let mut messages: Vec<_> =
        page.messages.iter().map(|message| MessageView::of(&state, message)).collect();
    if query.before.is_none() {
        let posted = waiting(&state, &caller, session, &page).await?;
        messages.extend(posted.iter().map(MessageView::posted));
    }
    Ok(Json(Messages { messages, before: page.before }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StreamQuery {
    /// The message to answer; the latest if it is absent.
    #[serde(rename = "messageId")]
    message_id: Option<String>,
}

pub(super) async fn stream(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    names: FieldNames,
    headers: HeaderMap,
    QueryOf(query): QueryOf<StreamQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let session = conversation(&state, &caller, &id).await?.session_id;
    let step = match last_position(&headers)? {
        Some(seen) => rejoined(&state, &caller, session, names, seen).await?,
        None => {
            let message = match query.message_id {
                Some(id) => message_id(&id)?,
                None => state.agent.conversations.latest_message(&caller.person, session).await?,
            };
            state.agent.conversations.check_message(&caller.person, session, message).await?;
            StreamStep::Answer(message)
        }
    };
    let telling =
        ConversationStream { state, caller, session, names, step, ready: VecDeque::new() };
    let frames = unfold(telling, |mut telling| async move {
        let frame = telling.next().await?;
        Some((Ok(Event::from(frame)), telling))
    });
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// The position of a client that lost the stream: `<run>:<seq>` in a feed, `<run>:log-<seq>` in a
/// log.
pub(super) struct StreamPosition {
    pub(super) run: RunId,
    pub(super) after: u64,
    from: EventsFrom,
}

pub(super) fn last_position(headers: &HeaderMap) -> Result<Option<StreamPosition>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(|text| {
        let (run, seq) = text.split_once(':')?;
        let (from, seq) = match seq.strip_prefix("log-") {
            Some(seq) => (EventsFrom::Log, seq),
            None => (EventsFrom::Feed, seq),
        };
        Some(StreamPosition { run: run.parse().ok()?, after: seq.parse().ok()?, from })
    });
    parsed
        .map(Some)
        .ok_or_else(|| Problem::field("Last-Event-ID", "does not belong to this stream"))
}

/// The next thing that the stream sends.
enum StreamStep {
    /// The answer to a message, once its turn has come.
    Answer(TurnId),
    Live {
        events: EventReader,
        frames: CompanionFrames,
        after: u64,
    },
    Kept {
        events: VecDeque<Envelope>,
        frames: CompanionFrames,
        after: u64,
    },
    Nothing,
}

/// Resumes a stream without starting a run: it sends the rest of the run's events, or only its end
/// when the events are gone.
async fn rejoined(
    state: &ApiState,
    caller: &AuthContext,
    session: SessionId,
    names: FieldNames,
    StreamPosition { run, after, from }: StreamPosition,
) -> Result<StreamStep, Problem> {
    if state.agent.sessions.of_run(&caller.person, run).await? != Some(session) {
        return Err(Problem::field("Last-Event-ID", "does not belong to this stream"));
    }
    if from == EventsFrom::Feed
        && let Ok(events) = state.agent.runs.events(&caller.person, run, 0).await
    {
        let events = events.parted_at(after);
        let frames = CompanionFrames::default().named(names);
        return Ok(StreamStep::Live { events, frames, after });
    }
    let events: VecDeque<_> = state.agent.replay.of_run(&caller.person, session, run).await?.into();
    let is_end = |event: &Told| matches!(event, Told::Error { .. } | Told::Done { .. });
    let after = match from {
        EventsFrom::Log => after,
        // The feed's position cannot be mapped to the log any more, so only the end is sent.
        EventsFrom::Feed => events.iter().take_while(|event| !is_end(&event.event)).count() as u64,
    };
    let frames = CompanionFrames::reading_from(EventsFrom::Log).named(names);
    Ok(StreamStep::Kept { events, frames, after })
}

struct ConversationStream {
    state: ApiState,
    caller: AuthContext,
    session: SessionId,
    names: FieldNames,
    step: StreamStep,
    ready: VecDeque<SseFrame>,
}

impl ConversationStream {
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            match std::mem::replace(&mut self.step, StreamStep::Nothing) {
                StreamStep::Nothing => return None,
                StreamStep::Answer(message) => self.begin(message).await,
                StreamStep::Live { mut events, mut frames, after } => match events.next().await {
                    Some(envelope) => {
                        let encoded = frames.encode(&envelope);
                        self.ready.extend(encoded.into_iter().filter(|_| envelope.seq > after));
                        self.step = StreamStep::Live { events, frames, after };
                    }
                    None => self.ready.extend(frames.finish()),
                },
                StreamStep::Kept { mut events, mut frames, after } => {
                    if let Some(envelope) = events.pop_front() {
                        let encoded = frames.encode(&envelope);
                        self.ready.extend(encoded.into_iter().filter(|_| envelope.seq > after));
                        self.step = StreamStep::Kept { events, frames, after };
                    }
                }
            }
        }
    }

    async fn begin(&mut self, message: TurnId) {
        let (agent, person) = (&self.state.agent, &self.caller.person);
        match agent
            .conversations
            .answer_to(person, self.session, message, AfterFailure::RunAgain)
            .await
        {
            Ok(MessageAnswer::Live { run: _, events }) => {
                let frames = CompanionFrames::default().named(self.names);
                self.step = StreamStep::Live { events, frames, after: 0 };
            }
            Ok(MessageAnswer::Logged { run: _, events }) => {
                let frames = CompanionFrames::reading_from(EventsFrom::Log).named(self.names);
                self.step = StreamStep::Kept { events: events.into(), frames, after: 0 };
            }
            Err(fault) => self.ready.extend(CompanionFrames::refused(self.names, &fault)),
        }
    }
}

/// The person's session with this id, if it is the companion of a space.
async fn conversation(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
) -> Result<SessionMeta, Problem> {
    let none = || Problem::new(ErrorCode::NotFound, format!("There is no conversation {id:?}."));
    let session: SessionId = id.parse().map_err(|_| none())?;
    let meta =
        state.agent.sessions.meta(&caller.person, session).await.map_err(|_: Fault| none())?;
    match meta.origin {
        SessionOrigin::Companion => Ok(meta),
        SessionOrigin::Chat
        | SessionOrigin::Thread
        | SessionOrigin::AgentEditor
        | SessionOrigin::Connector
        | SessionOrigin::Job
        | SessionOrigin::Api
        | SessionOrigin::Temporary => Err(none()),
    }
}

fn message_id(text: &str) -> Result<TurnId, Problem> {
    text.parse().map_err(|error: onyx_types::IdError| Problem::field("messageId", error))
}
