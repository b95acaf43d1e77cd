//! A turn as surfaces show it: the record of the log, and the texts for people. Turns of older logs
//! are shown in today's form.

use std::borrow::Cow;

use onyx_agent::AgentServices;
use onyx_agent::prompt::marks_in;
use onyx_knowledge::Retrieval;
use onyx_storage::FrontMatter;
use onyx_types::{CallLabel, CitedSource, ContextMark, ToolCall, Turn, TurnBody};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct TurnView {
    #[serde(flatten)]
    turn: Turn,
    /// For a tool call: its label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<CallLabel>,
    /// For a message: what retrieval added to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<GivenPiece>,
}

#[derive(Serialize)]
struct GivenPiece {
    scope: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    #[serde(flatten)]
    cited: Option<CitedSource>,
    /// The approximate number of tokens it took of the prompt.
    tokens: usize,
    /// Without the file's front matter.
    text: String,
}

/// The schema is that of a turn; the fields of each type are described in words there.
impl JsonSchema for TurnView {
    fn schema_name() -> Cow<'static, str> {
        Turn::schema_name()
    }

    fn inline_schema() -> bool {
        Turn::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Turn::json_schema(generator)
    }
}

impl TurnView {
    pub(crate) fn of(agent: &AgentServices, mut turn: Turn) -> Self {
        let (mut label, mut pieces) = (None, Vec::new());
        match &mut turn.body {
            TurnBody::User(words) => {
                let marks = std::mem::take(&mut words.pieces);
                let block = words.context.as_deref().unwrap_or_default();
                let marks = if marks.is_empty() { marks_in(block) } else { marks };
                pieces = marks.into_iter().map(|mark| GivenPiece::of(mark, block)).collect();
            }
            TurnBody::ToolCall(call) => {
                label = Some(agent.call_label(&ToolCall {
                    id: call.tool_use_id.clone(),
                    name: call.tool_name.clone(),
                    input: call.input.clone(),
                }));
            }
            TurnBody::ToolResult(result) => result.report = Some(result.known_report()),
            TurnBody::Reasoning(_)
            | TurnBody::AssistantText(_)
            | TurnBody::Decision(_)
            | TurnBody::RunStart(_)
            | TurnBody::RunEnd(_)
            | TurnBody::Summary(_)
            | TurnBody::Feedback(_)
            | TurnBody::Unknown(_) => {}
        }
        Self { turn, label, pieces }
    }
}

/// The text of a piece, without the file's front matter.
pub(crate) fn body_of(text: &str) -> &str {
    FrontMatter::split(text).1.trim_start()
}

impl GivenPiece {
    fn of(mark: ContextMark, block: &str) -> Self {
        let text = mark.text(block);
        let tokens = Retrieval::cost(&mark.source, text);
        let ContextMark { scope, source, start_line, end_line, cited, .. } = mark;
        let text = body_of(text).to_owned();
        Self { scope, source, start_line, end_line, cited, tokens, text }
    }
}
