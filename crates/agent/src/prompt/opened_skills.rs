//! Keeps opened skills through compaction: a summary carries the skills that were opened in the
//! turns it replaces.

use std::sync::Arc;

use onyx_types::{OpenedSkill, Summary, ToolUseId, Turn, TurnBody};

/// The tool by which agents open skills.
const SKILL_TOOL: &str = "skill";
/// The most bytes of all skills together, however large the model's window is.
const MOST_BYTES: usize = 24 * 1024;
/// Skills may take an eighth of the window, reckoned with four bytes for a token.
const BYTES_A_TOKEN: usize = 4;
const SHARE: usize = 8;

/// The skills of an earlier summary and those opened in these turns, each in its latest form. If
/// they are too long, the oldest are left out; an agent can open them again.
pub(crate) fn opened_skills(
    earlier: Option<&Summary>,
    turns: &[Arc<Turn>],
    window: usize,
) -> Vec<OpenedSkill> {
    let mut opened: Vec<OpenedSkill> = earlier.map(|it| it.skills.clone()).unwrap_or_default();
    let mut calls: Vec<(&ToolUseId, String)> = Vec::new();
    for turn in turns {
        match &turn.body {
            TurnBody::ToolCall(call) if call.tool_name == SKILL_TOOL => {
                let word = |key: &str| call.input.get(key).and_then(serde_json::Value::as_str);
                let Some(name) = word("name") else { continue };
                let file = word("file").map(|file| format!("/{file}")).unwrap_or_default();
                calls.push((&call.tool_use_id, format!("{name}{file}")));
            }
            // A result of our own tool holds a person's words. A client's tool of the same name may
            // return anything, so results that taint are not kept.
            TurnBody::ToolResult(result) if !result.is_error && !turn.origin.taints() => {
                let called = calls.iter().find(|(id, _)| **id == result.tool_use_id);
                let Some((_, name)) = called else { continue };
                opened.retain(|known| known.name != *name);
                opened.push(OpenedSkill { name: name.clone(), text: result.output.clone() });
            }
            _ => {}
        }
    }
    within(opened, MOST_BYTES.min(window * BYTES_A_TOKEN / SHARE))
}

fn within(opened: Vec<OpenedSkill>, most: usize) -> Vec<OpenedSkill> {
    let mut room = most;
    let mut kept: Vec<OpenedSkill> = Vec::new();
    for skill in opened.into_iter().rev() {
        let Some(left) = room.checked_sub(skill.text.len()) else { continue };
        room = left;
        kept.push(skill);
    }
    kept.reverse();
    kept
}

/// The text that repeats the skills in a prompt.
pub(super) fn shown(opened: &[OpenedSkill]) -> String {
    let one =
        |skill: &OpenedSkill| format!("\n\n[Skill {}, opened before]\n{}", skill.name, skill.text);
    opened.iter().map(one).collect()
}
