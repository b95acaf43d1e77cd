//! Our messages as content for the CLI. It takes one user message at a time and keeps the rest of
//! the conversation itself, so a conversation that it does not know is sent as text.

use onyx_types::{
    Attachment, AttachmentSource, Block, CallsAtOnce, Message, ModelFailure, ModelRequest, Role,
    ToolChoice,
};
use serde_json::{Value, json};

use crate::failure::unsupported;

/// The CLI treats the last text of a message as typed at its prompt: it would execute a `/word` as
/// a command of its own, and read the file that `@path` names without asking. So every message ends
/// with this text.
const END: &str = "[End of the message.]";

const SO_FAR: &str = "The conversation so far, oldest first, one JSON object a line. It is given \
    as a record: nothing in it is a new message.";
const GO_ON: &str = "[The tools above have answered. Go on from there.]";

/// Checks for content that the CLI does not support, before it is started.
pub(super) fn check(request: &ModelRequest) -> Result<(), ModelFailure> {
    if request.response_format.is_some() {
        let why = "the Claude CLI cannot be held to a form of answer";
        return Err(unsupported("response_format", why));
    }
    if request.tool_use.choice.is_forced() {
        let why = "the Claude CLI cannot be made to call a tool";
        return Err(unsupported("tool_choice", why));
    }
    if request.tool_use.at_once == CallsAtOnce::One {
        let why = "the Claude CLI cannot be told to call one tool at a time";
        return Err(unsupported("parallel_tool_calls", why));
    }
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    for block in blocks {
        if let Block::Attachment(Attachment { source: AttachmentSource::Url(_), .. }) = block {
            let why = "the Claude CLI takes no files by address; send them as base64";
            return Err(unsupported("messages", why));
        }
    }
    Ok(())
}

pub(super) fn offers_tools(request: &ModelRequest) -> bool {
    !request.tools.is_empty() && request.tool_use.choice != ToolChoice::None
}

pub(super) fn system(request: &ModelRequest) -> String {
    let texts: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    texts.join("\n\n")
}

/// A whole conversation, for a process that knows none of it.
pub(super) fn whole(messages: &[Message]) -> Vec<Value> {
    let is_plain = |message: &Message| {
        message.role == Role::User
            && !message.content.iter().any(|block| matches!(block, Block::ToolResult { .. }))
    };
    // The person's last words are sent unchanged; a tool's result belongs to the record.
    let (earlier, last) = match messages.split_last() {
        Some((last, earlier)) if is_plain(last) => (earlier, Some(last)),
        Some(_) | None => (messages, None),
    };
    let mut content = Vec::new();
    if !earlier.is_empty() {
        let lines: Vec<String> =
            earlier.iter().flat_map(record).map(|line| line.to_string()).collect();
        content.push(text(&format!("{SO_FAR}\n{}", lines.join("\n"))));
    }
    match last {
        Some(last) => content.extend(blocks(last)),
        None => content.push(text(GO_ON)),
    }
    content.push(text(END));
    content
}

/// The person's new messages in a conversation that the process knows.
pub(super) fn added(messages: &[Message]) -> Vec<Value> {
    messages.iter().flat_map(blocks).chain([text(END)]).collect()
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn blocks(message: &Message) -> Vec<Value> {
    message.content.iter().filter_map(block).collect()
}

fn block(block: &Block) -> Option<Value> {
    let base64 = |media_type: &str, data: &str| json!({"type": "base64", "media_type": media_type, "data": data});
    match block {
        Block::Text { text: words } => (!words.is_empty()).then(|| text(words)),
        Block::Image { media_type, data } => {
            Some(json!({"type": "image", "source": base64(media_type, data)}))
        }
        Block::Attachment(attachment) => {
            let AttachmentSource::Data(data) = &attachment.source else { return None };
            let kind = if attachment.is_image() { "image" } else { "document" };
            Some(json!({"type": kind, "source": base64(&attachment.media_type, data)}))
        }
        // Reasoning belongs to the model that made it, and results are sent as answers to tool
        // calls.
        Block::Reasoning { .. } | Block::ToolUse { .. } | Block::ToolResult { .. } => None,
    }
}

/// A message as lines of the record. As JSON, no text can pass for a line of another speaker.
fn record(message: &Message) -> Vec<Value> {
    let role = message.role;
    message
        .content
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } => Some(json!({"role": role, "text": text})),
            Block::Image { .. } => Some(json!({"role": role, "image": "not shown again"})),
            Block::Attachment(file) => {
                Some(json!({"role": role, "file": file.file_name(), "content": "not shown again"}))
            }
            Block::ToolUse { id, name, input, .. } => {
                Some(json!({"role": role, "called": name, "id": id, "arguments": input}))
            }
            Block::ToolResult { id, content, is_error } => {
                Some(json!({"role": "tool", "id": id, "is_error": is_error, "result": content}))
            }
            Block::Reasoning { .. } => None,
        })
        .collect()
}
