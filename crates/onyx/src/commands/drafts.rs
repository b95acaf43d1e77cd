//! `onyx drafts`: shows and decides what agents proposed.

use std::io::IsTerminal;

use anyhow::Result;
use onyx_types::{DraftId, ErrorCode, Fault, Preview, visible_line};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{input, show, through};
use crate::cli::{AsJson, DraftsCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

const DRAFTS: &str = "/api/pending-changes";

#[derive(Deserialize)]
struct Drafts {
    drafts: Vec<Draft>,
}

/// A draft as the server shows it.
#[derive(Deserialize)]
pub(super) struct Draft {
    id: DraftId,
    state: String,
    effect: String,
    summary: String,
    preview: Preview,
    agent: String,
    tainted: bool,
    created_at: String,
    expires_at: String,
    plan_hash: String,
    reason: Option<String>,
    output: Option<String>,
}

impl Draft {
    fn line(&self) -> String {
        let at = self.created_at.get(..16).unwrap_or_default();
        let summary = visible_line(&self.summary);
        format!("{}  {at}  {:<10} {:<8} {summary}", self.id, self.state, self.effect)
    }

    /// The whole draft, as a person must see it to decide.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.summary.clone()];
        let read = if self.tainted { ", after reading from outside" } else { "" };
        lines.push(format!("{} by {}{read}: {}", self.effect, self.agent, self.state));
        if let Some(reason) = &self.reason {
            lines.push(format!("reason: {reason}"));
        }
        lines.push(String::new());
        lines.extend(preview_lines(&self.preview));
        if let Some(output) = &self.output {
            lines.push(String::new());
            lines.push(output.clone());
        }
        lines.push(String::new());
        lines.push(format!("{}, expires {}", self.id, self.expires_at));
        lines
    }
}

pub(super) fn preview_lines(preview: &Preview) -> Vec<String> {
    match preview {
        Preview::None => Vec::new(),
        Preview::Text { text } => text.lines().map(str::to_owned).collect(),
        Preview::Diff { unified, .. } => unified.lines().map(str::to_owned).collect(),
        Preview::Choice { text, options } => {
            let numbered = options.iter().enumerate();
            let numbered = numbered.map(|(index, option)| format!("{}. {option}", index + 1));
            text.lines().map(str::to_owned).chain(numbered).collect()
        }
    }
}

pub(crate) async fn run(home: &HomeFolder, command: DraftsCommand) -> Result<Exit> {
    through(home, async |client| match command {
        DraftsCommand::List { all, limit, json } => {
            let state = if all { "" } else { "&state=pending" };
            let path = format!("{DRAFTS}?limit={limit}{state}");
            let lines = |page: Drafts| page.drafts.iter().map(Draft::line).collect();
            show(client.get(&path).await?, json, lines).await
        }
        DraftsCommand::Show { draft, json } => {
            let path = format!("{DRAFTS}/{draft}");
            show(client.get(&path).await?, json, |draft: Draft| draft.lines()).await
        }
        DraftsCommand::Approve { draft, reason, yes, json } => {
            let seen: Draft = client.get_json(&format!("{DRAFTS}/{draft}")).await?;
            if !yes && !agreed(&seen).await? {
                output::aside("not approved; the draft still waits");
                return Ok(());
            }
            let reason = reason.map(|words| seen.preview.answer_meant(&words).to_owned());
            let text = DecisionText { reason, plan_hash: Some(seen.plan_hash) };
            decide(client, draft, "approve", text, json).await
        }
        DraftsCommand::Reject { draft, reason, json } => {
            decide(client, draft, "reject", DecisionText { reason, plan_hash: None }, json).await
        }
    })
    .await
}

struct DecisionText {
    reason: Option<String>,
    plan_hash: Option<String>,
}

async fn decide(
    client: &Client,
    draft: DraftId,
    decision: &str,
    text: DecisionText,
    json: AsJson,
) -> Result<(), ClientError> {
    let mut body = Map::new();
    body.extend(text.reason.map(|reason| ("reason".to_owned(), reason.into())));
    body.extend(text.plan_hash.map(|hash| ("plan_hash".to_owned(), hash.into())));
    let path = format!("{DRAFTS}/{draft}/{decision}");
    let response = client.post(&path, &Value::Object(body)).await?;
    show(response, json, |draft: Draft| {
        let mut lines = vec![format!("{}: {}", draft.state, draft.summary)];
        lines.extend(draft.output);
        lines
    })
    .await
}

async fn agreed(draft: &Draft) -> Result<bool, ClientError> {
    if !std::io::stdin().is_terminal() {
        let fault = Fault::new(ErrorCode::ConfirmationRequired, "there is no terminal to ask at");
        return Err(ClientError::Refused(fault.with_hint("Confirm with --yes.")));
    }
    draft.lines().iter().for_each(|line| output::aside(line));
    Ok(input::confirm("Approve? [y/N] ").await)
}

/// A person's answer to a run that waits, given at the terminal.
pub(super) async fn answer(
    client: &Client,
    draft: DraftId,
    reply: &Reply,
) -> Result<(), ClientError> {
    let (decision, body) = match reply {
        Reply::Yes => ("approve", json!({})),
        Reply::Words(words) => ("approve", json!({"reason": words})),
        Reply::No => ("reject", json!({})),
    };
    client.post(&format!("{DRAFTS}/{draft}/{decision}"), &body).await?;
    Ok(())
}

pub(super) enum Reply {
    Yes,
    /// The answer to a question.
    Words(String),
    No,
}
