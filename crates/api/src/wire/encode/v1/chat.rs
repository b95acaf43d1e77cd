//! Encodes answers as OpenAI chat completions.

use bytes::Bytes;
use onyx_types::Usage;
use serde_json::{Map, Value, json};

use super::parts::{AnswerPart, Finish};
use super::whole_answer::WholeAnswer;
use super::{AnswerHead, AnswerWriter, StreamUsage, ToolForm, data_frame, openai_total};
use crate::problem::openai_error;
use crate::wire::CUSTOM_INPUT;

/// `chat.completion.chunk` frames and `[DONE]`.
#[derive(Debug)]
pub struct ChatChunks {
    head: AnswerHead,
    calls: u32,
    begun: bool,
    /// A function was called in the older form, without tools.
    legacy: bool,
}

impl ChatChunks {
    pub fn new(head: AnswerHead) -> Self {
        Self { head, calls: 0, begun: false, legacy: false }
    }

    /// The whole answer as one `chat.completion`.
    pub fn whole(head: &AnswerHead, answer: &WholeAnswer) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        let silent = answer.text.is_empty() && !answer.calls.is_empty();
        let content = if silent { Value::Null } else { answer.text.clone().into() };
        message.insert("content".into(), content);
        message.insert("refusal".into(), Value::Null);
        if !answer.reasoning.is_empty() {
            message.insert("reasoning_content".into(), answer.reasoning.clone().into());
        }
        let mut calls = Vec::new();
        for (id, name, arguments) in &answer.calls {
            match head.forms.of(name) {
                Some(ToolForm::Legacy) => {
                    message.insert("function_call".into(), function(name, arguments));
                }
                form => calls.push(call(form, &id.0, name, arguments)),
            }
        }
        if !calls.is_empty() {
            message.insert("tool_calls".into(), calls.into());
        }
        let choice = json!({
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_name(answer.finish, answer.calls.iter().any(|(_, name, _)| is_legacy(head, name))),
        });
        let mut body = base(head, "chat.completion");
        body.insert("choices".into(), json!([choice]));
        body.insert("usage".into(), usage_view(&answer.usage));
        body.into()
    }

    fn chunk(&self, delta: &Value, finish: Option<Finish>) -> Bytes {
        let choice = json!({
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish.map(|finish| finish_name(finish, self.legacy)),
        });
        self.frame(json!([choice]), None)
    }

    fn frame(&self, choices: Value, usage: Option<&Usage>) -> Bytes {
        let mut body = base(&self.head, "chat.completion.chunk");
        if self.begun {
            body.shift_remove(SESSION);
        }
        body.insert("choices".into(), choices);
        if self.head.usage == StreamUsage::Told {
            body.insert("usage".into(), usage.map_or(Value::Null, usage_view));
        }
        data_frame(&body.into())
    }
}

impl AnswerWriter for ChatChunks {
    fn write(&mut self, part: &AnswerPart) -> Vec<Bytes> {
        match part {
            AnswerPart::Begin => {
                let first = self.chunk(&json!({"role": "assistant", "content": ""}), None);
                self.begun = true;
                vec![first]
            }
            AnswerPart::Text(text) => vec![self.chunk(&json!({"content": text}), None)],
            AnswerPart::Reasoning(text) => {
                vec![self.chunk(&json!({"reasoning_content": text}), None)]
            }
            AnswerPart::Call { name, arguments, .. } if is_legacy(&self.head, name) => {
                self.legacy = true;
                vec![self.chunk(&json!({"function_call": function(name, arguments)}), None)]
            }
            AnswerPart::Call { id, name, arguments } => {
                let mut indexed = Map::new();
                indexed.insert("index".into(), self.calls.into());
                if let Value::Object(call) = call(self.head.forms.of(name), &id.0, name, arguments)
                {
                    indexed.extend(call);
                }
                self.calls += 1;
                vec![self.chunk(&json!({"tool_calls": [indexed]}), None)]
            }
            AnswerPart::End { finish, usage } => {
                let mut frames = vec![self.chunk(&json!({}), Some(*finish))];
                if self.head.usage == StreamUsage::Told {
                    frames.push(self.frame(json!([]), Some(usage)));
                }
                frames.push(DONE);
                frames
            }
            AnswerPart::Failed(fault) => vec![data_frame(&openai_error(fault, None)), DONE],
        }
    }
}

const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");
const SESSION: &str = "x-onyx-session-id";

fn base(head: &AnswerHead, object: &str) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("id".into(), format!("chatcmpl-{}", head.id).into());
    body.insert("object".into(), object.into());
    body.insert("created".into(), head.created.into());
    body.insert("model".into(), head.model.clone().into());
    if let Some(session) = &head.session {
        body.insert(SESSION.into(), session.clone().into());
    }
    body
}

fn is_legacy(head: &AnswerHead, name: &str) -> bool {
    head.forms.of(name) == Some(&ToolForm::Legacy)
}

fn function(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments.to_string()})
}

fn call(form: Option<&ToolForm>, id: &str, name: &str, arguments: &Value) -> Value {
    match form {
        Some(ToolForm::Custom) => {
            let input = arguments[CUSTOM_INPUT].as_str().unwrap_or_default();
            json!({"id": id, "type": "custom", "custom": {"name": name, "input": input}})
        }
        Some(ToolForm::Legacy | ToolForm::Namespaced { .. }) | None => {
            json!({"id": id, "type": "function", "function": function(name, arguments)})
        }
    }
}

const fn finish_name(finish: Finish, legacy: bool) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls if legacy => "function_call",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
    }
}

fn usage_view(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": openai_total(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}
