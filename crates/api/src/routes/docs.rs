//! `/openapi.json` and `/docs`: the description of the routes, for programs and for people.

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use schemars::generate::SchemaGenerator;
use schemars::{Schema, json_schema};
use serde_json::Value;

use crate::{Access, Route, Routes};

pub(super) fn routes() -> Routes {
    let rows = [
        Route::get("/openapi.json", Access::Public, document)
            .summary("Get the OpenAPI document")
            .answers_json_as(any_object),
        Route::get("/docs", Access::Public, page)
            .summary("Show the OpenAPI document as a page")
            .tag("docs")
            .answers_text("text/html"),
    ];
    Routes::tagged("openapi.json", rows)
}

async fn document() -> Json<Value> {
    Json(super::openapi())
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// A page that shows the document. It is self-contained; nothing is loaded from elsewhere.
async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
        connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(include_str!("docs.html")))
}
