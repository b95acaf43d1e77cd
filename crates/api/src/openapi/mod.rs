//! `/openapi.json`: written from the table of routes, the types that they read and write, and one
//! line of words for each. A route cannot be left out: what is not described here is listed with
//! what the router itself knows of it.

mod accounts;
mod answers;
mod personas;
mod spaces;
mod table;

use std::borrow::Cow;
use std::collections::BTreeSet;

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::foreign::{Form, form_of};
use crate::problem::ProblemView;
use crate::routes::routes;
use crate::{Access, Route};
use table::{Answer, Doc};

/// A type's schema, made when the document is.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The description of every route.
pub fn openapi() -> Value {
    let mut writer = Writer::new();
    let mut paths = Map::new();
    let docs = table::docs();
    for route in routes().table() {
        let doc = docs.iter().find(|doc| (doc.method, doc.path) == (route.method, route.path));
        let operation = writer.operation(&route, doc);
        // The router writes the rest of a path as `{*name}`, which OpenAPI does not know.
        let path = route.path.replace("{*", "{");
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[route.method.to_lowercase()] = operation;
    }
    let problem = schema_of::<ProblemView<'static>>(&mut writer.written);
    let (schemas, clashing) = writer.schemas();
    for operation in paths.values_mut().flat_map(|path| path.as_object_mut()).flatten() {
        for read in ["requestBody", "parameters"] {
            if let Some(read) = operation.1.get_mut(read) {
                name_apart(read, &clashing);
            }
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Onyx",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A self-hosted home for a person's AI agents. Errors are \
                application/problem+json, except on the routes of other makers' clients.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {"Problem": {
                "description": "What went wrong, with a code and a hint",
                "content": {"application/problem+json": {"schema": problem}},
            }, "OpenAiError": {
                "description": "What went wrong, as OpenAI's clients expect it",
                "content": {"application/json": {"schema": answers::openai_error()}},
            }, "AnthropicError": {
                "description": "What went wrong, as Anthropic's clients expect it",
                "content": {"application/json": {"schema": answers::anthropic_error()}},
            }},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    })
}

/// What is read and what is written differ in what may be left out.
struct Writer {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Writer {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = Cow::Borrowed("/components/schemas");
                settings.meta_schema = None;
            })
        };
        Self {
            read: settings().for_deserialize().into_generator(),
            written: settings().for_serialize().into_generator(),
        }
    }

    /// All of them, and the names of those that are read in another form than they are written in:
    /// as they are read, these are called `<name>Input`.
    fn schemas(mut self) -> (Map<String, Value>, BTreeSet<String>) {
        let read = self.read.take_definitions(true);
        let mut schemas = self.written.take_definitions(true);
        let differs = |name: &String| schemas.get(name).is_some_and(|other| *other != read[name]);
        let mut clashing: BTreeSet<String> =
            read.keys().filter(|name| differs(name)).cloned().collect();
        // What holds such a one differs with it.
        loop {
            let holds = |name: &&String| {
                !clashing.contains(*name)
                    && schemas.contains_key(*name)
                    && clashing.iter().any(|clash| refers_to(&read[*name], clash))
            };
            let more: Vec<String> = read.keys().filter(holds).cloned().collect();
            if more.is_empty() {
                break;
            }
            clashing.extend(more);
        }
        for (name, mut schema) in read {
            name_apart(&mut schema, &clashing);
            bound(&mut schema);
            let name = if clashing.contains(&name) { format!("{name}Input") } else { name };
            schemas.insert(name, schema);
        }
        (schemas, clashing)
    }

    fn operation(&mut self, route: &Route, doc: Option<&Doc>) -> Value {
        let mut operation = Map::new();
        let summary = doc.map_or(route.path, |doc| doc.summary);
        operation.insert("summary".into(), summary.into());
        if doc.is_some_and(|doc| doc.deprecated) {
            operation.insert("deprecated".into(), true.into());
        }
        operation.insert("operationId".into(), operation_id(route).into());
        operation.insert("tags".into(), json!([tag(route.path)]));
        let mut parameters = path_parameters(route.path);
        if let Some(query) = doc.and_then(|doc| doc.query) {
            parameters.extend(self.query_parameters(query));
        }
        if !parameters.is_empty() {
            operation.insert("parameters".into(), parameters.into());
        }
        if let Some(body) = doc.and_then(|doc| doc.body) {
            let schema = body(&mut self.read);
            let content = json!({"application/json": {"schema": schema}});
            operation.insert("requestBody".into(), json!({"required": true, "content": content}));
        }
        operation.insert("responses".into(), self.responses(route, doc));
        let security = match route.access {
            Access::Public => json!([]),
            // The first frame may bring the credential, so the upgrade asks for none.
            Access::FirstFrame => json!([{"token": []}, {}]),
            // Every route takes it; only Anthropic's clients send it.
            _ if form_of(route.path) == Some(Form::Anthropic) => {
                json!([{"token": []}, {"key": []}])
            }
            _ => json!([{"token": []}]),
        };
        operation.insert("security".into(), security);
        operation.into()
    }

    fn responses(&mut self, route: &Route, doc: Option<&Doc>) -> Value {
        let mut responses = Map::new();
        match doc.map(|doc| &doc.answer) {
            Some(answer) => {
                let content = self.content(answer);
                let mut response = json!({"description": "Done"});
                if !content.is_empty() {
                    response["content"] = content.into();
                }
                responses.insert(answer.status().to_string(), response);
            }
            None => {
                responses.insert("2XX".into(), json!({"description": "Done"}));
            }
        }
        let name = match form_of(route.path) {
            Some(Form::OpenAi) => "OpenAiError",
            Some(Form::Anthropic) => "AnthropicError",
            None => "Problem",
        };
        let problem = json!({"$ref": format!("#/components/responses/{name}")});
        responses.insert("default".into(), problem);
        responses.into()
    }

    fn content(&mut self, answer: &Answer) -> Map<String, Value> {
        let mut content = Map::new();
        for (kind, schema) in answer.forms() {
            content.insert(kind.to_owned(), json!({"schema": schema(&mut self.written)}));
        }
        content
    }

    /// Each field of a query's type is a parameter. An absent one is not there, never null.
    fn query_parameters(&mut self, query: SchemaOf) -> Vec<Value> {
        let schema = query(&mut self.read);
        let value = match schema.get("$ref").and_then(Value::as_str) {
            Some(name) => {
                let name = name.rsplit('/').next().unwrap_or_default();
                self.read.definitions().get(name).cloned().unwrap_or_default()
            }
            None => schema.to_value(),
        };
        let required = value["required"].as_array().cloned().unwrap_or_default();
        let fields = value["properties"].as_object().cloned().unwrap_or_default();
        let parameter = |(name, mut schema): (String, Value)| {
            without_null(&mut schema);
            bound(&mut schema);
            let is_required = required.iter().any(|field| *field == name);
            json!({"name": name, "in": "query", "required": is_required, "schema": schema})
        };
        fields.into_iter().map(parameter).collect()
    }
}

fn refers_to(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            (key == "$ref" && value.as_str().is_some_and(|at| at.ends_with(&format!("/{name}"))))
                || refers_to(value, name)
        }),
        Value::Array(items) => items.iter().any(|item| refers_to(item, name)),
        _ => false,
    }
}

fn name_apart(schema: &mut Value, clashing: &BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = value.as_str().and_then(|at| at.rsplit('/').next());
                if key == "$ref" && name.is_some_and(|name| clashing.contains(name)) {
                    *value = format!("{}Input", value.as_str().unwrap_or_default()).into();
                } else {
                    name_apart(value, clashing);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_apart(item, clashing)),
        _ => {}
    }
}

/// Numbers end somewhere, which the schemas of Rust's types leave to their `format`.
fn bound(schema: &mut Value) {
    let largest = match schema["format"].as_str() {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint16") => Some(u64::from(u16::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some("uint" | "uint64") => Some(u64::MAX),
        _ => None,
    };
    if let (Some(largest), Some(object)) = (largest, schema.as_object_mut()) {
        object.entry("maximum").or_insert_with(|| largest.into());
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(bound),
        Value::Array(items) => items.iter_mut().for_each(bound),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = match kinds.as_slice() {
            [one] => one.clone(),
            _ => kinds.into(),
        };
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let forms: Vec<Value> =
            forms.iter().filter(|form| form["type"] != "null").cloned().collect();
        if let [one] = forms.as_slice() {
            *schema = one.clone();
        }
    }
    if let Some(object) = schema.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let name = name.trim_start_matches('*');
        let schema = parameter_schema(path, name);
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    };
    names.map(parameter).collect()
}

/// What the router takes as any text and the handler as something of its own.
fn parameter_schema(path: &str, name: &str) -> Value {
    let by_uuid = ["/v1/sessions/", "/api/runs/", "/api/admin/tokens/", "/api/pending-changes/"];
    let by_uuid = by_uuid.iter().any(|start| path.starts_with(start));
    match name {
        "id" if path.starts_with("/api/admin/people/") => {
            json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"})
        }
        "name" if path.starts_with("/api/admin/") => {
            json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"})
        }
        "id" if path.starts_with("/api/storage/personas/") => {
            json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"})
        }
        "tid" => json!({
            "type": "string",
            "pattern": r"^[^./\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]*$",
        }),
        "path" if path.starts_with("/v1/memory/files/") => json!({
            "type": "string",
            "pattern": "^(memory/[a-z0-9][a-z0-9_-]{0,63}|vault)/[A-Za-z0-9_-]{1,64}\\.md$",
        }),
        "id" if by_uuid => json!({"type": "string", "format": "uuid"}),
        "kind" if path.starts_with("/api/spaces/") => {
            json!({"enum": ["pages", "tasks", "refs", "projects"]})
        }
        "name" if path.contains("/files/") => {
            json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}\\.md$"})
        }
        _ => json!({"type": "string", "minLength": 1}),
    }
}

fn operation_id(route: &Route) -> String {
    let words = route.path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    format!("{}_{name}", route.method.to_lowercase())
}

fn tag(path: &str) -> &str {
    let mut pieces = path.split('/').skip(1);
    match (pieces.next(), pieces.next()) {
        (Some("v1" | "api"), Some(second)) => second,
        (first, _) => first.unwrap_or("/"),
    }
}

pub(crate) async fn serve() -> Json<Value> {
    Json(openapi())
}

/// A page that shows the document. Everything it needs is in it; nothing is loaded from elsewhere.
pub(crate) async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
        connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(include_str!("page.html")))
}
