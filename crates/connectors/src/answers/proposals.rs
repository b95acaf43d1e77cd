//! Shows changes that wait for approval in the chat, and reads the buttons by which people decide
//! on them.

use onyx_storage::{NewPart, PeerRow};
use onyx_types::{AsksFor, DraftId, Fault, Preview};

use super::fold::Proposal;
use crate::connector::Button;
use crate::context::AccountContext;
use crate::outbox::{Destination, parts_with_buttons};
use crate::port::DraftVerdict;

/// A longer preview is not sent to the chat; the message links to the app instead.
const LONGEST_PREVIEW: usize = 24_000;

pub(super) async fn proposal_parts(
    context: &AccountContext,
    peer: &PeerRow,
    thread: &str,
    update: i64,
    proposal: &Proposal,
) -> Result<Vec<NewPart>, Fault> {
    let number = context.ledger.number_proposal(peer.id, proposal.draft).await?;
    let traits = context.connector.traits();
    let name = format!("in:{update}:proposal:{}", proposal.draft);
    let to = Destination { peer: &peer.key, thread, name: &name };
    let text = text(number, proposal, context.port.link().as_deref());
    let buttons = match proposal.asks_for {
        AsksFor::Approval => buttons(proposal.draft),
        AsksFor::Answer => answer_buttons(proposal.draft, proposal.preview.options()),
    };
    parts_with_buttons(&traits, to, &text, &buttons)
}

fn text(number: u64, proposal: &Proposal, link: Option<&str>) -> String {
    let preview = match &proposal.preview {
        Preview::None => String::new(),
        Preview::Text { text } => fenced("", &onyx_types::visible(text)),
        Preview::Diff { path, unified, .. } => {
            format!("`{path}`\n\n{}", fenced("diff", &onyx_types::visible(unified)))
        }
        Preview::Choice { text, options } => {
            let text = fenced("", &onyx_types::visible(text));
            format!("{text}\n\n{}", numbered(options))
        }
    };
    let preview = if preview.len() <= LONGEST_PREVIEW {
        preview
    } else {
        match link {
            Some(link) => format!("The whole change is too long for a chat: {link}/inbox"),
            None => {
                "The whole change is too long for a chat; look at it in the app's Inbox.".to_owned()
            }
        }
    };
    let summary = onyx_types::visible_line(&proposal.summary).into_owned();
    let ask = match proposal.asks_for {
        AsksFor::Approval => format!("/approve {number} or /reject {number}"),
        AsksFor::Answer if proposal.preview.options().is_empty() => {
            format!("/approve {number} followed by your answer")
        }
        AsksFor::Answer => format!("/approve {number} followed by your answer or its number"),
    };
    format!("**Approval {number}:** {summary}\n\n{preview}\n\n{ask}")
}

fn fenced(language: &str, text: &str) -> String {
    // The fence must be longer than any run of backticks in the text, so that the text cannot close
    // it.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

fn buttons(draft: DraftId) -> Vec<Button> {
    vec![
        Button { label: "Approve".to_owned(), data: format!("approve:{draft}") },
        Button { label: "Reject".to_owned(), data: format!("reject:{draft}") },
    ]
}

/// Networks allow only a few bytes of data in a button, so the button holds the option's number and
/// not its text.
fn answer_buttons(draft: DraftId, options: &[String]) -> Vec<Button> {
    let numbered = options.iter().enumerate();
    let button = |(index, option): (usize, &String)| Button {
        label: onyx_types::visible_line(option).into_owned(),
        data: format!("answer{index}:{draft}"),
    };
    numbered.map(button).collect()
}

/// The options are listed in the text even if there are buttons, because a network may cut the
/// labels or have no buttons.
fn numbered(options: &[String]) -> String {
    let numbered = options.iter().enumerate();
    let line = |(index, option): (usize, &String)| {
        format!("{}. {}", index + 1, onyx_types::visible_line(option))
    };
    numbered.map(line).collect::<Vec<_>>().join("\n")
}

/// The decision that a pressed button stands for; `None` if Onyx did not make the button.
pub(super) fn pressed(data: &str) -> Option<(DraftVerdict, DraftId)> {
    let (verdict, draft) = data.split_once(':')?;
    let verdict = match verdict {
        "approve" => DraftVerdict::Approve,
        "reject" => DraftVerdict::Reject,
        other => DraftVerdict::Choose(other.strip_prefix("answer")?.parse().ok()?),
    };
    Some((verdict, draft.parse().ok()?))
}
