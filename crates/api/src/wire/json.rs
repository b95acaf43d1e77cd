//! Answers as JSON. A handler returns a value; it is written after the handler, when the client's
//! spelling of the fields is known.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::names::{FieldNames, NAMES_HEADER};

/// An answer in our format. Other makers' formats are written by `axum::Json`: they have one
/// spelling.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// A value on its way to [`write_json`].
#[derive(Clone)]
struct UnwrittenJson(Arc<dyn Write>);

trait Write: Send + Sync {
    fn write(&self, names: FieldNames) -> Vec<u8>;
}

impl<T: Serialize + Send + Sync> Write for T {
    fn write(&self, names: FieldNames) -> Vec<u8> {
        names.json(self)
    }
}

impl<T: Serialize + Send + Sync + 'static> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(UnwrittenJson(Arc::new(self.0)));
        response
    }
}

/// Runs around every handler and writes the value that it returns.
pub(crate) async fn write_json(
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let names = match FieldNames::asked_for(request.headers()) {
        Ok(names) => names,
        Err(problem) => return problem.into_response(),
    };
    let mut response = next(request).await;
    let Some(UnwrittenJson(value)) = response.extensions_mut().remove() else { return response };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.append(header::VARY, HeaderName::from_static(NAMES_HEADER).into());
    *response.body_mut() = Body::from(value.write(names));
    response
}
