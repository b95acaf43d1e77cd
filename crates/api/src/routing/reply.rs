//! The successful answer of a route: the last part of its declaration.

use schemars::JsonSchema;

use super::{DeclaredRoute, DescribedRoute, SchemaOf, schema_of};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const LINES: &str = "application/x-ndjson";

/// A status, and the content in each form that a request can ask for.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) forms: Vec<(&'static str, SchemaOf)>,
    /// The route may also have nothing to return, and then answers 204.
    pub(crate) or_nothing: bool,
}

impl DescribedRoute {
    pub(crate) fn answers_json<T: JsonSchema>(self) -> DeclaredRoute {
        self.answers_json_as(schema_of::<T>)
    }

    /// For an answer without its own Rust type, such as one in another maker's format.
    pub(crate) fn answers_json_as(self, schema: SchemaOf) -> DeclaredRoute {
        self.answers(200, vec![(JSON, schema)])
    }

    /// The route answers with the whole of what it created.
    pub(crate) fn answers_created<T: JsonSchema>(self) -> DeclaredRoute {
        self.answers(201, vec![(JSON, schema_of::<T>)])
    }

    pub(crate) fn answers_nothing(self) -> DeclaredRoute {
        self.answers(204, Vec::new())
    }

    /// The connection switches to another protocol after the answer.
    pub(crate) fn switches_protocols(self) -> DeclaredRoute {
        self.answers(101, Vec::new())
    }

    pub(crate) fn answers_text(self, kind: &'static str) -> DeclaredRoute {
        self.answers_texts(&[kind])
    }

    /// The route answers with text of the kind that the request asks for.
    pub(crate) fn answers_texts(self, kinds: &[&'static str]) -> DeclaredRoute {
        let forms = kinds.iter().map(|kind| (*kind, schema_of::<String> as SchemaOf)).collect();
        self.answers(200, forms)
    }

    /// The route answers with a stream of server-sent events.
    pub(crate) fn answers_events<T: JsonSchema>(self) -> DeclaredRoute {
        self.answers_events_as(schema_of::<T>)
    }

    pub(crate) fn answers_events_as(self, event: SchemaOf) -> DeclaredRoute {
        self.answers(200, vec![(EVENTS, event)])
    }

    /// The route answers with a stream of server-sent events, or with 204 if there is nothing to
    /// wait for.
    pub(crate) fn answers_events_or_nothing(self, event: SchemaOf) -> DeclaredRoute {
        self.declared(Reply { status: 200, forms: vec![(EVENTS, event)], or_nothing: true })
    }

    /// The route answers with one JSON object per line.
    pub(crate) fn answers_lines<T: JsonSchema>(self) -> DeclaredRoute {
        self.answers(200, vec![(LINES, schema_of::<T>)])
    }

    /// The route answers with one JSON document, or with progress lines of one JSON object each.
    pub(crate) fn answers_json_or_lines<T: JsonSchema, Line: JsonSchema>(self) -> DeclaredRoute {
        self.answers(200, vec![(JSON, schema_of::<T>), (LINES, schema_of::<Line>)])
    }

    /// The route answers with one JSON document or a stream of events, as the request asks.
    pub(crate) fn answers_json_or_events(self, whole: SchemaOf, event: SchemaOf) -> DeclaredRoute {
        self.answers(200, vec![(JSON, whole), (EVENTS, event)])
    }

    fn answers(self, status: u16, forms: Vec<(&'static str, SchemaOf)>) -> DeclaredRoute {
        self.declared(Reply { status, forms, or_nothing: false })
    }
}
