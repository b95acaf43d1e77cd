use std::borrow::Borrow;
use std::fmt::Write as _;

use onyx_types::{Author, Summary, Turn, TurnBody, estimate_tokens};

const LONGEST_RESULT: usize = 600;

/// Turns as plain text for a model that summarises them. The oldest are cut so that the text fits.
pub fn transcript<T: Borrow<Turn>>(
    earlier: Option<&Summary>,
    turns: &[T],
    most_tokens: usize,
) -> String {
    let lines: Vec<String> = turns.iter().filter_map(|turn| line(turn.borrow())).collect();
    let mut start = lines.len();
    let mut tokens = 0;
    for (index, line) in lines.iter().enumerate().rev() {
        tokens += estimate_tokens(line);
        if tokens > most_tokens && start < lines.len() {
            break;
        }
        start = index;
    }
    // Writing to a String cannot fail.
    let mut text = String::new();
    if let Some(summary) = earlier {
        let _ = writeln!(text, "[Earlier summary] {}", summary.content);
    }
    if start > 0 {
        let _ = writeln!(text, "[{start} older entries left out]");
    }
    text + &lines[start..].join("\n")
}

fn line(turn: &Turn) -> Option<String> {
    Some(match &turn.body {
        TurnBody::User(user) => format!("Person: {}", user.content.text()),
        TurnBody::AssistantText(text) => format!("{}: {}", name(&turn.author), text.content),
        TurnBody::ToolCall(call) => {
            format!("(uses {} {})", call.tool_name, short(&call.input.to_string()))
        }
        TurnBody::ToolResult(result) => format!("(result: {})", short(&result.output)),
        TurnBody::Decision(decision) => {
            format!("(the person's decision on a draft: {:?})", decision.state)
        }
        TurnBody::Reasoning(_)
        | TurnBody::Summary(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => return None,
    })
}

fn name(author: &Author) -> &str {
    match author {
        Author::Agent(agent) => agent.as_str(),
        Author::Person(_) | Author::System => "Agent",
    }
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_RESULT)]
}
