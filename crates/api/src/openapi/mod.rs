//! `/openapi.json`, written from the table of routes alone, which declares what each route reads,
//! answers and does. No single route is known here.

mod plain;

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use self::plain::{bound, plain_choices, without_boolean_schemas, without_null};
use crate::problem::ProblemView;
use crate::problem::{Form, anthropic_error_schema, form_of, openai_error_schema};
use crate::routing::{PathValue, Reply, SchemaOf, schema_of};
use crate::{Access, Route, Routes};

/// Makes the document for these routes.
pub(crate) fn document(routes: &Routes) -> Value {
    let mut writer = Writer::new();
    let mut paths = Map::new();
    for route in routes.table() {
        let operation = writer.operation(&route);
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
    let mut paths = Value::Object(paths);
    let mut schemas = Value::Object(schemas);
    let mut problem = problem.to_value();
    for part in [&mut paths, &mut schemas, &mut problem] {
        without_boolean_schemas(part);
        plain_choices(part);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Onyx",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A self-hosted home for a person's AI agents. Errors are \
                application/problem+json, except on the routes of other makers' clients. A request with \
                the header `x-onyx-names: camelCase` is answered in camelCase, on all but those.",
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
                "content": {"application/json": {"schema": openai_error_schema()}},
            }, "AnthropicError": {
                "description": "What went wrong, as Anthropic's clients expect it",
                "content": {"application/json": {"schema": anthropic_error_schema()}},
            }},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    })
}

/// There are two generators, because a field may be absent in requests and always present in
/// answers.
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

    /// All schemas, and the names of those that differ between requests and answers. The schema for
    /// requests is then named `<name>Input`.
    fn schemas(mut self) -> (Map<String, Value>, BTreeSet<String>) {
        let read = self.read.take_definitions(true);
        let mut schemas = self.written.take_definitions(true);
        let differs = |name: &String| schemas.get(name).is_some_and(|other| *other != read[name]);
        let mut clashing: BTreeSet<String> =
            read.keys().filter(|name| differs(name)).cloned().collect();
        // A schema that refers to a differing schema differs too.
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

    fn operation(&mut self, route: &Route) -> Value {
        let description = &route.description;
        let mut operation = Map::new();
        operation.insert("summary".into(), description.summary.into());
        if description.deprecated {
            operation.insert("deprecated".into(), true.into());
        }
        operation.insert("operationId".into(), operation_id(route).into());
        operation.insert("tags".into(), json!(description.tag.as_slice()));
        let mut parameters = path_parameters(route);
        if let Some(query) = description.query {
            parameters.extend(self.query_parameters(query));
        }
        if !parameters.is_empty() {
            operation.insert("parameters".into(), parameters.into());
        }
        if let Some(body) = description.body {
            let schema = body(&mut self.read);
            let content = json!({"application/json": {"schema": schema}});
            operation.insert("requestBody".into(), json!({"required": true, "content": content}));
        }
        operation.insert("responses".into(), self.responses(route));
        let security = match route.access {
            Access::Public => json!([]),
            // The first frame may carry the credential, so the upgrade requires none.
            Access::FirstFrame => json!([{"token": []}, {}]),
            // Every route accepts the key header, but only Anthropic's clients send it.
            _ if form_of(route.path) == Some(Form::Anthropic) => {
                json!([{"token": []}, {"key": []}])
            }
            _ => json!([{"token": []}]),
        };
        operation.insert("security".into(), security);
        operation.into()
    }

    fn responses(&mut self, route: &Route) -> Value {
        let mut responses = Map::new();
        let content = self.content(&route.reply);
        let mut response = json!({"description": "Done"});
        if !content.is_empty() {
            response["content"] = content.into();
        }
        responses.insert(route.reply.status.to_string(), response);
        if route.reply.or_nothing {
            responses.insert("204".into(), json!({"description": "Nothing to return"}));
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

    fn content(&mut self, reply: &Reply) -> Map<String, Value> {
        let mut content = Map::new();
        for (kind, schema) in &reply.forms {
            content.insert((*kind).to_owned(), json!({"schema": schema(&mut self.written)}));
        }
        content
    }

    /// Each field of a query's type becomes a parameter. A missing parameter is absent, never null.
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

fn path_parameters(route: &Route) -> Vec<Value> {
    let parameter = |name: &str| {
        let value = route.description.path_values.iter().find(|(of, _)| *of == name);
        let schema = value.map_or(PathValue::Text, |(_, value)| *value).schema();
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    };
    route.path_names().map(parameter).collect()
}

fn operation_id(route: &Route) -> String {
    let words = route.path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    format!("{}_{name}", route.method.to_lowercase())
}
