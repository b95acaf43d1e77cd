//! `onyx memory edit`: opens a memory file in the person's own editor.

use std::io::Write as _;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempPath;

use super::{read, report_change, write};
use crate::cli::AsJson;
use crate::commands::refused;
use crate::env;
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

pub(super) async fn run(home: &HomeFolder, path: &str, json: AsJson) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let outcome = edit(&connection, path, json).await;
    connection.close().await;
    outcome
}

async fn edit(connection: &Connection, path: &str, json: AsJson) -> Result<Exit> {
    let client = connection.client();
    let before = match read(client, path).await {
        Ok(before) => before,
        Err(error) => return Ok(refused(&error)),
    };
    let (text, tag) = before.map_or((String::new(), None), |(text, tag)| (text, Some(tag)));
    let draft = draft(&text)?;
    let edited = match in_editor(&draft) {
        Ok(edited) => edited,
        Err(error) => {
            keep(draft, &text);
            return Err(error);
        }
    };
    if edited == text {
        output::aside("nothing was changed");
        return Ok(Exit::Done);
    }
    Ok(match write(client, path, edited, tag.as_deref()).await {
        Ok(()) => {
            report_change(
                json,
                &json!({"path": path}),
                &format!("{path} is written; see `onyx memory history {path}`"),
            );
            Exit::Done
        }
        Err(error) => {
            let exit = refused(&error);
            keep(draft, &text);
            exit
        }
    })
}

/// Keeps the edited text in a file when it could not be saved, so that no work is lost.
fn keep(draft: TempPath, before: &str) {
    if std::fs::read(&draft).is_ok_and(|now| now == before.as_bytes()) {
        return;
    }
    match draft.keep() {
        Ok(path) => output::aside(&format!("what you wrote is kept in {}", path.display())),
        Err(error) => output::aside(&format!("what you wrote could not be kept: {error}")),
    }
}

fn draft(text: &str) -> Result<TempPath> {
    let mut file = tempfile::Builder::new()
        .prefix("onyx-")
        .suffix(".md")
        .tempfile()
        .context("cannot create a file to edit")?;
    file.write_all(text.as_bytes()).context("cannot create a file to edit")?;
    Ok(file.into_temp_path())
}

fn in_editor(draft: &TempPath) -> Result<String> {
    let editor = env::editor();
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program)
        .args(words)
        .arg(draft.as_os_str())
        .status()
        .with_context(|| format!("the editor {program} cannot be started; set EDITOR"))?;
    if !status.success() {
        bail!("the editor {program} ended with {status}; nothing was written");
    }
    std::fs::read_to_string(draft).context("the edited file cannot be read")
}
