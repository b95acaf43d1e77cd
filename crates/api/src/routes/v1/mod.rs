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
use embeddings::{EmbeddingList, EmbeddingRequest};
use models::{ListedModelView, ModelList};
use sent::{AnswerSource, RequestHead};
use thread::Thread;

pub(super) fn routes() -> Routes {
    let rows = [
        Route::post("/v1/chat/completions", Access::Chat, chat_completions)
            .summary("Create a chat completion (OpenAI format)")
            .tag("chat")
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
        Route::post("/v1/messages/count_tokens", Access::Chat, counts::messages)
            .summary("Estimate the tokens of a messages prompt")
            .tag("messages")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/responses/input_tokens", Access::Chat, counts::responses)
            .summary("Estimate the tokens of a responses prompt")
            .tag("responses")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/responses/{id}", Access::Chat, conversations::response)
            .summary("Get a response of the last day")
            .tag("responses")
            .answers_json::<schemas::AnyObject>(),
        Route::delete("/v1/responses/{id}", Access::Chat, conversations::delete_response)
            .summary("Delete a response")
            .tag("responses")
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/responses/{id}/input_items", Access::Chat, conversations::input_items)
            .summary("List the input items of a response")
            .tag("responses")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/conversations", Access::Chat, conversations::create)
            .summary("Create a conversation for responses")
            .tag("responses")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/conversations/{id}", Access::Chat, conversations::show)
            .summary("Get a conversation of the last day")
            .tag("responses")
            .answers_json::<schemas::AnyObject>(),
        Route::delete("/v1/conversations/{id}", Access::Chat, conversations::delete)
            .summary("Delete a conversation of responses")
            .tag("responses")
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/conversations/{id}/items", Access::Chat, conversations::conversation_items)
            .summary("List the items of a conversation")
            .tag("responses")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/conversations/{id}/items", Access::Chat, conversations::add_items)
            .summary("Add items to a conversation")
            .tag("responses")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/embeddings", Access::Chat, embeddings::create)
            .summary("Create embeddings")
            .tag("embeddings")
            .body::<EmbeddingRequest>()
            .answers_json::<EmbeddingList>(),
        Route::post("/v1/completions", Access::Chat, completions::create)
            .summary("Create a completion (OpenAI's format before chats)")
            .tag("chat")
            .body::<schemas::AnyObject>()
            .answers_json_or_events(schemas::any_object, schemas::any_object),
        Route::post("/v1/audio/transcriptions", Access::Chat, media::transcriptions)
            .summary("Transcribe speech, with a provider that can")
            .tag("media")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/audio/translations", Access::Chat, media::translations)
            .summary("Translate speech to English text, with a provider that can")
            .tag("media")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/audio/speech", Access::Chat, media::speech)
            .summary("Create speech from text, with a provider that can")
            .tag("media")
            .body::<schemas::AnyObject>()
            .answers_text("audio/mpeg"),
        Route::post("/v1/images/generations", Access::Chat, media::images)
            .summary("Create images, with a provider that can")
            .tag("media")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/images/edits", Access::Chat, media::image_edits)
            .summary("Edit images, with a provider that can")
            .tag("media")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/moderations", Access::Chat, media::moderations)
            .summary("Classify content, with a provider that can moderate")
            .tag("media")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/models", Access::Read, models::list)
            .summary("List agents and models")
            .answers_json::<ModelList>(),
        Route::get("/v1/models/{*id}", Access::Read, models::show)
            .summary("Get an agent or a model")
            .answers_json::<ListedModelView>(),
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
