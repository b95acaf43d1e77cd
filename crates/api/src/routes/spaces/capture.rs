//! `/api/spaces/{id}/capture`: saves content from outside as a ref of the space; it stays marked as
//! external.

use axum::extract::{Path, State};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use onyx_sources::{CapturedText, NewCapture, SourceError};
use onyx_storage::EntityChange;
use onyx_types::{EntityKind, Fault, Origin, one_line};
use schemars::JsonSchema;
use serde::Deserialize;

use super::entities::{check_title, made};
use super::find;
use crate::routes::sources::document_name;
use crate::wire::DocumentBody;
use crate::{ApiState, AuthContext, Problem};

/// Exactly one of `url`, `text`, and `data` with its `name`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CaptureRequest {
    /// An address that is fetched now.
    url: Option<String>,
    /// Markdown or plain text.
    text: Option<String>,
    /// A file (PDF, HTML, CSV, text, code) as base64.
    data: Option<String>,
    name: Option<String>,
    media_type: Option<String>,
    /// The document's own title if it is absent.
    title: Option<String>,
    tags: Option<Vec<String>>,
}

pub(super) async fn capture(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(space): Path<String>,
    DocumentBody(mut request): DocumentBody<CaptureRequest>,
) -> Result<Response, Problem> {
    let space = find(&state, &caller, &space).await?.id;
    let (title, tags) = (request.title.take(), request.tags.take());
    if let Some(title) = &title {
        check_title(title)?;
    }
    let captured = state.sources.capture(request.try_into()?).await.map_err(problem)?;
    let CapturedText { title: own_title, from, markdown } = captured;
    let title = title.unwrap_or_else(|| own_title.chars().take(200).collect());
    let change = EntityChange {
        title: Some(title),
        tags,
        fields: from.map(|from| ("source".to_owned(), one_line(&from))).into_iter().collect(),
        body: Some(markdown),
        ..EntityChange::default()
    };
    made(&state, &caller, &space, EntityKind::Ref, &change, Origin::External).await
}

impl TryFrom<CaptureRequest> for NewCapture {
    type Error = Problem;

    fn try_from(request: CaptureRequest) -> Result<Self, Problem> {
        match (request.url, request.text, request.data) {
            (Some(url), None, None) => Ok(Self::Url { url }),
            (None, Some(text), None) => Ok(Self::Text { text }),
            (None, None, Some(data)) => {
                let bytes =
                    BASE64_STANDARD.decode(data).map_err(|error| Problem::field("data", error))?;
                let name = request.name.filter(|name| !name.trim().is_empty());
                let name = name.ok_or_else(|| Problem::field("name", "a file needs a name"))?;
                let name = document_name(one_line(&name))?;
                Ok(Self::Upload { name, media_type: request.media_type, bytes })
            }
            _ => {
                let why = "give one of `url`, `text`, or `data` with its `name`";
                Err(Problem::field("url", why))
            }
        }
    }
}

fn problem(error: SourceError) -> Problem {
    match error {
        SourceError::Invalid { field, why } => Problem::field(field, why),
        SourceError::NotFound | SourceError::Store(_) => Fault::from(error).into(),
    }
}
