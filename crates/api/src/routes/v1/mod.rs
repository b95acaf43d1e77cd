//! `/v1`: what clients of OpenAI's and Anthropic's wires speak. A request is for an agent, which
//! runs, or for a model of a provider, to which it passes through.

pub(super) mod embeddings;
pub(super) mod models;
mod pass;
mod run;
mod sent;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::decode::{self, Ask, Reader};
use crate::encode::v1::{
    AnswerHead, ChatChunks, MessageEvents, ResponseEvents, StepWriter, WholeAnswer,
};
use crate::{Access, ApiState, AuthContext, Dialect, JsonBody, Problem, Routes};
use sent::{Sent, Target};

pub(super) fn routes() -> Routes {
    use Access::{Chat, Read};
    Routes::new()
        .post("/v1/chat/completions", Chat, chat_completions)
        .post("/v1/responses", Chat, responses)
        .post("/v1/messages", Chat, messages)
        .post("/v1/embeddings", Chat, embeddings::create)
        .get("/v1/models", Read, models::list)
        .get("/v1/models/{*id}", Read, models::show)
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
    fn read(self, body: Map<String, Value>, reader: Reader) -> Result<Ask, Problem> {
        match self {
            Self::ChatCompletions => decode::chat(body, reader),
            Self::Responses => decode::responses(body, reader),
            Self::Messages => decode::messages(body, reader),
        }
    }

    fn writer(self, head: AnswerHead) -> Box<dyn StepWriter> {
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
