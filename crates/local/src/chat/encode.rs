//! Turns a request into the input of a chat template.

use onyx_providers::wire::unsupported;
use onyx_types::{
    Block, CallsAtOnce, Message, ModelFailure, ModelRequest, ResponseFormat, Role, ToolChoice,
};
use serde_json::{Value, json};

use crate::worker::{Chat, ChatMessage};

/// What a model is capable of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    /// A short prompt and no tools: reading more would take the model longer than a person waits,
    /// and the model would not understand it.
    SmallTalk,
    /// Everything except tools.
    Chat,
    Tools,
}

/// A very small model takes seconds to read a longer prompt.
const MAX_SMALL_TALK_PROMPT: usize = 600;

/// The whole system prompt of a very small model. With a name or a request for brevity in it,
/// SmolLM2 no longer knew the capital of France.
const SHORT_PROMPT: &str = "You are a helpful AI assistant.";

/// The longest answer of a very small model; a longer one is no longer useful.
const SMALL_TALK_TOKENS: u32 = 512;

pub(crate) fn encode(request: &ModelRequest, ability: Ability) -> Result<Chat, ModelFailure> {
    let tool_use = &request.tool_use;
    if tool_use.choice.is_forced() {
        let why = "models that run on this machine cannot be made to call a tool";
        return Err(unsupported("tool_choice", why));
    }
    if tool_use.at_once == CallsAtOnce::One {
        let why = "models that run on this machine cannot be told to call one tool at a time";
        return Err(unsupported("parallel_tool_calls", why));
    }
    let blocks: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    let mut system = blocks.join("\n\n");
    if ability == Ability::SmallTalk && system.len() > MAX_SMALL_TALK_PROMPT {
        SHORT_PROMPT.clone_into(&mut system);
    }
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(plain("system", system));
    }
    for message in &*request.messages {
        push(&mut messages, message, ability);
    }
    let most = match ability {
        Ability::SmallTalk => SMALL_TALK_TOKENS,
        Ability::Chat | Ability::Tools => u32::MAX,
    };
    Ok(Chat {
        messages,
        tools: match ability {
            Ability::Tools if tool_use.choice != ToolChoice::None => {
                request.tools.iter().map(tool).collect()
            }
            Ability::Tools | Ability::SmallTalk | Ability::Chat => Vec::new(),
        },
        schema: request.response_format.as_ref().map(|format| match format {
            ResponseFormat::JsonObject => json!({"type": "object"}),
            ResponseFormat::JsonSchema { schema, .. } => schema.clone(),
        }),
        max_tokens: request.max_output_tokens.clamp(1, most),
        temperature: request.temperature.unwrap_or(0.0),
    })
}

fn tool(offer: &onyx_types::ToolOffer) -> Value {
    json!({"type": "function", "function": {
        "name": offer.name,
        "description": offer.description,
        "parameters": &*offer.input_schema,
    }})
}

fn plain(role: &str, content: String) -> ChatMessage {
    ChatMessage { role: role.to_owned(), content, tool_calls: Vec::new() }
}

fn push(messages: &mut Vec<ChatMessage>, message: &Message, ability: Ability) {
    let mut texts: Vec<&str> = Vec::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text { text } if ability == Ability::SmallTalk => texts.push(without_time(text)),
            Block::Text { text } => texts.push(text),
            Block::Image { .. } => texts.push("[an image, which this model cannot see]"),
            Block::Attachment(_) => texts.push("[a document, which this model cannot read]"),
            Block::ToolUse { name, input, .. } if ability == Ability::Tools => {
                calls.push(json!({"type": "function", "function": {
                    "name": name, "arguments": input,
                }}));
            }
            Block::ToolResult { content, .. } if ability == Ability::Tools => {
                messages.push(plain("tool", content.clone()));
            }
            // A model that can neither call nor think has no use for the calls and reasoning of
            // another one.
            Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Reasoning { .. } => {}
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    messages.push(ChatMessage { tool_calls: calls, ..plain(role, texts.join("\n")) });
}

/// Removes the time before a person's words: a very small model takes the time for a part of the
/// question, and its answer would change each minute.
fn without_time(text: &str) -> &str {
    const SHAPE: &[u8] = b"[0000-00-00T00:00Z] ";
    let fits = |(found, shape): (u8, &u8)| match shape {
        b'0' => found.is_ascii_digit(),
        mark => found == *mark,
    };
    let stamped = text.len() >= SHAPE.len() && text.bytes().zip(SHAPE).all(fits);
    if stamped { &text[SHAPE.len()..] } else { text }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use onyx_types::{SystemBlock, ToolOffer, ToolUseId};

    use super::*;

    fn system(text: &str) -> Arc<[SystemBlock]> {
        [SystemBlock { text: text.to_owned(), stable: true }].into()
    }

    fn request() -> ModelRequest {
        let use_of = Block::ToolUse {
            id: ToolUseId("1".to_owned()),
            name: "read".to_owned(),
            input: json!({"path": "a"}),
            provider_data: None,
        };
        let result = Block::ToolResult {
            id: ToolUseId("1".to_owned()),
            content: "text of a".to_owned(),
            is_error: false,
        };
        ModelRequest {
            system: system("A prompt."),
            messages: Arc::new(vec![
                Message::user("Read a."),
                Message { role: Role::Assistant, content: vec![use_of] },
                Message { role: Role::User, content: vec![result] },
            ]),
            tools: [ToolOffer {
                name: "read".to_owned(),
                description: "Reads.".to_owned(),
                input_schema: json!({"type": "object"}).into(),
            }]
            .into(),
            max_output_tokens: 8_192,
            ..ModelRequest::default()
        }
    }

    #[test]
    fn a_very_small_model_gets_a_short_prompt_and_no_tools() {
        let mut request = request();
        request.system = system(&"A long prompt. ".repeat(100));
        let expected = Chat {
            messages: vec![
                plain("system", SHORT_PROMPT.to_owned()),
                plain("user", "Read a.".to_owned()),
            ],
            max_tokens: SMALL_TALK_TOKENS,
            ..Chat::default()
        };
        assert_eq!(encode(&request, Ability::SmallTalk), Ok(expected));
        request.system = system("Give it a title.");
        let kept = &encode(&request, Ability::SmallTalk).unwrap().messages[0];
        assert_eq!(*kept, plain("system", "Give it a title.".to_owned()));
    }

    #[test]
    fn a_very_small_model_is_not_told_the_time() {
        for (text, left) in [
            ("[2026-11-15T13:36Z] What is it?", "What is it?"),
            ("[2026-11-15] What is it?", "[2026-11-15] What is it?"),
            ("[", "["),
        ] {
            let messages = Arc::new(vec![Message::user(text)]);
            let request = ModelRequest { messages, ..ModelRequest::default() };
            let told = |ability| encode(&request, ability).unwrap().messages.remove(0).content;
            assert_eq!(told(Ability::SmallTalk), left);
            assert_eq!(told(Ability::Chat), text);
        }
    }

    #[test]
    fn a_model_with_tools_gets_everything() {
        let function = json!({"name": "read", "arguments": {"path": "a"}});
        let call = ChatMessage {
            tool_calls: vec![json!({"type": "function", "function": function})],
            ..plain("assistant", String::new())
        };
        let offered = json!({"type": "function", "function": {
            "name": "read", "description": "Reads.", "parameters": {"type": "object"},
        }});
        let expected = Chat {
            messages: vec![
                plain("system", "A prompt.".to_owned()),
                plain("user", "Read a.".to_owned()),
                call,
                plain("tool", "text of a".to_owned()),
            ],
            tools: vec![offered],
            max_tokens: 8_192,
            ..Chat::default()
        };
        assert_eq!(encode(&request(), Ability::Tools), Ok(expected));
    }
}
