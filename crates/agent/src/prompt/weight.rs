use onyx_types::{Turn, TurnBody, estimate_tokens};

/// The window that is assumed when the model's own is not known. It is small enough for nearly all
/// models.
const UNKNOWN_WINDOW: u32 = 32_768;

/// The memory that a turn takes in addition to its text, in bytes.
const TURN_BYTES: usize = 400;

pub fn window(known: Option<u32>) -> usize {
    known.unwrap_or(UNKNOWN_WINDOW) as usize
}

/// The approximate size of a turn in a prompt, in tokens.
pub fn turn_weight(turn: &Turn) -> usize {
    match &turn.body {
        TurnBody::User(user) => {
            estimate_tokens(&user.content.text())
                + user.context.as_deref().map_or(0, estimate_tokens)
                + 8
        }
        TurnBody::AssistantText(text) => estimate_tokens(&text.content) + 4,
        TurnBody::ToolCall(call) => estimate_tokens(&call.input.to_string()) + 16,
        TurnBody::ToolResult(result) => estimate_tokens(&result.output) + 8,
        TurnBody::Reasoning(reasoning) => estimate_tokens(&reasoning.data.to_string()),
        TurnBody::Summary(summary) => {
            let skills = summary.skills.iter().map(|skill| estimate_tokens(&skill.text));
            estimate_tokens(&summary.content) + skills.sum::<usize>()
        }
        TurnBody::Decision(_) => 32,
        TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => 0,
    }
}

/// The approximate size of a turn in memory, in bytes.
pub(super) fn turn_bytes(turn: &Turn) -> usize {
    let text = match &turn.body {
        TurnBody::User(user) => {
            user.content.byte_len() + user.context.as_ref().map_or(0, String::len)
        }
        TurnBody::AssistantText(text) => text.content.len(),
        TurnBody::ToolResult(result) => result.output.len(),
        TurnBody::Summary(summary) => {
            summary.content.len()
                + summary.skills.iter().map(|skill| skill.text.len()).sum::<usize>()
        }
        TurnBody::ToolCall(_) | TurnBody::Reasoning(_) | TurnBody::Unknown(_) => 2_000,
        TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_) => 0,
    };
    text + TURN_BYTES
}
