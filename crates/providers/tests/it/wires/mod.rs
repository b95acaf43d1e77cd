//! Every wire is tested in the same way: faults, cuts, and histories that change wires.

mod anthropic;
mod encoding;
mod gemini;
mod matrix;
mod names;
mod ollama;
mod responses;
mod switching;

use crate::support::model_with;
use onyx_providers::wire::{BodyForm, CalledModel, Compat, Decoder};
use onyx_test_support::{ScriptedModel, Wire};
use onyx_types::{Model, ModelEvent, ToolUseId};
use serde_json::{Value, json};
use std::sync::Arc;

/// The wire under test that the scripted server's wire stands for.
fn own(wire: Wire) -> onyx_providers::wire::Wire {
    match wire {
        Wire::OpenAiChat => onyx_providers::wire::Wire::OpenAiChat,
        Wire::OpenAiResponses => onyx_providers::wire::Wire::OpenAiResponses,
        Wire::Anthropic => onyx_providers::wire::Wire::Anthropic,
        Wire::Gemini => onyx_providers::wire::Wire::Gemini,
        Wire::Ollama => onyx_providers::wire::Wire::Ollama,
    }
}

fn kind(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenAiChat => "openai",
        Wire::OpenAiResponses => "openai-responses",
        Wire::Anthropic => "anthropic",
        Wire::Gemini => "gemini",
        Wire::Ollama => "ollama",
    }
}

/// A model on this wire, without retries.
fn model(wire: Wire, server: &ScriptedModel, more: Value) -> Arc<dyn Model> {
    let mut settings = json!({"kind": kind(wire), "baseUrl": server.base_url_of(wire)});
    for (key, value) in more.as_object().expect("an object") {
        settings[key] = value.clone();
    }
    model_with(server, settings)
}

fn called_model(id: &str) -> CalledModel {
    CalledModel {
        reasons: false,
        id: id.to_owned(),
        model: id.split_once('/').expect("an id has a provider").1.to_owned(),
        context_window: None,
        max_output_tokens: None,
        compat: Compat::default(),
    }
}

fn decoder(wire: Wire, form: BodyForm) -> Box<dyn Decoder> {
    own(wire).decoder(form, &called_model("mine/some-model"))
}

fn decode(wire: Wire, form: BodyForm, bytes: &[u8]) -> Vec<ModelEvent> {
    let mut decoder = decoder(wire, form);
    let mut events = decoder.push(bytes);
    events.extend(decoder.end());
    assert!(decoder.push(bytes).is_empty() && decoder.end().is_empty(), "more after the end");
    events
}

fn start(index: u32, id: &str, name: &str) -> ModelEvent {
    ModelEvent::ToolCallStart { index, id: ToolUseId(id.into()), name: name.into() }
}

fn piece(index: u32, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCallDelta { index, arguments: arguments.into() }
}

fn end(index: u32, id: &str, name: &str, arguments: Value, data: Option<Value>) -> ModelEvent {
    ModelEvent::ToolCallEnd {
        index,
        id: ToolUseId(id.into()),
        name: name.into(),
        arguments,
        provider_data: data,
    }
}
