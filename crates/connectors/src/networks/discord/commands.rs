//! The slash commands that Discord shows while a person types.

use serde_json::{Value, json};

const TEXT: u8 = 3;
const NUMBER: u8 = 4;

pub(super) fn all() -> Value {
    json!([
        plain("new", "Start a new conversation"),
        plain("stop", "Stop the current answer"),
        plain("status", "Show what is running"),
        plain("undo", "Undo what the last answer changed"),
        plain("help", "List the commands"),
        with("agent", "Talk to another agent", &[("name", TEXT, false)]),
        with("model", "Use another model", &[("model", TEXT, false)]),
        with(
            "approve",
            "Approve a proposed change",
            &[("number", NUMBER, true), ("reason", TEXT, false)]
        ),
        with(
            "reject",
            "Reject a proposed change",
            &[("number", NUMBER, true), ("reason", TEXT, false)]
        ),
        with("pair", "Approve a pairing code", &[("code", TEXT, true)]),
    ])
}

fn plain(name: &str, description: &str) -> Value {
    with(name, description, &[])
}

fn with(name: &str, description: &str, options: &[(&str, u8, bool)]) -> Value {
    let options: Vec<Value> = options
        .iter()
        .map(|(name, kind, required)| {
            json!({"name": name, "description": name, "type": kind, "required": required})
        })
        .collect();
    json!({"name": name, "description": description, "type": 1, "options": options})
}

#[cfg(test)]
mod tests {
    use crate::Command;

    #[test]
    fn every_slash_command_is_one_that_the_chat_knows() {
        for command in super::all().as_array().unwrap() {
            let name = command["name"].as_str().unwrap();
            let is_known = Command::parse(&format!("/{name} 1")).is_some();
            assert!(is_known, "{name}");
        }
    }
}
