//! `POST /v1/embeddings`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::media;
use super::sent::resolved;
use crate::wire::typed;
use crate::{Access, ApiState, AuthContext, Embedded, JsonBody, Problem, Route, Routes};

/// The most texts in one request, as at OpenAI.
const MOST_TEXTS: usize = 2_048;

pub(super) fn routes() -> Routes {
    let rows = [Route::post("/v1/embeddings", Access::Chat, create)
        .summary("Create embeddings")
        .body::<EmbeddingRequest>()
        .answers_json::<EmbeddingList>()];
    Routes::tagged("embeddings", rows)
}

#[derive(Deserialize, JsonSchema)]
struct EmbeddingRequest {
    model: String,
    input: Input,
    #[serde(default)]
    encoding_format: Encoding,
    dimensions: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Input {
    One(String),
    Many(Vec<String>),
    /// The form that some libraries use: numbers of OpenAI's own tokens.
    Tokens(#[allow(dead_code, reason = "passed on as it came")] Vec<u32>),
    ManyTokens(#[allow(dead_code, reason = "passed on as it came")] Vec<Vec<u32>>),
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Float,
    Base64,
}

#[derive(Serialize, JsonSchema)]
struct EmbeddingList {
    object: &'static str,
    data: Vec<Embedding>,
    model: String,
    usage: EmbeddingUsage,
}

#[derive(Serialize, JsonSchema)]
struct Embedding {
    object: &'static str,
    index: usize,
    embedding: Vector,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Vector {
    Numbers(Vec<f32>),
    /// Little-endian floats.
    Base64(String),
}

#[derive(Serialize, JsonSchema)]
struct EmbeddingUsage {
    prompt_tokens: u64,
    total_tokens: u64,
}

async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let request: EmbeddingRequest = typed(body.clone().into())?;
    let model = resolved(&state, &request.model)?;
    let texts = match request.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
        // Only a provider that knows the vocabulary can read these.
        Input::Tokens(_) | Input::ManyTokens(_) => {
            return media::embeddings(&state, &caller, &model, body).await;
        }
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS {
        return Err(Problem::field("input", format!("it must hold 1 to {MOST_TEXTS} texts")));
    }
    if let Some(empty) = texts.iter().position(|text| text.is_empty()) {
        return Err(Problem::field(format!("input[{empty}]"), "it is empty"));
    }
    let Embedded { vectors, usage } = state.upstream.embed(&caller.person, &model, texts).await?;
    let made = vectors.first().map_or(0, Vec::len);
    if let Some(wanted) = request.dimensions.filter(|wanted| *wanted != made) {
        let why = format!("this model creates vectors with {made} dimensions, not {wanted}");
        return Err(Problem::field("dimensions", why));
    }
    let data = vectors.into_iter().enumerate().map(|(index, vector)| Embedding {
        object: "embedding",
        index,
        embedding: match request.encoding_format {
            Encoding::Float => Vector::Numbers(vector),
            Encoding::Base64 => Vector::Base64(encoded(&vector)),
        },
    });
    let tokens = usage.input;
    let answer = Json(EmbeddingList {
        object: "list",
        data: data.collect(),
        model: request.model,
        usage: EmbeddingUsage { prompt_tokens: tokens, total_tokens: tokens },
    });
    Ok(answer.into_response())
}

fn encoded(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
