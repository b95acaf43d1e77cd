//! Encodes answers as OpenAI responses.

use bytes::Bytes;
use onyx_types::{ErrorCode, Fault, Usage};
use serde_json::{Map, Value, json};

use super::parts::{AnswerPart, Finish};
use super::whole_answer::WholeAnswer;
use super::{AnswerHead, AnswerWriter, ToolForm, named_frame, openai_total};
use crate::problem::{openai_code, sentence};
use crate::wire::CUSTOM_INPUT;

const REPEATED: [&str; 10] = [
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "user",
];

/// Encodes a stream, from `response.created` to `response.completed`, `response.incomplete` or
/// `response.failed`.
#[derive(Debug)]
pub struct ResponseEvents {
    head: AnswerHead,
    sequence: u64,
    /// Completed items.
    output: Vec<Value>,
    /// The current text item.
    text: Option<String>,
}

impl ResponseEvents {
    pub fn new(head: AnswerHead) -> Self {
        Self { head, sequence: 0, output: Vec::new(), text: None }
    }

    /// The settings of a request that its answer repeats, as they apply here.
    pub fn echo(request: &Map<String, Value>) -> Map<String, Value> {
        let given = |name: &str| request.get(name).filter(|value| !value.is_null());
        let repeated = REPEATED.iter().filter_map(|name| {
            let value = given(name)?.clone();
            Some(((*name).to_owned(), value))
        });
        let mut echo: Map<String, Value> = repeated.collect();
        for tool in echo.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(tool) = tool.as_object_mut() {
                tool.entry("parameters").or_insert(Value::Null);
                tool.entry("strict").or_insert_with(|| false.into());
            }
        }
        echo
    }

    pub fn whole(head: &AnswerHead, answer: &WholeAnswer) -> Value {
        let mut output = Vec::new();
        if !answer.text.is_empty() {
            output.push(text_item(head, output.len(), &answer.text, "completed"));
        }
        for (id, name, arguments) in &answer.calls {
            let call = Call { id: &id.0, name, arguments };
            output.push(call.item(head, output.len(), Progress::Done));
        }
        response(head, &output, &ending(answer.finish), Some(&answer.usage))
    }

    fn event(&mut self, kind: &str, fields: Value) -> Bytes {
        let mut body = Map::new();
        body.insert("type".into(), kind.into());
        body.insert("sequence_number".into(), self.sequence.into());
        self.sequence += 1;
        if let Value::Object(fields) = fields {
            body.extend(fields);
        }
        named_frame(&body.into())
    }

    fn open_text(&mut self, frames: &mut Vec<Bytes>) {
        if self.text.is_some() {
            return;
        }
        let index = self.output.len();
        let mut item = text_item(&self.head, index, "", "in_progress");
        item["content"] = json!([]);
        let id = item["id"].clone();
        let added = json!({"output_index": index, "item": item});
        frames.push(self.event("response.output_item.added", added));
        let part = json!({"item_id": id, "output_index": index, "content_index": 0,
            "part": text_part("")});
        frames.push(self.event("response.content_part.added", part));
        self.text = Some(String::new());
    }

    fn close_text(&mut self, status: &str, frames: &mut Vec<Bytes>) {
        let Some(text) = self.text.take() else { return };
        let index = self.output.len();
        let item = text_item(&self.head, index, &text, status);
        let id = item["id"].clone();
        let done = json!({"item_id": id, "output_index": index, "content_index": 0,
            "text": text, "logprobs": []});
        frames.push(self.event("response.output_text.done", done));
        let part = json!({"item_id": id, "output_index": index, "content_index": 0,
            "part": text_part(&text)});
        frames.push(self.event("response.content_part.done", part));
        self.close_item(index, item, frames);
    }

    fn close_item(&mut self, index: usize, item: Value, frames: &mut Vec<Bytes>) {
        let done = json!({"output_index": index, "item": item});
        frames.push(self.event("response.output_item.done", done));
        self.output.push(item);
    }

    fn call(&mut self, call: &Call<'_>, frames: &mut Vec<Bytes>) {
        let index = self.output.len();
        let open = call.item(&self.head, index, Progress::Begun);
        let item_id = open["id"].clone();
        let added = json!({"output_index": index, "item": open});
        frames.push(self.event("response.output_item.added", added));
        let name = call.name;
        if self.head.forms.of(name) == Some(&ToolForm::Custom) {
            let input = call.text();
            let delta = json!({"item_id": item_id, "output_index": index, "delta": input});
            frames.push(self.event("response.custom_tool_call_input.delta", delta));
            let done = json!({"item_id": item_id, "output_index": index, "input": input});
            frames.push(self.event("response.custom_tool_call_input.done", done));
        } else {
            let arguments = call.arguments.to_string();
            let delta = json!({"item_id": item_id, "output_index": index, "delta": arguments});
            frames.push(self.event("response.function_call_arguments.delta", delta));
            let done = json!({"item_id": item_id, "output_index": index, "name": open["name"],
                "arguments": arguments});
            frames.push(self.event("response.function_call_arguments.done", done));
        }
        let item = call.item(&self.head, index, Progress::Done);
        self.close_item(index, item, frames);
    }
}

impl AnswerWriter for ResponseEvents {
    fn write(&mut self, part: &AnswerPart) -> Vec<Bytes> {
        let mut frames = Vec::new();
        match part {
            AnswerPart::Begin => {
                let begun = response(&self.head, &[], &Ending::IN_PROGRESS, None);
                let body = json!({"response": begun});
                frames.push(self.event("response.created", body.clone()));
                frames.push(self.event("response.in_progress", body));
            }
            AnswerPart::Text(text) => {
                self.open_text(&mut frames);
                let index = self.output.len();
                let delta = json!({"item_id": item_id(&self.head, "msg", index),
                    "output_index": index, "content_index": 0, "delta": text, "logprobs": []});
                frames.push(self.event("response.output_text.delta", delta));
                if let Some(whole) = &mut self.text {
                    whole.push_str(text);
                }
            }
            // The format has a place for summaries of reasoning only, and ours is not a summary.
            AnswerPart::Reasoning(_) => {}
            AnswerPart::Call { id, name, arguments } => {
                self.close_text("completed", &mut frames);
                self.call(&Call { id: &id.0, name, arguments }, &mut frames);
            }
            AnswerPart::End { finish, usage } => {
                let ending = ending(*finish);
                self.close_text(ending.status, &mut frames);
                let body = response(&self.head, &self.output, &ending, Some(usage));
                frames.push(self.event(ending.event, json!({"response": body})));
            }
            AnswerPart::Failed(fault) => {
                self.close_text("incomplete", &mut frames);
                let failed = Ending { error: error(fault), ..Ending::FAILED };
                let body = response(&self.head, &self.output, &failed, None);
                frames.push(self.event(failed.event, json!({"response": body})));
            }
        }
        frames
    }
}

/// The status of a response.
struct Ending {
    event: &'static str,
    status: &'static str,
    error: Value,
    incomplete: Value,
}

impl Ending {
    const IN_PROGRESS: Self = Self::plain("response.in_progress", "in_progress");
    const FAILED: Self = Self::plain("response.failed", "failed");

    const fn plain(event: &'static str, status: &'static str) -> Self {
        Self { event, status, error: Value::Null, incomplete: Value::Null }
    }
}

fn ending(finish: Finish) -> Ending {
    match finish {
        Finish::Stop | Finish::ToolCalls => Ending::plain("response.completed", "completed"),
        Finish::Length => Ending {
            incomplete: json!({"reason": "max_output_tokens"}),
            ..Ending::plain("response.incomplete", "incomplete")
        },
    }
}

/// The format has its own codes, and clients in typed languages know no others.
fn error(fault: &Fault) -> Value {
    let code = match (fault.code, fault.code.http_status()) {
        // With this code clients shorten the conversation and try again.
        (ErrorCode::ProviderContextLength | ErrorCode::LimitPrompt, _) => openai_code(fault),
        (_, 429) => "rate_limit_exceeded".to_owned(),
        (_, 400..=499) => "invalid_prompt".to_owned(),
        _ => "server_error".to_owned(),
    };
    json!({"code": code, "message": format!("{} ({})", sentence(fault), fault.code)})
}

fn response(head: &AnswerHead, output: &[Value], ending: &Ending, usage: Option<&Usage>) -> Value {
    let mut body = Map::new();
    body.insert("id".into(), format!("resp_{}", head.id).into());
    body.insert("object".into(), "response".into());
    body.insert("created_at".into(), head.created.into());
    body.insert("status".into(), ending.status.into());
    body.insert("error".into(), ending.error.clone());
    body.insert("incomplete_details".into(), ending.incomplete.clone());
    body.insert("instructions".into(), Value::Null);
    body.insert("metadata".into(), json!({}));
    body.insert("model".into(), head.model.clone().into());
    body.insert("output".into(), output.to_vec().into());
    body.insert("parallel_tool_calls".into(), true.into());
    body.insert("temperature".into(), Value::Null);
    body.insert("tool_choice".into(), "auto".into());
    body.insert("tools".into(), json!([]));
    body.insert("top_p".into(), Value::Null);
    for (name, value) in &head.echo {
        body.insert(name.clone(), value.clone());
    }
    body.insert("usage".into(), usage.map_or(Value::Null, usage_view));
    if let Some(session) = &head.session {
        body.insert("x-onyx-session-id".into(), session.clone().into());
    }
    body.into()
}

fn item_id(head: &AnswerHead, kind: &str, index: usize) -> String {
    format!("{kind}_{}_{index}", head.id)
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn text_item(head: &AnswerHead, index: usize, text: &str, status: &str) -> Value {
    json!({
        "type": "message",
        "id": item_id(head, "msg", index),
        "status": status,
        "role": "assistant",
        "content": [text_part(text)],
    })
}

/// A call of a tool that the client has to run.
struct Call<'a> {
    id: &'a str,
    /// The tool's name for the model.
    name: &'a str,
    arguments: &'a Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Begun,
    Done,
}

impl Call<'_> {
    fn text(&self) -> &str {
        self.arguments[CUSTOM_INPUT].as_str().unwrap_or_default()
    }

    /// The call in the form in which the client gave the tool.
    fn item(&self, head: &AnswerHead, index: usize, progress: Progress) -> Value {
        let done = progress == Progress::Done;
        let status = if done { "completed" } else { "in_progress" };
        let form = head.forms.of(self.name);
        if form == Some(&ToolForm::Custom) {
            return json!({
                "type": "custom_tool_call",
                "id": item_id(head, "ctc", index),
                "call_id": self.id,
                "name": self.name,
                "input": if done { self.text() } else { "" },
                "status": status,
            });
        }
        let arguments = if done { self.arguments.to_string() } else { String::new() };
        let mut item = json!({
            "type": "function_call",
            "id": item_id(head, "fc", index),
            "call_id": self.id,
            "name": self.name,
            "arguments": arguments,
            "status": status,
        });
        if let Some(ToolForm::Namespaced { namespace, name }) = form {
            item["name"] = name.as_str().into();
            item["namespace"] = namespace.as_str().into();
        }
        item
    }
}

fn usage_view(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": openai_total(usage),
    })
}
