//! A conversation's log as a page that people read.

use std::fmt::Write as _;
use std::path::{Component, Path};

use onyx_storage::title_of;
use onyx_types::{Turn, TurnBody, slug};
use serde::Deserialize;

const LONGEST_NAME: usize = 60;

pub(super) struct ConversationPage {
    pub(super) person: String,
    pub(super) name: String,
    pub(super) text: String,
}

#[derive(Default, Deserialize)]
struct Details {
    title: Option<String>,
}

/// The page of a conversation; `None` if the conversation is empty.
pub(super) fn page(log: &Path, text: &[u8], details: &[u8]) -> Option<ConversationPage> {
    let names: Vec<_> = log.components().map(Component::as_os_str).collect();
    let person = names.get(1)?.display().to_string();
    let session = log.file_stem()?.display().to_string();
    // Lines that cannot be read are skipped; the export also holds the log itself.
    let lines = text.split(|byte| *byte == b'\n');
    let turns: Vec<Turn> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let said = turns.iter().find_map(|turn| match &turn.body {
        TurnBody::User(user) => Some(user.content.text()),
        _ => None,
    });
    let details: Details = serde_json::from_slice(details).unwrap_or_default();
    let title = details.title.or_else(|| title_of(&said?)).unwrap_or_else(|| session.clone());
    let first = turns.first()?;
    let mut page = format!("# {title}\n\nSession {session}, begun {}\n", first.ts.utc_date());
    for turn in &turns {
        add(&mut page, turn);
    }
    let words: String = slug(&title).chars().take(LONGEST_NAME).collect();
    let end = session.get(session.len().saturating_sub(8)..).unwrap_or_default();
    let name = format!("{} {words} {end}.md", first.ts.utc_date());
    Some(ConversationPage { person, name, text: page })
}

fn add(page: &mut String, turn: &Turn) {
    let said = match &turn.body {
        TurnBody::User(user) => user.content.text(),
        TurnBody::AssistantText(text) => text.content.clone(),
        TurnBody::ToolCall(call) => format!("*used the tool {}*", call.tool_name),
        TurnBody::Reasoning(_)
        | TurnBody::ToolResult(_)
        | TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Summary(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => return,
    };
    if said.trim().is_empty() {
        return;
    }
    let (who, date, time) = (turn.author.name(), turn.ts.utc_date(), turn.ts.utc_time());
    // Writing to a String does not fail.
    let _ = write!(page, "\n**{who}**, {date} {time} UTC\n\n{}\n", said.trim_end());
}
