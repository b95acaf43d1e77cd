//! A process of the CLI and the messages it has received. It serves a request that begins with
//! exactly those messages; any other request gets another process, so a lost process costs only
//! time.

use std::collections::HashMap;
use std::sync::Arc;

use onyx_types::{Block, Message, ModelRequest, Role, SystemBlock, ToolOffer, ToolUseId};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::failure::Signs;
use super::protocol::{Request, TOOL_PREFIX, answer, refusal, user_message};
use super::tools::{HostTools, ToolAnswer};
use super::transcript;
use super::turn::{LastMessage, Turn};
use crate::runtimes::child::{Child, NoMoreLines};

/// The properties that stay the same for the whole life of a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Identity {
    pub(super) model: String,
    system: Arc<[SystemBlock]>,
    tools: Arc<[ToolOffer]>,
    pub(super) max_output_tokens: u32,
    /// The session, if a run asks.
    session: Option<String>,
}

impl Identity {
    pub(super) fn of(model: &str, request: &ModelRequest) -> Self {
        let offered = transcript::offers_tools(request);
        Self {
            model: model.to_owned(),
            system: Arc::clone(&request.system),
            tools: if offered { Arc::clone(&request.tools) } else { Arc::from([]) },
            max_output_tokens: request.max_output_tokens,
            session: request.cache_key.clone(),
        }
    }

    pub(super) fn tools(&self) -> &[ToolOffer] {
        &self.tools
    }
}

/// The next message to a process.
#[derive(Debug, PartialEq)]
pub(super) enum Input {
    Message(Vec<Value>),
    Results(HashMap<String, ToolAnswer>),
}

#[derive(Debug)]
pub(super) struct Conversation {
    child: Child,
    pub(super) identity: Identity,
    seen_messages: Arc<Vec<Message>>,
    last_message: LastMessage,
    tools: HostTools,
    pub(super) turn: Turn,
    pub(super) signs: Signs,
    /// The permit that counts this process against the limit.
    _permit: OwnedSemaphorePermit,
}

impl Conversation {
    pub(super) fn new(child: Child, identity: Identity, permit: OwnedSemaphorePermit) -> Self {
        let tools = HostTools::new(identity.tools());
        Self {
            child,
            identity,
            seen_messages: Arc::default(),
            last_message: LastMessage::default(),
            tools,
            turn: Turn::default(),
            signs: Signs::default(),
            _permit: permit,
        }
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.child.id()
    }

    pub(super) async fn send(&self, line: &Value) {
        self.child.send(line).await;
    }

    pub(super) async fn next(&mut self) -> Result<Value, NoMoreLines> {
        self.child.next().await
    }

    /// The new messages of the request, if it begins with the messages of this process.
    pub(super) fn continued_by(
        &self,
        identity: &Identity,
        request: &ModelRequest,
    ) -> Option<Input> {
        let messages = request.messages.as_slice();
        let seen = self.seen_messages.len();
        if self.identity != *identity || messages.get(..seen)? != self.seen_messages.as_slice() {
            return None;
        }
        let rest = &messages[seen..];
        let own = rest.iter().take_while(|message| message.role == Role::Assistant).count();
        let (own, new) = rest.split_at(own);
        if last_message(own) != self.last_message
            || new.iter().any(|message| message.role != Role::User)
        {
            return None;
        }
        let blocks: Vec<&Block> = new.iter().flat_map(|message| &message.content).collect();
        if self.last_message.calls.is_empty() {
            let plain = |block: &&Block| !matches!(block, Block::ToolResult { .. });
            let is_message = !blocks.is_empty() && blocks.iter().all(plain);
            return is_message.then(|| Input::Message(transcript::added(new)));
        }
        results(&blocks, &self.last_message.calls).map(Input::Results)
    }

    pub(super) async fn tell(&mut self, input: Input, request: &ModelRequest) {
        self.seen_messages = Arc::clone(&request.messages);
        self.turn = Turn::default();
        self.signs = Signs::default();
        match input {
            Input::Message(content) => self.child.send(&user_message(&content)).await,
            Input::Results(results) => {
                for answer in self.tools.set_results(results) {
                    self.child.send(&answer).await;
                }
            }
        }
    }

    /// Called when the model's message is whole.
    pub(super) fn settle(&mut self) {
        let turn = std::mem::take(&mut self.turn);
        self.tools.expect(turn.calls);
        self.last_message = turn.last_message;
    }

    pub(super) async fn serve(&mut self, request_id: String, request: Request) {
        let reply = match request {
            Request::McpMessage { message } => self.tools.message(request_id, &message),
            // The command line allows our tools already, and no others may be used.
            Request::CanUseTool { tool_name, input } => {
                let decision = if tool_name.starts_with(TOOL_PREFIX) {
                    json!({"behavior": "allow", "updatedInput": input})
                } else {
                    json!({"behavior": "deny", "message": "Only the host's tools may be used."})
                };
                Some(answer(&request_id, &decision))
            }
            Request::Other => Some(refusal(&request_id, "this host does not support that")),
        };
        if let Some(reply) = reply {
            self.child.send(&reply).await;
        }
    }

    pub(super) fn forget(&mut self, request_id: &str) {
        self.tools.forget(request_id);
    }
}

fn last_message(messages: &[Message]) -> LastMessage {
    let mut last_message = LastMessage::default();
    for block in messages.iter().flat_map(|message| &message.content) {
        match block {
            Block::Text { text } => last_message.text.push_str(text),
            Block::ToolUse { id, .. } => last_message.calls.push(id.clone()),
            Block::Image { .. }
            | Block::Attachment(_)
            | Block::Reasoning { .. }
            | Block::ToolResult { .. } => {}
        }
    }
    last_message
}

/// The results of all calls, if the request holds nothing else; otherwise it cannot be sent as
/// results.
fn results(blocks: &[&Block], calls: &[ToolUseId]) -> Option<HashMap<String, ToolAnswer>> {
    let mut results = HashMap::new();
    for block in blocks {
        let Block::ToolResult { id, content, is_error } = block else { return None };
        let answer = ToolAnswer { content: content.clone(), is_error: *is_error };
        results.insert(id.0.clone(), answer);
    }
    let all = calls.len() == results.len() && calls.iter().all(|id| results.contains_key(&id.0));
    all.then_some(results)
}
