//! Speech, images and moderation: the requests pass through to a provider that supports them.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::StreamExt as _;
use onyx_types::{ErrorCode, Fault};
use serde_json::Value;

use super::sent::resolved;
use super::{multipart, schemas};
use crate::wire::MediaBody;
use crate::{Access, ApiState, AuthContext, Media, MediaRoute, Piece, Problem, Route, Routes};

/// The model of a moderation request that names none.
const USUAL: &str = "openai/omni-moderation-latest";

pub(super) fn routes() -> Routes {
    let rows = [
        Route::post("/v1/audio/transcriptions", Access::Chat, transcriptions)
            .summary("Transcribe speech, with a provider that can")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/audio/translations", Access::Chat, translations)
            .summary("Translate speech to English text, with a provider that can")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/audio/speech", Access::Chat, speech)
            .summary("Create speech from text, with a provider that can")
            .body::<schemas::AnyObject>()
            .answers_text("audio/mpeg"),
        Route::post("/v1/images/generations", Access::Chat, images)
            .summary("Create images, with a provider that can")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/images/edits", Access::Chat, image_edits)
            .summary("Edit images, with a provider that can")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/moderations", Access::Chat, moderations)
            .summary("Classify content, with a provider that can moderate")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
    ];
    Routes::tagged("media", rows)
}

async fn transcriptions(
    state: State<ApiState>,
    caller: AuthContext,
    body: MediaBody,
) -> Result<Response, Problem> {
    pass(state, caller, body, MediaRoute::Transcriptions).await
}

async fn translations(
    state: State<ApiState>,
    caller: AuthContext,
    body: MediaBody,
) -> Result<Response, Problem> {
    pass(state, caller, body, MediaRoute::Translations).await
}

async fn speech(
    state: State<ApiState>,
    caller: AuthContext,
    body: MediaBody,
) -> Result<Response, Problem> {
    pass(state, caller, body, MediaRoute::Speech).await
}

async fn images(
    state: State<ApiState>,
    caller: AuthContext,
    body: MediaBody,
) -> Result<Response, Problem> {
    pass(state, caller, body, MediaRoute::ImageGenerations).await
}

async fn image_edits(
    state: State<ApiState>,
    caller: AuthContext,
    body: MediaBody,
) -> Result<Response, Problem> {
    pass(state, caller, body, MediaRoute::ImageEdits).await
}

async fn moderations(
    state: State<ApiState>,
    caller: AuthContext,
    body: MediaBody,
) -> Result<Response, Problem> {
    pass(state, caller, body, MediaRoute::Moderations).await
}

/// Passes on a request for embeddings of texts that are given as token numbers.
pub(super) async fn embeddings(
    state: &ApiState,
    caller: &AuthContext,
    model: &str,
    body: serde_json::Map<String, Value>,
) -> Result<Response, Problem> {
    let sent =
        ModelBody::Json(body).with_model(model.split_once('/').map_or(model, |(_, name)| name));
    let json = "application/json".to_owned();
    let refused = |fault: Fault| match fault.code {
        ErrorCode::ModelNotFound => {
            Problem::field("input", "this model does not accept OpenAI's token numbers; send texts")
        }
        _ => fault.into(),
    };
    let (route, model) = (MediaRoute::Embeddings, model.to_owned());
    let ready = Ready { model, route, content_type: json, body: sent };
    forward(state, caller, ready, refused).await
}

async fn pass(
    State(state): State<ApiState>,
    caller: AuthContext,
    MediaBody { content_type, bytes }: MediaBody,
    route: MediaRoute,
) -> Result<Response, Problem> {
    let sent = ModelBody::read(&content_type, bytes)?;
    let named = sent.model()?;
    let model = match named.as_deref() {
        Some(model) => resolved(&state, model)?,
        None if route == MediaRoute::Moderations => resolved(&state, USUAL)?,
        None => return Err(Problem::field("model", "missing")),
    };
    let own_name = model.split_once('/').map_or(model.as_str(), |(_, name)| name);
    let body = match named {
        Some(_) => sent.with_model(own_name),
        None => sent.bytes(),
    };
    let ready = Ready { model, route, content_type, body };
    forward(&state, &caller, ready, Problem::from).await
}

/// A request with the model's own name in it.
struct Ready {
    model: String,
    route: MediaRoute,
    content_type: String,
    body: Bytes,
}

async fn forward(
    state: &ApiState,
    caller: &AuthContext,
    ready: Ready,
    refused: impl FnOnce(Fault) -> Problem,
) -> Result<Response, Problem> {
    let limits = state.agent.roster().limits().clone();
    let person = caller.person.clone();
    let Ready { model, route, content_type, body } = ready;
    let media = Media { person, limits, model, route, content_type, body };
    let mut pieces = state.upstream.media(media).map_err(refused)?;
    let (content_type, limits) = match pieces.next().await {
        Some(Piece::Head { content_type, limits }) => (content_type, limits),
        Some(Piece::Failed(fault)) => return Err(fault.into()),
        Some(Piece::Bytes(_)) | None => {
            return Err(Fault::plain(ErrorCode::ProviderTruncated).into());
        }
    };
    let limits = limits.into_iter().filter_map(|(name, value)| {
        Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?))
    });
    let headers =
        [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store".into())];
    // These answers have no place for an error, so a failure ends the connection.
    let bytes = pieces.map(|piece| match piece {
        Piece::Bytes(bytes) => Ok(bytes),
        Piece::Head { .. } => Ok(Bytes::new()),
        Piece::Failed(fault) => Err(std::io::Error::other(fault.message)),
    });
    Ok((headers, limits.collect::<HeaderMap>(), Body::from_stream(bytes)).into_response())
}

/// A request body that names the model.
enum ModelBody {
    Json(serde_json::Map<String, Value>),
    Form { bytes: Bytes, model: Option<std::ops::Range<usize>> },
}

impl ModelBody {
    fn read(content_type: &str, bytes: Bytes) -> Result<Self, Problem> {
        if let Some(boundary) = multipart::boundary(content_type) {
            let model = multipart::field(&bytes, boundary, "model");
            return Ok(Self::Form { bytes, model });
        }
        serde_json::from_slice(&bytes).map(Self::Json).map_err(|error| {
            Problem::new(
                ErrorCode::InvalidRequest,
                format!("the body is not a JSON object: {error}"),
            )
        })
    }

    fn model(&self) -> Result<Option<String>, Problem> {
        match self {
            Self::Json(body) => match body.get("model") {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(model)) => Ok(Some(model.clone())),
                Some(_) => Err(Problem::field("model", "expected a text")),
            },
            Self::Form { bytes, model } => {
                let text = model.clone().map(|at| String::from_utf8_lossy(&bytes[at]).into_owned());
                Ok(text.map(|text| text.trim().to_owned()))
            }
        }
    }

    fn with_model(self, name: &str) -> Bytes {
        match self {
            Self::Json(mut body) => {
                body.insert("model".to_owned(), name.into());
                Value::Object(body).to_string().into()
            }
            Self::Form { bytes, model: Some(at) } => {
                [&bytes[..at.start], name.as_bytes(), &bytes[at.end..]].concat().into()
            }
            Self::Form { bytes, model: None } => bytes,
        }
    }

    fn bytes(self) -> Bytes {
        match self {
            Self::Json(body) => Value::Object(body).to_string().into(),
            Self::Form { bytes, .. } => bytes,
        }
    }
}
