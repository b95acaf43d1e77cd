//! Writes the page that a run of an action leaves in the vault, made from the run's events.

use std::fmt::Write as _;

use onyx_storage::{Area, Change, Expect, Files, ObjectKey, StoreError};
use onyx_types::{
    ActionRun, Author, Event, Origin, RunId, SessionKey, Taint, Timestamp, ToolUseId, Zone,
};
use serde_json::Value;

use crate::step::RunSummary;

/// The most bytes of one tool's output on the page. The session's log holds all of it.
const LONGEST_OUTPUT: usize = 4 * 1024;

/// The name of an action in the record of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionName {
    pub id: String,
    pub label: String,
}

impl ActionName {
    /// The action with its page, as the run's events and log name it.
    pub(crate) fn run(self, run: RunId, started: Timestamp, zone: &Zone) -> ActionRun {
        let Self { id, label } = self;
        ActionRun { id, label, page: format!("vault/{}", page_of(run, started, zone)) }
    }
}

/// Where in the vault the pages of runs lie, by year, month and day.
pub(crate) const PAGES_FOLDER: &str = "agent/runs";

/// The path of a run's page in the vault, by the person's date.
fn page_of(run: RunId, started: Timestamp, zone: &Zone) -> String {
    let day = zone.date(started).replace('-', "/");
    format!("{PAGES_FOLDER}/{day}/{run}.md")
}

pub(crate) struct RunReport {
    action: ActionName,
    prompt: String,
    started: Timestamp,
    run: RunId,
    model: String,
    answers: Vec<String>,
    tools: Vec<ToolUse>,
    drafts: Vec<String>,
    errors: Vec<String>,
}

struct ToolUse {
    id: ToolUseId,
    tool: String,
    input: Value,
    summary: String,
    result: Option<(bool, String)>,
}

impl RunReport {
    pub(crate) fn new(run: RunId, action: ActionName, prompt: String, started: Timestamp) -> Self {
        Self {
            action,
            prompt,
            started,
            run,
            model: String::new(),
            answers: Vec::new(),
            tools: Vec::new(),
            drafts: Vec::new(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn add_event(&mut self, event: &Event) {
        match event {
            Event::Start { model, .. } => self.model.clone_from(model),
            Event::TextComplete { text, .. } if !text.is_empty() => self.answers.push(text.clone()),
            Event::ToolCall { tool_use_id, tool, input, summary, .. } => self.tools.push(ToolUse {
                id: tool_use_id.clone(),
                tool: tool.clone(),
                input: input.clone(),
                summary: summary.clone(),
                result: None,
            }),
            Event::ToolResult { tool_use_id, ok, output, .. } => {
                let call = self.tools.iter_mut().rfind(|call| call.id == *tool_use_id);
                if let Some(call) = call {
                    call.result = Some((*ok, output.clone()));
                }
            }
            Event::Draft { draft_id, summary, .. } | Event::Confirm { draft_id, summary, .. } => {
                self.drafts.push(format!("{summary} ({draft_id})"));
            }
            Event::Error { code, message, .. } => self.errors.push(format!("{code}: {message}")),
            Event::TextComplete { .. }
            | Event::TextDelta { .. }
            | Event::ReasoningDelta { .. }
            | Event::ToolOutput { .. }
            | Event::Context { .. }
            | Event::Status { .. }
            | Event::Usage { .. }
            | Event::Done { .. } => {}
        }
    }

    /// Writes `agent/runs/YYYY/MM/DD/<run>.md` with the origin of an agent's words.
    pub(crate) async fn keep(
        self,
        files: &dyn Files,
        key: &SessionKey,
        summary: &RunSummary,
        zone: &Zone,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let path: ObjectKey = page_of(self.run, self.started, zone).parse()?;
        let text = self.markdown(key, summary, now);
        let origin = match summary.taint {
            Taint::Clean => Origin::Agent,
            Taint::Tainted => Origin::AgentTainted,
        };
        let author = Author::Agent(key.agent.clone());
        // The page is not recorded as a change of the run, so that undoing the run does not remove
        // its record.
        let change = Change { ts: now, author, origin, run: None, tool: "action".to_owned() };
        let kept_as = format!("vault/{path}").parse()?;
        let after = Some(text.as_bytes());
        files.history(&key.person)?.keep(&kept_as, None, after, change).await?;
        let vault = files.objects(&Area::Vault(key.person.clone()))?;
        vault.put(&path, text.as_bytes(), Expect::Absent).await?;
        Ok(())
    }

    fn markdown(&self, key: &SessionKey, summary: &RunSummary, ended: Timestamp) -> String {
        let usage = &summary.usage;
        let cost = usage.cost.map_or("unknown".to_owned(), |cost| format!("{cost}"));
        let mut text = format!(
            "---\naction: {}\nrun: {}\nsession: {}\nmodel: {}\nstatus: {}\nstarted: {}\n\
             ended: {ended}\ninput_tokens: {}\noutput_tokens: {}\ncost: {cost}\n---\n# {}\n",
            Value::from(self.action.id.as_str()),
            self.run,
            key.session,
            Value::from(self.model.as_str()),
            summary.status.as_str(),
            self.started,
            usage.input,
            usage.output,
            self.action.label,
        );
        section(&mut text, "Prompt", &self.prompt);
        if !self.tools.is_empty() {
            text.push_str("\n## Tools\n");
            self.tools.iter().for_each(|tool| tool.write(&mut text));
        }
        if !self.drafts.is_empty() {
            let lines: Vec<String> = self.drafts.iter().map(|line| format!("- {line}")).collect();
            section(&mut text, "Drafts", &lines.join("\n"));
        }
        if !self.answers.is_empty() {
            section(&mut text, "Answer", &self.answers.join("\n\n"));
        }
        if !self.errors.is_empty() {
            section(&mut text, "Error", &self.errors.join("\n"));
        }
        text
    }
}

impl ToolUse {
    fn write(&self, text: &mut String) {
        let (state, output) = match &self.result {
            Some((true, output)) => ("ok", output.as_str()),
            Some((false, output)) => ("failed", output.as_str()),
            None => ("no result", ""),
        };
        let input = format!("{:#}", self.input);
        // Writing into a string cannot fail.
        let _ =
            write!(text, "\n### {}: {} ({state})\n\n{}", self.tool, self.summary, fenced(&input));
        if !output.is_empty() {
            let _ = write!(text, "\n{}", fenced(&shortened(output)));
        }
    }
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim_end());
}

/// Puts the text into a fence longer than any in it, so that nothing in it ends the fence.
fn fenced(body: &str) -> String {
    let runs = body.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", body.trim_end())
}

fn shortened(output: &str) -> String {
    if output.len() <= LONGEST_OUTPUT {
        return output.to_owned();
    }
    let end = output.floor_char_boundary(LONGEST_OUTPUT);
    format!("{}\n[{} more bytes in the session]", &output[..end], output.len() - end)
}
