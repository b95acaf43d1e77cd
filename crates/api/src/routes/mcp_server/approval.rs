//! Calls that need approval. Where the client can ask its person and the credential may approve,
//! the person is asked there; in every other case the draft waits in the Inbox.

use onyx_agent::ApprovalOptions;
use onyx_mcp::serving::{Exchange, Question, Stop};
use onyx_types::{AsksFor, CallState, DraftId, Preview, Proposal, ToolOutcome};
use serde_json::{Value, json};

use super::service::AgentService;

const DRAFT: &str = "draft";
const SEEN: &str = "seen";
const APPROVE: &str = "approve";
/// The longest part of a preview in a question, because the client's abilities are unknown.
const SHOWN: usize = 4_000;

/// Runs a call, or asks about it first.
pub(super) async fn result(
    service: &AgentService,
    outcome: &ToolOutcome,
    exchange: &Exchange,
) -> Result<Value, Stop> {
    let Some(proposal) = outcome.draft.as_deref() else { return Ok(result_of(outcome)) };
    let may_approve = service.caller.approver().is_ok() && proposal.asks_for == AsksFor::Approval;
    if !may_approve || !exchange.can("elicitation") {
        return Ok(result_of(outcome));
    }
    exchange.keep(DRAFT, json!(proposal.draft.to_string()));
    exchange.keep(SEEN, json!(question_of(proposal)));
    decide(service, proposal.draft, &question_of(proposal), exchange).await
}

/// Continues a call in a later round: the person has decided about the draft of the first round.
pub(super) async fn decided(
    service: &AgentService,
    exchange: &Exchange,
) -> Result<Option<Value>, Stop> {
    let kept = |name: &str| exchange.kept(name).and_then(|value| value.as_str().map(str::to_owned));
    let draft = kept(DRAFT).and_then(|draft| draft.parse::<DraftId>().ok());
    let Some((draft, asked)) = draft.zip(kept(SEEN)) else { return Ok(None) };
    decide(service, draft, &asked, exchange).await.map(Some)
}

async fn decide(
    service: &AgentService,
    draft: DraftId,
    asked: &str,
    exchange: &Exchange,
) -> Result<Value, Stop> {
    let schema = json!({"type": "object", "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Do exactly this, once."},
    }, "required": ["approve"]});
    let answers = exchange.ask(vec![(APPROVE, Question::elicit(asked, &schema))]).await?;
    let answer = &answers[APPROVE];
    let approvals = &service.state.agent.approvals;
    let done = if answer["action"] == "accept" && answer["content"]["approve"] == true {
        match service.caller.approver() {
            Ok(approver) => approvals.approve(&approver, draft, ApprovalOptions::default()).await,
            Err(problem) => return Ok(failed(&problem.fault().message)),
        }
    } else {
        approvals.reject(&service.caller.person, draft, None).await
    };
    Ok(match done {
        Ok(draft) => {
            let output = draft.output.map(|output| output.text);
            let output = output.unwrap_or_else(|| format!("The draft is {:?}.", draft.state));
            json!({"content": [{"type": "text", "text": output}], "isError": false})
        }
        Err(refused) => failed(&refused.fault.message),
    })
}

fn failed(why: &str) -> Value {
    json!({"content": [{"type": "text", "text": why}], "isError": true})
}

fn question_of(proposal: &Proposal) -> String {
    let preview = match &proposal.preview {
        Preview::None => String::new(),
        Preview::Text { text } => text.clone(),
        Preview::Choice { text, options } => format!("{text}\n- {}", options.join("\n- ")),
        Preview::Diff { path, unified, .. } => format!("{path}\n{unified}"),
    };
    let end = preview.floor_char_boundary(SHOWN);
    let cut = if end < preview.len() { "\n[…] See the rest in the Inbox of Onyx." } else { "" };
    format!("Onyx asks for your approval: {}\n\n{}{cut}", proposal.summary, &preview[..end])
}

fn result_of(outcome: &ToolOutcome) -> Value {
    let mut content = vec![json!({"type": "text", "text": outcome.output})];
    if let Some(draft) = &outcome.draft {
        let id = draft.draft;
        let text = format!(
            "Nothing has been done: a person has to approve the draft {id} first, in the Inbox of \
             Onyx or with `onyx drafts approve {id}`."
        );
        content.push(json!({"type": "text", "text": text}));
    }
    let waits = outcome.report.state == CallState::Waiting;
    json!({"content": content, "isError": outcome.is_error && !waits})
}
