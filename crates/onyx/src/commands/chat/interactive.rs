//! An interactive conversation at the terminal; its input history is kept in the home.

use std::borrow::Cow;
use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result};
use reedline::{FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal};

use super::ChatCommand;
use super::answer::Show;
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

const REMEMBERED: usize = 1_000;

pub(super) async fn run(home: &HomeFolder, mut talk: ChatCommand) -> Result<Exit> {
    let mut editor = editor(home)?;
    output::aside("Enter sends, Ctrl-C stops an answer, Ctrl-D leaves. /new starts a new session.");
    loop {
        // The editor blocks its thread, but a gateway in this process must keep running.
        let signal = tokio::task::block_in_place(|| editor.read_line(&Plain));
        match signal.context("cannot read from the terminal")? {
            Signal::Success(text) if text.trim().is_empty() => {}
            Signal::Success(text) if text.trim() == "/new" => {
                talk.session = None;
                output::aside("your next message starts a new session");
            }
            Signal::Success(text) => {
                // The failure is already shown, and the conversation continues.
                let _ = talk.answer(&text, Show::Words).await;
            }
            Signal::CtrlC => output::aside("Ctrl-D leaves"),
            Signal::CtrlD => break,
            Signal::HostCommand(_) | Signal::ExternalBreak(_) | _ => {}
        }
    }
    if let Some(session) = talk.session {
        output::aside(&format!("continue with: onyx chat -s {session}"));
    }
    talk.connection.close().await;
    Ok(Exit::Done)
}

fn editor(home: &HomeFolder) -> Result<Reedline> {
    let path = home.chat_history();
    let history = FileBackedHistory::with_file(REMEMBERED, path.clone())
        .with_context(|| format!("cannot store the history in {}", path.display()))?;
    crate::files::only_owner(&path)?;
    Ok(Reedline::create()
        .with_history(Box::new(history))
        .with_ansi_colors(stderr().is_terminal() && !crate::env::no_color()))
}

struct Plain;

impl Prompt for Plain {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("› ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, _: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Borrowed("search › ")
    }
}
