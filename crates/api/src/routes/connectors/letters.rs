use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_connectors::DeadLetterView;
use onyx_storage::LetterKind;
use onyx_types::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::key;
use crate::wire::Json;
use crate::{ApiState, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct LetterList {
    dead_letters: Vec<LetterJson>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LetterJson {
    /// `in-…` for a message that could not be answered, `out-…` for one that did not arrive.
    id: String,
    peer: String,
    /// Whether it may have arrived.
    unknown: bool,
    text: String,
    why: String,
    #[schemars(with = "String")]
    at: Timestamp,
}

impl From<DeadLetterView> for LetterJson {
    fn from(letter: DeadLetterView) -> Self {
        let kind = match letter.kind {
            LetterKind::In => "in",
            LetterKind::Out => "out",
        };
        Self {
            id: format!("{kind}-{}", letter.id),
            peer: letter.peer,
            unknown: letter.is_unknown,
            text: letter.text,
            why: letter.why,
            at: letter.at,
        }
    }
}

fn parse(id: &str) -> Result<(LetterKind, i64), Problem> {
    let wrong = || Problem::field("id", "it must look like `in-7` or `out-7`");
    let (kind, number) = id.split_once('-').ok_or_else(wrong)?;
    let kind = match kind {
        "in" => LetterKind::In,
        "out" => LetterKind::Out,
        _ => return Err(wrong()),
    };
    Ok((kind, number.parse().map_err(|_| wrong())?))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
) -> Result<Json<LetterList>, Problem> {
    let letters = state.connectors.dead_letters(&key(network, account)?).await?;
    Ok(Json(LetterList { dead_letters: letters.into_iter().map(LetterJson::from).collect() }))
}

pub(crate) async fn retry(
    State(state): State<ApiState>,
    Path((network, account, id)): Path<(String, String, String)>,
) -> Result<StatusCode, Problem> {
    let (kind, id) = parse(&id)?;
    state.connectors.retry_letter(&key(network, account)?, kind, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path((network, account, id)): Path<(String, String, String)>,
) -> Result<StatusCode, Problem> {
    let (kind, id) = parse(&id)?;
    state.connectors.drop_letter(&key(network, account)?, kind, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
