//! The spelling of fields in an answer. Every view has one set of fields; the client names the
//! spelling that it reads, and the serializer writes it.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use serde::Serialize;

use super::encode::CamelCase;
use crate::Problem;

/// The header by which a client asks for another spelling than the documented one.
pub(crate) const NAMES_HEADER: &str = "x-onyx-names";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldNames {
    /// The spelling in `/openapi.json`.
    #[default]
    Documented,
    /// The documented names in camelCase. Names that people, models and tools chose stay as they
    /// are.
    CamelCase,
}

impl FieldNames {
    pub(crate) fn asked_for(headers: &HeaderMap) -> Result<Self, Problem> {
        match headers.get(NAMES_HEADER).map(|value| value.as_bytes()) {
            None => Ok(Self::Documented),
            Some(b"camelCase") => Ok(Self::CamelCase),
            Some(_) => Err(Problem::field(NAMES_HEADER, "only `camelCase` is supported")),
        }
    }

    pub(crate) fn json(self, value: &impl Serialize) -> Vec<u8> {
        // Serialising plain data into memory cannot fail: every key is a string.
        match self {
            Self::Documented => serde_json::to_vec(value),
            Self::CamelCase => serde_json::to_vec(&CamelCase(value)),
        }
        .unwrap_or_default()
    }

    pub(crate) fn json_text(self, value: &impl Serialize) -> String {
        match self {
            Self::Documented => serde_json::to_string(value),
            Self::CamelCase => serde_json::to_string(&CamelCase(value)),
        }
        .unwrap_or_default()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for FieldNames {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::asked_for(&parts.headers)
    }
}
