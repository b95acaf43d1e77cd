//! The tools, resources and prompts that the suite expects, except those that ask the client.

use onyx_mcp::serving::{Refusal, Stop};
use serde_json::{Value, json};

/// A picture of one red pixel, as base64.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound with one silent sample, as base64.
const AUDIO: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const TOOLS: [&str; 29] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_error_handling",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_reconnection",
    "json_schema_2020_12_tool",
    "test_tool_a",
    "test_tool_b",
];

pub(crate) fn tools() -> Vec<Value> {
    let tool = |name: &&str| {
        let schema = match *name {
            "test_sampling" => text_argument("prompt"),
            "test_elicitation" => text_argument("message"),
            "json_schema_2020_12_tool" => whole_vocabulary(),
            _ => json!({"type": "object", "properties": {}}),
        };
        json!({"name": name, "description": format!("For {name}."), "inputSchema": schema})
    };
    TOOLS.iter().map(tool).collect()
}

fn text_argument(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn whole_vocabulary() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

pub(crate) fn text(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}]})
}

/// The result of a tool that answers at once; `None` for other tools.
pub(crate) fn result(tool: &str, params: &Value) -> Option<Value> {
    let image = json!({"type": "image", "data": IMAGE, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    let result = match tool {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => json!({"content": [image]}),
        "test_audio_content" => {
            json!({"content": [{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}]})
        }
        "test_embedded_resource" => json!({"content": [resource(
            "test://embedded-resource", "text/plain", "This is an embedded resource content.")]}),
        "test_multiple_content_types" => json!({"content": [
            {"type": "text", "text": "Multiple content types test:"},
            image,
            resource("test://mixed-content-resource", "application/json", "{\"value\":123}"),
        ]}),
        "test_error_handling" => json!({
            "content": [{"type": "text",
                "text": "This tool intentionally returns an error for testing"}],
            "isError": true,
        }),
        "test_trigger_tool_change"
        | "test_trigger_prompt_change"
        | "test_tool_a"
        | "test_tool_b"
        | "test_reconnection" => text("Done."),
        "json_schema_2020_12_tool" => text(&format!("Called with {}", params["arguments"])),
        _ => return None,
    };
    Some(result)
}

pub(crate) fn resources() -> Value {
    let resource = |uri: &str, name: &str, kind: &str| json!({"uri": uri, "name": name, "description": format!("{name}."), "mimeType": kind});
    json!([
        resource("test://static-text", "Static text", "text/plain"),
        resource("test://static-binary", "Static picture", "image/png"),
        resource("test://watched-resource", "Watched text", "text/plain"),
    ])
}

pub(crate) fn resource_templates() -> Value {
    json!([{"uriTemplate": "test://template/{id}/data", "name": "Template",
        "description": "By id.", "mimeType": "application/json"}])
}

pub(crate) fn resource(uri: &Value) -> Result<Value, Stop> {
    let Some(uri) = uri.as_str() else { return Err(Refusal::params("params.uri").into()) };
    let content = match uri {
        "test://static-text" => {
            json!({"uri": uri, "mimeType": "text/plain",
                "text": "This is the content of the static text resource."})
        }
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": IMAGE}),
        "test://watched-resource" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Watched resource content"})
        }
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|it| it.strip_suffix("/data"));
            let id = id.ok_or_else(|| Stop::NoSuchResource(uri.to_owned()))?;
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
    };
    Ok(json!({"contents": [content]}))
}

pub(crate) fn prompts() -> Value {
    let argument = |name: &str| json!({"name": name, "description": name, "required": true});
    json!([
        {"name": "test_simple_prompt", "description": "A simple prompt without arguments"},
        {"name": "test_prompt_with_arguments", "description": "With arguments",
            "arguments": [argument("arg1"), argument("arg2")]},
        {"name": "test_prompt_with_embedded_resource", "description": "With a resource",
            "arguments": [argument("resourceUri")]},
        {"name": "test_prompt_with_image", "description": "With a picture"},
        {"name": "test_input_required_result_prompt", "description": "Asks first"},
    ])
}

pub(crate) fn said(words: &str) -> Value {
    json!({"role": "user", "content": {"type": "text", "text": words}})
}

pub(crate) fn prompt(params: &Value) -> Result<Value, Stop> {
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default().to_owned();
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => json!([said("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            json!([said(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))])
        }
        "test_prompt_with_embedded_resource" => json!([
            {"role": "user", "content": {"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing."}}},
            said("Please process the embedded resource above."),
        ]),
        "test_prompt_with_image" => json!([
            {"role": "user", "content": {"type": "image", "data": IMAGE, "mimeType": "image/png"}},
            said("Please analyze the image above."),
        ]),
        _ => return Err(Refusal::params("there is no such prompt").into()),
    };
    Ok(json!({"messages": messages}))
}
