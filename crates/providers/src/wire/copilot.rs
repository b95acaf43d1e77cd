//! The headers that Copilot's servers require of each request, beside its wire.

use onyx_types::{Block, ModelRequest, Role};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers that depend on the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestHeaders {
    #[default]
    Plain,
    Copilot,
}

impl RequestHeaders {
    pub(crate) fn of(self, request: &ModelRequest) -> HeaderMap {
        match self {
            Self::Plain => HeaderMap::new(),
            Self::Copilot => copilot(request),
        }
    }
}

/// A step that follows tool results counts as the agent's own request, not as the person's.
fn copilot(request: &ModelRequest) -> HeaderMap {
    let last = request.messages.last();
    let is_persons = last.is_some_and(|message| {
        message.role == Role::User
            && !message.content.iter().any(|block| matches!(block, Block::ToolResult { .. }))
    });
    let shows = |block: &Block| match block {
        Block::Image { .. } => true,
        Block::Attachment(file) => file.is_image(),
        Block::Text { .. }
        | Block::Reasoning { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. } => false,
    };
    let initiator = if is_persons { "user" } else { "agent" };
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("x-initiator"), HeaderValue::from_static(initiator));
    if request.messages.iter().flat_map(|message| &message.content).any(shows) {
        let name = HeaderName::from_static("copilot-vision-request");
        headers.insert(name, HeaderValue::from_static("true"));
    }
    headers
}
