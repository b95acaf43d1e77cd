//! Shows one answer while it arrives; Ctrl-C stops it.

use std::io::IsTerminal;
use std::pin::pin;

use onyx_types::{DraftId, Fault, Preview, RunId, RunStatus, VisiblePieces};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ChatCommand;
use crate::client::{ChatLine, ChatLines, ClientError};
use crate::commands::drafts::{self, Reply};
use crate::commands::input;
use crate::exit::Exit;
use crate::output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Shows the words of the answer, for people.
    Words,
    /// The stream as it is.
    Lines,
}

/// The state of the answer as far as it has been shown.
#[derive(Default)]
struct AnswerSoFar {
    run: Option<RunId>,
    error: Option<Fault>,
    status: Option<RunStatus>,
    /// Whether the cursor is at the end of a line of words.
    mid_line: bool,
    pieces: VisiblePieces,
    /// The agent whose words were shown last, if several answer.
    speaker: Option<String>,
    stops: u32,
}

impl ChatCommand {
    /// Sends a message and shows the answer to its end.
    pub(super) async fn answer(&mut self, message: &str, show: Show) -> Exit {
        let interrupts = match signal(SignalKind::interrupt()) {
            Ok(interrupts) => interrupts,
            Err(error) => {
                output::error(&format!("cannot listen for Ctrl-C: {error}"));
                return Exit::Failed;
            }
        };
        let mut seen = AnswerSoFar::default();
        let outcome = self.follow(message, show, &mut seen, interrupts).await;
        if seen.mid_line {
            output::line("");
        }
        if show == Show::Words && seen.stops > 0 {
            output::aside("(stopped; the answer so far is kept)");
        }
        match outcome {
            Ok(()) => seen.exit(),
            Err(StreamStop::Twice) => Exit::Stopped,
            Err(StreamStop::Failed(error)) => {
                show.fault(&error.fault());
                error.exit()
            }
        }
    }

    async fn follow(
        &mut self,
        message: &str,
        show: Show,
        seen: &mut AnswerSoFar,
        mut interrupts: Signal,
    ) -> Result<(), StreamStop> {
        let body = self.body(message);
        let client = self.connection.client();
        let mut lines = tokio::select! {
            lines = client.chat(&body) => lines?,
            // Dropping the request stops the run that it had started.
            _ = interrupts.recv() => return Err(StreamStop::Twice),
        };
        while let Some(line) = self.next(&mut lines, seen, &mut interrupts).await? {
            if show == Show::Lines {
                output::json_text(&String::from_utf8_lossy(&line));
            }
            let line = ChatLine::parse(&line);
            if let ChatLine::Start { session_id, .. } = &line {
                self.session = Some(*session_id);
            }
            match line {
                ChatLine::Confirm { draft_id, tool, summary, preview } if show.can_ask() => {
                    seen.own_line();
                    let question = PendingQuestion { draft_id, tool, summary, preview };
                    self.ask(&question, &mut lines, seen, &mut interrupts).await?;
                }
                line => seen.take(line, show),
            }
        }
        Ok(())
    }

    /// Shows the draft that waits and asks. A decision made elsewhere, or Ctrl-C, ends the
    /// question.
    async fn ask(
        &self,
        question: &PendingQuestion,
        lines: &mut ChatLines,
        seen: &mut AnswerSoFar,
        interrupts: &mut Signal,
    ) -> Result<(), StreamStop> {
        output::aside(&format!("• {}", question.summary));
        for line in drafts::preview_lines(&question.preview) {
            output::aside(&format!("  {line}"));
        }
        let mut decided = pin!(question.reply());
        loop {
            tokio::select! {
                reply = &mut decided => {
                    let client = self.connection.client();
                    if let Err(error) = drafts::answer(client, question.draft_id, &reply).await {
                        output::fault(&error.fault());
                    }
                    return Ok(());
                }
                line = self.next(lines, seen, interrupts) => {
                    let Some(line) = line? else { return Ok(()) };
                    let line = ChatLine::parse(&line);
                    let goes_on = matches!(line, ChatLine::Status { .. });
                    seen.take(line, Show::Words);
                    if !goes_on {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The next line. The first Ctrl-C asks the server to stop the run and keeps reading to its
    /// end; a second one leaves at once.
    async fn next(
        &self,
        lines: &mut ChatLines,
        seen: &mut AnswerSoFar,
        interrupts: &mut Signal,
    ) -> Result<Option<bytes::Bytes>, StreamStop> {
        loop {
            tokio::select! {
                line = lines.next_raw() => return Ok(line?),
                _ = interrupts.recv() => {}
            }
            seen.stops += 1;
            match seen.run {
                Some(run) if seen.stops == 1 => {
                    let body = json!({"run_id": run.to_string()});
                    self.connection.client().post("/api/agent/stop", &body).await?;
                }
                _ => return Err(StreamStop::Twice),
            }
        }
    }
}

/// The draft that the person is asked to decide.
struct PendingQuestion {
    draft_id: DraftId,
    tool: String,
    summary: String,
    preview: Preview,
}

impl PendingQuestion {
    async fn reply(&self) -> Reply {
        match self.tool.as_str() {
            "ask_person" => {
                let prompt = if self.preview.options().is_empty() {
                    "Your answer: "
                } else {
                    "Your answer, or its number: "
                };
                let words = input::line(prompt).await;
                let meant = words.map(|words| self.preview.answer_meant(&words).to_owned());
                meant.map_or(Reply::No, Reply::Words)
            }
            _ if input::confirm("Approve? [y/N] ").await => Reply::Yes,
            _ => Reply::No,
        }
    }
}

/// Why reading the stream stopped before its end.
enum StreamStop {
    Twice,
    Failed(ClientError),
}

impl From<ClientError> for StreamStop {
    fn from(error: ClientError) -> Self {
        Self::Failed(error)
    }
}

impl Show {
    fn can_ask(self) -> bool {
        self == Self::Words && std::io::stdin().is_terminal()
    }

    fn fault(self, fault: &Fault) {
        match self {
            Self::Words => output::fault(fault),
            Self::Lines => output::json_text(
                &json!({
                    "type": "error", "message": fault.message, "code": fault.code,
                    "hint": fault.hint(),
                })
                .to_string(),
            ),
        }
    }
}

impl AnswerSoFar {
    fn take(&mut self, line: ChatLine, show: Show) {
        match line {
            ChatLine::Start { run_id, .. } => self.run = Some(run_id),
            ChatLine::Done { status } => self.status = Some(status),
            ChatLine::Error { message, code, hint } => {
                let fault = Fault::new(code, message).with_hint(hint);
                if show == Show::Words && self.stops == 0 {
                    self.own_line();
                    output::fault(&fault);
                }
                self.error = Some(fault);
            }
            line if show == Show::Words => self.show(line),
            _ => {}
        }
    }

    fn show(&mut self, line: ChatLine) {
        let aside = match line {
            ChatLine::Text { delta, agent } => {
                let delta = self.introduced(delta, agent);
                output::piece(&delta, &mut self.pieces);
                self.mid_line = !delta.ends_with('\n');
                return;
            }
            ChatLine::ToolCall { tool, args } => format!("• {tool} {}", brief(&args)),
            ChatLine::ToolResult { ok, summary } => {
                format!("  {} {summary}", if ok { "✓" } else { "✗" })
            }
            ChatLine::Status { message } => format!("({message})"),
            ChatLine::Draft { draft_id, tool, summary } => {
                format!("• {tool} proposes: {summary} (onyx drafts approve {draft_id})")
            }
            ChatLine::Confirm { draft_id, tool, summary, .. } => {
                format!("• {tool} waits for approval: {summary} (onyx drafts approve {draft_id})")
            }
            ChatLine::Start { .. }
            | ChatLine::Error { .. }
            | ChatLine::Done { .. }
            | ChatLine::Unknown => return,
        };
        self.own_line();
        output::aside(&aside);
    }

    /// If several agents answer, each is named when its words begin.
    fn introduced(&mut self, delta: String, agent: Option<String>) -> String {
        if agent == self.speaker {
            return delta;
        }
        self.speaker.clone_from(&agent);
        match agent {
            Some(agent) => {
                self.own_line();
                format!("[{agent}]: {}", delta.trim_start())
            }
            None => delta,
        }
    }

    fn own_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            output::line("");
        }
    }

    fn exit(&self) -> Exit {
        match (self.status, &self.error) {
            (Some(RunStatus::Done | RunStatus::AwaitingClient), _) => Exit::Done,
            (Some(RunStatus::Cancelled), _) => Exit::Stopped,
            (_, Some(fault)) => Exit::of(fault.code),
            _ => Exit::Failed,
        }
    }
}

/// The arguments of a call on one short line.
fn brief(args: &Value) -> String {
    const LONGEST: usize = 100;
    let text = match args {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name}={text}"),
                other => format!("{name}={other}"),
            })
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    };
    let line = text.replace(char::is_whitespace, " ");
    let mut short: String = line.chars().take(LONGEST).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_on_one_short_line() {
        let args = json!({"path": "a.md", "n": 3, "content": "x\ny".repeat(60)});
        let shown = brief(&args);
        assert!(shown.starts_with("path=a.md n=3 content=x yx yx"), "{shown}");
        assert_eq!((shown.chars().count(), shown.ends_with('…')), (101, true));
    }
}
