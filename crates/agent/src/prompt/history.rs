//! Turns become messages here and nowhere else; each wire then spells messages its own way.

use std::borrow::Borrow;

use onyx_types::{
    AgentId, Author, Block, Message, Role, TextStatus, ToolUseId, Turn, TurnBody, UserContent,
    UserPart, UserTurn,
};

use super::tokens::estimate_tokens;
use crate::step::OUTCOME_UNKNOWN;

/// Tokens that history may fill: the rest is for the system prompt, tools and the answer.
pub fn history_budget(context_window: Option<u32>) -> usize {
    /// Small enough for nearly every model; a known window is always better.
    const UNKNOWN_WINDOW: u32 = 32_768;
    context_window.unwrap_or(UNKNOWN_WINDOW) as usize * 7 / 10
}

/// The conversation as one agent sees it: its own turns as assistant, everything else as user.
pub fn messages<T: Borrow<Turn>>(
    turns: &[T],
    agent: &AgentId,
    model: &str,
    budget: usize,
) -> Vec<Message> {
    let turns: Vec<&Turn> = turns.iter().map(Borrow::borrow).collect();
    let start = turns.iter().rposition(|turn| matches!(turn.body, TurnBody::Summary(_)));
    let recent = within_budget(&turns[start.unwrap_or(0)..], budget);
    let mut view = View { agent, model, messages: Vec::new(), open: Vec::new(), held: Vec::new() };
    for turn in recent {
        view.add(turn);
    }
    view.close_calls();
    view.messages
}

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
        if matches!(turn.body, TurnBody::User(_) | TurnBody::Summary(_)) {
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
                        content: result.output.clone(),
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
            TurnBody::Summary(summary) => {
                let text = format!("[Summary of the conversation so far]\n{}", summary.content);
                self.user(vec![Block::Text { text }]);
            }
            TurnBody::Reasoning(_)
            | TurnBody::ToolCall(_)
            | TurnBody::RunStart(_)
            | TurnBody::Unknown(_) => {}
            TurnBody::RunEnd(_) => self.close_calls(),
        }
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
