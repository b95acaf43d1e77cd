//! `/v1`: what clients of OpenAI's and Anthropic's wires speak. A request is for an agent, which
//! runs, or for a model of a provider, to which it passes through.

mod embeddings;
mod models;
mod pass;
mod run;
pub(super) mod schemas;
mod sent;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::wire::decode::{self, ClientRequest, Reader};
use crate::wire::encode::v1::{
    AnswerHead, AnswerWriter, ChatChunks, MessageEvents, ResponseEvents, WholeAnswer,
};
use crate::{Access, ApiState, AuthContext, Dialect, JsonBody, Problem, Route, Routes};
use embeddings::{EmbeddingList, EmbeddingRequest};
use models::{ModelList, ModelView};
use sent::{Sent, Target};

pub(super) fn routes() -> Routes {
    let rows = [
        Route::post("/v1/chat/completions", Access::Chat, chat_completions)
            .summary("OpenAI chat completions")
            .tag("chat")
            .body::<decode::ChatBody>()
            .answers_json_or_events(schemas::chat_completion, schemas::chat_chunk),
        Route::post("/v1/responses", Access::Chat, responses)
            .summary("OpenAI responses")
            .tag("responses")
            .body::<decode::ResponsesBody>()
            .answers_json_or_events(schemas::response, schemas::response_event),
        Route::post("/v1/messages", Access::Chat, messages)
            .summary("Anthropic messages")
            .tag("messages")
            .body::<decode::MessagesBody>()
            .answers_json_or_events(schemas::message, schemas::message_event),
        Route::post("/v1/embeddings", Access::Chat, embeddings::create)
            .summary("Vectors for texts")
            .tag("embeddings")
            .body::<EmbeddingRequest>()
            .answers_json::<EmbeddingList>(),
        Route::get("/v1/models", Access::Read, models::list)
            .summary("Agents and models")
            .answers_json::<ModelList>(),
        Route::get("/v1/models/{*id}", Access::Read, models::show)
            .summary("One of them")
            .answers_json::<ModelView>(),
    ];
    Routes::tagged("models", rows)
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
    body: Map<String, Value>,
    dialect: Dialect,
) -> Result<Response, Problem> {
    let sent = Sent::read(headers, &body)?;
    match sent.target(state)? {
        Target::Agent { agent, model } => {
            run::answer(state, caller, sent, run::Wanted { agent, model, dialect }, body).await
        }
        Target::Upstream(model) => pass::through(state, caller, &sent, model, dialect, body).await,
    }
}

/// What differs between the three wires, once a request is read and while an answer is written.
impl Dialect {
    fn read(self, body: Map<String, Value>, reader: Reader) -> Result<ClientRequest, Problem> {
        match self {
            Self::ChatCompletions => decode::chat(body, reader),
            Self::Responses => decode::responses(body, reader),
            Self::Messages => decode::messages(body, reader),
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

    /// What an answer repeats of its request.
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
