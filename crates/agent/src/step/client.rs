//! What clients of other wire formats send with a request: a conversation, instructions for the
//! prompt, and tools that run in the client.

use std::sync::Arc;

use onyx_types::{
    AssistantText, ErrorCode, Fault, Origin, ResponseFormat, RunStatus, Sampling, TextStatus,
    ToolCall, ToolCallTurn, ToolOffer, ToolResultTurn, ToolUse, ToolUseId, Turn, TurnBody,
    UserContent,
};

/// What a client sends for a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientInput {
    /// The turns in order. In a new session they are the whole conversation, else those after its
    /// last answer.
    pub turns: Vec<ClientTurn>,
    /// Instructions that are added to the agent's own prompt and never replace it.
    pub system: Option<String>,
    /// Tools that the client runs. A client's tool replaces the agent's tool of the same name.
    pub tools: Vec<ToolOffer>,
    /// How the client wants its tools called. The agent's own tools are not affected, except that
    /// they are not offered where the client demands a call of its own.
    pub tool_use: ToolUse,
    pub memory: MemoryUse,
    pub response_format: Option<ResponseFormat>,
    pub temperature: Option<f32>,
    pub sampling: Sampling,
    pub max_output_tokens: Option<u32>,
}

/// One piece of a conversation as a client sends it.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientTurn {
    User(UserContent),
    /// The text of an answer that anybody may have written.
    Assistant(String),
    /// The text of an answer that Onyx gave, with its origin. No wire format makes this; answers
    /// are recognised when the context is loaded.
    OwnAnswer(String, Origin),
    ToolCall(ToolCall),
    ToolResult {
        id: ToolUseId,
        output: String,
        is_error: bool,
    },
}

/// Whether the agent's notes about the person go into the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryUse {
    #[default]
    Include,
    LeaveOut,
}

impl ClientInput {
    /// Applies the functions to all texts of the client, to mask secrets.
    pub(crate) fn mask(
        &mut self,
        text: impl Fn(String) -> String,
        words: impl Fn(UserContent) -> UserContent,
    ) {
        self.system = self.system.take().map(&text);
        for turn in &mut self.turns {
            match turn {
                ClientTurn::User(content) => {
                    *content = words(std::mem::replace(content, UserContent::Parts(Vec::new())));
                }
                ClientTurn::Assistant(said)
                | ClientTurn::OwnAnswer(said, _)
                | ClientTurn::ToolResult { output: said, .. } => {
                    *said = text(std::mem::take(said));
                }
                ClientTurn::ToolCall(_) => {}
            }
        }
    }
}

const NO_ANSWER: &str = "The client did not answer.";

impl ClientTurn {
    /// The origin of the turn. Results of a client's tools are from outside, even if they report a
    /// failure. So is what the client says that the assistant said or called, unless it is known to
    /// be an answer of Onyx.
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::User(_) => Origin::Person,
            Self::OwnAnswer(_, origin) => *origin,
            Self::ToolResult { output, .. } if output == NO_ANSWER => Origin::Agent,
            Self::Assistant(_) | Self::ToolCall(_) | Self::ToolResult { .. } => Origin::External,
        }
    }

    pub(crate) fn is_from_outside(&self) -> bool {
        self.origin().taints()
    }

    pub(crate) fn into_body(self) -> TurnBody {
        match self {
            Self::User(content) => TurnBody::User(content.into()),
            Self::Assistant(content) | Self::OwnAnswer(content, _) => {
                TurnBody::AssistantText(AssistantText {
                    content,
                    status: TextStatus::Complete,
                    model: "client".to_owned(),
                    provider_data: None,
                })
            }
            Self::ToolCall(call) => TurnBody::ToolCall(ToolCallTurn {
                tool_use_id: call.id,
                tool_name: call.name,
                input: call.input,
                provider_data: None,
            }),
            Self::ToolResult { id, output, is_error } => TurnBody::ToolResult(ToolResultTurn {
                tool_use_id: id,
                output,
                is_error,
                draft_id: None,
                duration_ms: 0,
                report: None,
            }),
        }
    }
}

/// The calls of the session's last run that were left to the client and have no result yet.
pub(crate) fn open_calls(history: &[Arc<Turn>]) -> Vec<ToolUseId> {
    let ended = history.iter().rev().find_map(|turn| match &turn.body {
        TurnBody::RunEnd(end) => Some((turn.run, end.status)),
        _ => None,
    });
    let Some((run, RunStatus::AwaitingClient)) = ended else { return Vec::new() };
    let calls = history.iter().filter(|turn| turn.run == run).filter_map(|turn| match &turn.body {
        TurnBody::ToolCall(call) => Some(call.tool_use_id.clone()),
        _ => None,
    });
    let mut open: Vec<ToolUseId> = calls.collect();
    // The history lacks marks of runs that ended well, so results are looked for in all its turns.
    for turn in history {
        if let TurnBody::ToolResult(result) = &turn.body {
            open.retain(|id| *id != result.tool_use_id);
        }
    }
    open
}

/// Completes the client's turns so that each call has a result: a call without one gets a result
/// that says so. A result that no call waits for is refused.
pub(crate) fn with_all_results(
    turns: Vec<ClientTurn>,
    mut open: Vec<ToolUseId>,
) -> Result<Vec<ClientTurn>, Fault> {
    let mut whole = Vec::with_capacity(turns.len() + open.len());
    let mut answering = !open.is_empty();
    for turn in turns {
        match &turn {
            ClientTurn::ToolResult { id, .. } => {
                let Some(index) = open.iter().position(|waiting| waiting == id) else {
                    let message = format!("No tool call {:?} waits for a result.", id.0);
                    return Err(Fault::new(ErrorCode::InvalidRequest, message)
                        .with_hint("Send each result once, after the answer that asked for it."));
                };
                open.remove(index);
                answering = true;
            }
            ClientTurn::ToolCall(call) => {
                if answering {
                    close(&mut whole, &mut open);
                    answering = false;
                }
                open.push(call.id.clone());
            }
            ClientTurn::User(_) | ClientTurn::Assistant(_) | ClientTurn::OwnAnswer(..) => {
                close(&mut whole, &mut open);
            }
        }
        whole.push(turn);
    }
    close(&mut whole, &mut open);
    Ok(whole)
}

fn close(turns: &mut Vec<ClientTurn>, open: &mut Vec<ToolUseId>) {
    turns.extend(open.drain(..).map(|id| ClientTurn::ToolResult {
        id,
        output: NO_ANSWER.to_owned(),
        is_error: true,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ClientTurn {
        let input = serde_json::json!({});
        ClientTurn::ToolCall(ToolCall { id: ToolUseId(id.into()), name: "t".into(), input })
    }

    fn result(id: &str, output: &str) -> ClientTurn {
        let is_error = output == NO_ANSWER;
        ClientTurn::ToolResult { id: ToolUseId(id.into()), output: output.into(), is_error }
    }

    fn user(text: &str) -> ClientTurn {
        ClientTurn::User(UserContent::Text(text.into()))
    }

    #[test]
    fn a_call_that_the_client_passes_over_is_told_so_before_the_next_words() {
        let turns = vec![call("a"), call("b"), result("b", "2"), user("go on")];
        let whole = with_all_results(turns, Vec::new()).unwrap();
        let expected =
            vec![call("a"), call("b"), result("b", "2"), result("a", NO_ANSWER), user("go on")];
        assert_eq!(whole, expected);
        let left = with_all_results(vec![user("hm")], vec![ToolUseId("x".into())]).unwrap();
        assert_eq!(left, vec![result("x", NO_ANSWER), user("hm")]);
    }

    #[test]
    fn what_a_clients_tool_says_is_from_outside_also_when_it_failed() {
        let said = |is_error| ClientTurn::ToolResult {
            id: ToolUseId("a".into()),
            output: "do as I say".to_owned(),
            is_error,
        };
        assert!(said(false).is_from_outside() && said(true).is_from_outside());
        assert!(!result("a", NO_ANSWER).is_from_outside() && !user("hm").is_from_outside());
    }

    #[test]
    fn a_result_that_no_call_waits_for_is_refused() {
        let twice = vec![call("a"), result("a", "1"), result("a", "1")];
        let fault = with_all_results(twice, Vec::new()).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest);
    }
}
