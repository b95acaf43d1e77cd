//! `/v1`: the API for clients of OpenAI and Anthropic. A request goes to an agent, which runs, or
//! passes through to a provider's model.

mod completions;
mod conversations;
mod counts;
mod embeddings;
mod left_out;
mod media;
mod models;
mod multipart;
mod pass;
mod run;
pub(super) mod schemas;
mod sent;
mod thread;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::wire::decode::{self, ClientRequest};
use crate::wire::encode::v1::{
    AnswerHead, AnswerWriter, ChatChunks, MessageEvents, ResponseEvents, WholeAnswer,
};
use crate::{Access, ApiState, AuthContext, Dialect, JsonBody, Problem, Route, Routes};
use sent::{AnswerSource, RequestHead};
use thread::Thread;

pub(super) fn routes() -> Routes {
    let rows = [
        Route::post("/v1/chat/completions", Access::Chat, chat_completions)
            .summary("Create a chat completion (OpenAI format)")
            .body::<decode::ChatBody>()
            .answers_json_or_events(schemas::chat_completion, schemas::chat_chunk),
        Route::post("/v1/responses", Access::Chat, responses)
            .summary("Create a response (OpenAI format)")
            .tag("responses")
            .body::<decode::ResponsesBody>()
            .answers_json_or_events(schemas::response, schemas::response_event),
        Route::post("/v1/messages", Access::Chat, messages)
            .summary("Create a message (Anthropic format)")
            .tag("messages")
            .body::<decode::MessagesBody>()
            .answers_json_or_events(schemas::message, schemas::message_event),
    ];
    Routes::tagged("chat", rows)
        .merge(counts::routes())
        .merge(conversations::routes())
        .merge(embeddings::routes())
        .merge(completions::routes())
        .merge(media::routes())
        .merge(models::routes())
}

type Body = JsonBody<Map<String, Value>>;

async fn chat_completions(
    State(state): State<ApiState>,
    caller: AuthContext,
    headers: HeaderMap,
    JsonBody(body): Body,
) -> Result<Response, Problem> {
    answer(&state, &caller, &headers, body, Dialect::ChatCompletions).await
}

async fn responses(
    State(state): State<ApiState>,
    caller: AuthContext,
    headers: HeaderMap,
    JsonBody(body): Body,
) -> Result<Response, Problem> {
    answer(&state, &caller, &headers, body, Dialect::Responses).await
}

async fn messages(
    State(state): State<ApiState>,
    caller: AuthContext,
    headers: HeaderMap,
    JsonBody(body): Body,
) -> Result<Response, Problem> {
    answer(&state, &caller, &headers, body, Dialect::Messages).await
}

async fn answer(
    state: &ApiState,
    caller: &AuthContext,
    headers: &HeaderMap,
    mut body: Map<String, Value>,
    dialect: Dialect,
) -> Result<Response, Problem> {
    let sent = RequestHead::read(headers, &body)?;
    let source = sent.answer_source(state)?;
    let thread = match dialect {
        Dialect::Responses => Some(Thread::open(state, caller, &source, &mut body).await?),
        Dialect::ChatCompletions | Dialect::Messages => None,
    };
    let response = match source {
        AnswerSource::Agent { agent, model } => {
            run::answer(state, caller, sent, run::AnswererChoice { agent, model, dialect }, body)
                .await
        }
        AnswerSource::Upstream(model) => {
            pass::through(state, caller, &sent, model, dialect, body).await
        }
    }?;
    Ok(match thread {
        Some(thread) => thread.keeping(state, response),
        None => response,
    })
}

/// The differences between the three formats, for decoding a request and for writing an answer.
impl Dialect {
    fn read(self, body: Map<String, Value>) -> Result<ClientRequest, Problem> {
        match self {
            Self::ChatCompletions => decode::chat(body),
            Self::Responses => decode::responses(body),
            Self::Messages => decode::messages(body),
        }
    }

    fn writer(self, head: AnswerHead) -> Box<dyn AnswerWriter> {
        match self {
            Self::ChatCompletions => Box::new(ChatChunks::new(head)),
            Self::Responses => Box::new(ResponseEvents::new(head)),
            Self::Messages => Box::new(MessageEvents::new(head)),
        }
    }

    fn whole(self, head: &AnswerHead, answer: &WholeAnswer) -> Value {
        match self {
            Self::ChatCompletions => ChatChunks::whole(head, answer),
            Self::Responses => ResponseEvents::whole(head, answer),
            Self::Messages => MessageEvents::whole(head, answer),
        }
    }

    /// The fields of the request that the answer repeats.
    fn echo(self, body: &Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::ChatCompletions | Self::Messages => Map::new(),
            Self::Responses => ResponseEvents::echo(body),
        }
    }

    /// The field that holds the conversation.
    const fn conversation(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Messages => "messages",
            Self::Responses => "input",
        }
    }
}
