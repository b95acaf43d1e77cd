//! Turns become messages here and nowhere else; each wire then spells messages its own way.

use std::borrow::Borrow;

use onyx_types::{
    AgentId, Author, Block, Message, Role, Summary, TextStatus, ToolUseId, Turn, TurnBody,
    UserContent, UserPart, UserTurn,
};

use super::tokens::estimate_tokens;
use crate::step::OUTCOME_UNKNOWN;

/// The window to reckon with when the model's own is not known: small enough for nearly every
/// model.
const UNKNOWN_WINDOW: u32 = 32_768;

pub fn window(known: Option<u32>) -> usize {
    known.unwrap_or(UNKNOWN_WINDOW) as usize
}

/// How a history is made to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// As it is: compaction keeps it short enough.
    Whole,
    /// Old tool results shortened, then whole oldest exchanges left out, to so many tokens.
    Tokens(usize),
}

/// The turns that count for a prompt: those that the newest summary does not stand for, without
/// summaries themselves and without silent turns.
pub fn current<T: Borrow<Turn>>(turns: &[T]) -> impl Iterator<Item = &T> {
    let replaced = newest_summary(turns).map(|summary| summary.replaces.last);
    let start = replaced.and_then(|last| turns.iter().position(|turn| turn.borrow().id == last));
    turns[start.map_or(0, |index| index + 1)..].iter().filter(|turn| {
        let turn: &Turn = (*turn).borrow();
        !matches!(turn.body, TurnBody::Summary(_)) && !is_silent(turn)
    })
}

pub fn newest_summary<T: Borrow<Turn>>(turns: &[T]) -> Option<&Summary> {
    turns.iter().rev().find_map(|turn| match &turn.borrow().body {
        TurnBody::Summary(summary) => Some(summary),
        _ => None,
    })
}

/// Part of a turn that nobody sees, such as saving memory before compaction.
fn is_silent(turn: &Turn) -> bool {
    turn.extra.get("silent").and_then(serde_json::Value::as_bool).unwrap_or(false)
}

/// The conversation as one agent sees it: its own turns as assistant, everything else as user.
pub fn messages<T: Borrow<Turn>>(
    turns: &[T],
    agent: &AgentId,
    model: &str,
    fit: Fit,
) -> Vec<Message> {
    let recent: Vec<&Turn> = current(turns).map(Borrow::borrow).collect();
    let recent = match fit {
        Fit::Whole => &recent[..],
        Fit::Tokens(budget) => within_budget(&recent, budget),
    };
    let mut view = View {
        agent,
        model,
        messages: Vec::new(),
        open: Vec::new(),
        held: Vec::new(),
        shorten: matches!(fit, Fit::Tokens(_)).then(|| recent.len().saturating_sub(RECENT)),
        index: 0,
    };
    if let Some(summary) = newest_summary(turns) {
        let text = format!("[Summary of the conversation so far]\n{}", summary.content);
        view.user(vec![Block::Text { text }]);
    }
    for (index, turn) in recent.iter().enumerate() {
        view.index = index;
        view.add(turn);
    }
    view.close_calls();
    view.messages
}

/// Turns whose tool results are never shortened.
const RECENT: usize = 8;
const SHORT_RESULT: usize = 400;

/// Drops whole exchanges from the front: a call and its result are never parted, and the newest
/// exchange always stays.
fn within_budget<'t, 'a>(turns: &'t [&'a Turn], budget: usize) -> &'t [&'a Turn] {
    let mut used = 0;
    let mut keep_from = turns.len();
    for (index, turn) in turns.iter().enumerate().rev() {
        used += turn_weight(turn);
        if used > budget && keep_from < turns.len() {
            return &turns[keep_from..];
        }
        if matches!(turn.body, TurnBody::User(_)) {
            keep_from = index;
        }
    }
    turns
}

/// What a turn weighs on a prompt, in tokens, about.
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
        TurnBody::Summary(summary) => estimate_tokens(&summary.content),
        TurnBody::Decision(_) => 32,
        TurnBody::RunStart(_) | TurnBody::RunEnd(_) | TurnBody::Unknown(_) => 0,
    }
}

struct View<'a> {
    agent: &'a AgentId,
    model: &'a str,
    messages: Vec<Message>,
    /// Own calls whose results have not come.
    open: Vec<ToolUseId>,
    /// What came between a call and its results; it follows them.
    held: Vec<Block>,
    /// Tool results before this turn are shortened.
    shorten: Option<usize>,
    index: usize,
}

impl View<'_> {
    fn add(&mut self, turn: &Turn) {
        let own = turn.author == Author::Agent(self.agent.clone());
        match &turn.body {
            TurnBody::User(user) => self.user(user_blocks(turn, user)),
            TurnBody::AssistantText(text) => match text.status {
                // Shown to people, but it would teach the model to break off.
                TextStatus::Error => {}
                TextStatus::Complete | TextStatus::Cancelled | TextStatus::Interrupted if own => {
                    self.close_calls();
                    self.push(Role::Assistant, Block::Text { text: text.content.clone() });
                }
                TextStatus::Complete | TextStatus::Cancelled | TextStatus::Interrupted => {
                    let text = format!("[{}]: {}", author_name(&turn.author), text.content);
                    self.user(vec![Block::Text { text }]);
                }
            },
            TurnBody::Reasoning(reasoning) if own && reasoning.model == self.model => {
                self.close_calls();
                let block = Block::Reasoning {
                    model: reasoning.model.clone(),
                    data: reasoning.data.clone(),
                };
                self.push(Role::Assistant, block);
            }
            TurnBody::ToolCall(call) if own => {
                self.open.push(call.tool_use_id.clone());
                let block = Block::ToolUse {
                    id: call.tool_use_id.clone(),
                    name: call.tool_name.clone(),
                    input: call.input.clone(),
                    provider_data: call.provider_data.clone(),
                };
                self.push(Role::Assistant, block);
            }
            TurnBody::ToolResult(result) => {
                // Results of other agents' calls find no open call and are left out with them.
                if let Some(index) = self.open.iter().position(|id| *id == result.tool_use_id) {
                    self.open.remove(index);
                    let block = Block::ToolResult {
                        id: result.tool_use_id.clone(),
                        content: self.result_text(&result.output),
                        is_error: result.is_error,
                    };
                    self.push(Role::User, block);
                    self.release_held();
                }
            }
            TurnBody::Decision(decision) => {
                let reason = decision.reason.as_deref().unwrap_or("");
                let text = format!(
                    "[Decision on draft {}: {:?}. {reason}]",
                    decision.draft_id, decision.state
                );
                self.user(vec![Block::Text { text }]);
            }
            TurnBody::Reasoning(_)
            | TurnBody::Summary(_)
            | TurnBody::ToolCall(_)
            | TurnBody::RunStart(_)
            | TurnBody::Unknown(_) => {}
            TurnBody::RunEnd(_) => self.close_calls(),
        }
    }

    fn result_text(&self, output: &str) -> String {
        let old = self.shorten.is_some_and(|recent| self.index < recent);
        if !old || output.len() <= SHORT_RESULT {
            return output.to_owned();
        }
        let end = output.floor_char_boundary(SHORT_RESULT);
        format!("{}\n[{} more bytes left out]", &output[..end], output.len() - end)
    }

    fn user(&mut self, blocks: Vec<Block>) {
        if self.open.is_empty() {
            for block in blocks {
                self.push(Role::User, block);
            }
        } else {
            self.held.extend(blocks);
        }
    }

    /// What has no result by now never gets one: the run ended, or the model went on.
    fn close_calls(&mut self) {
        for id in std::mem::take(&mut self.open) {
            let content = OUTCOME_UNKNOWN.to_owned();
            self.push(Role::User, Block::ToolResult { id, content, is_error: true });
        }
        self.release_held();
    }

    fn release_held(&mut self) {
        if self.open.is_empty() {
            for block in std::mem::take(&mut self.held) {
                self.push(Role::User, block);
            }
        }
    }

    fn push(&mut self, role: Role, block: Block) {
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            _ => self.messages.push(Message { role, content: vec![block] }),
        }
    }
}

/// The words with their time, and beside them the untrusted block exactly as it was first sent.
fn user_blocks(turn: &Turn, user: &UserTurn) -> Vec<Block> {
    let stamp = &turn.ts.to_string()[..16];
    let mut blocks = vec![Block::Text { text: format!("[{stamp}Z]") }];
    match &user.content {
        UserContent::Text(text) => {
            blocks = vec![Block::Text { text: format!("[{stamp}Z] {text}") }];
        }
        UserContent::Parts(parts) => blocks.extend(parts.iter().map(part_block)),
    }
    if let Some(context) = &user.context {
        blocks.push(Block::Text { text: context.clone() });
    }
    blocks
}

fn part_block(part: &UserPart) -> Block {
    match part {
        UserPart::Text { text } => Block::Text { text: text.clone() },
        UserPart::Image { media_type, data } => {
            Block::Image { media_type: media_type.clone(), data: data.clone() }
        }
        UserPart::File { name, media_type, .. } => {
            Block::Text { text: format!("[attached file {name}, {media_type}]") }
        }
    }
}

fn author_name(author: &Author) -> &str {
    match author {
        Author::Person(person) => person.as_str(),
        Author::Agent(agent) => agent.as_str(),
        Author::System => "system",
    }
}
