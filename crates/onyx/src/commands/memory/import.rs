//! Imports the memory of an OpenClaw workspace: `MEMORY.md` (or `memory.md`) and all markdown in
//! `memory/`. Existing memory is kept, a second import changes nothing, and every file that is left
//! out is reported.

use std::fs::{self, DirEntry};
use std::path::Path;

use anyhow::{Context, Result, bail};
use onyx_types::{AgentId, ErrorCode, Fault};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{read, report_change, write};
use crate::cli::AsJson;
use crate::client::{Client, ClientError};
use crate::commands::through;
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

/// The names of the main memory file; OpenClaw reads either.
const NAMES: [&str; 2] = ["MEMORY.md", "memory.md"];
/// How many levels of folders below `memory/` are read.
const DEEPEST: usize = 16;

/// A text and where it goes within the agent's memory.
struct Import {
    to: String,
    text: String,
}

/// The texts of a workspace and the files that are left out.
#[derive(Default)]
struct Workspace {
    imports: Vec<Import>,
    /// The files that are left out, each with the reason.
    left_out: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    New,
    Added,
    AlreadyThere,
}

#[derive(Deserialize)]
struct Agents {
    agents: Vec<Agent>,
}

#[derive(Deserialize)]
struct Agent {
    id: AgentId,
    default: bool,
}

pub(super) async fn run(
    home: &HomeFolder,
    folder: &Path,
    agent: Option<&AgentId>,
    json: AsJson,
) -> Result<Exit> {
    // Everything is read before anything is written: an unreadable file stops the import.
    let Workspace { imports, left_out } = Workspace::read(folder)?;
    for words in &left_out {
        output::aside(&format!("left out: {words}"));
    }
    if imports.is_empty() {
        bail!("{} holds no MEMORY.md and no memory/*.md", folder.display());
    }
    through(home, async |client| {
        let agent = chosen_agent(client, agent).await?;
        for Import { to, text } in &imports {
            let to = format!("memory/{agent}/{to}");
            let outcome = import_text(client, &to, text).await?;
            let words = match outcome {
                Outcome::New => "imported",
                Outcome::Added => "added to",
                Outcome::AlreadyThere => "already in",
            };
            report_change(json, &json!({"path": to, "outcome": outcome}), &format!("{words} {to}"));
        }
        Ok(())
    })
    .await
}

/// The agent with this name, or the default agent without a name.
async fn chosen_agent(client: &Client, named: Option<&AgentId>) -> Result<AgentId, ClientError> {
    let Agents { agents } = client.get_json("/v1/agents").await?;
    let mut agents = agents.into_iter();
    let found = match named {
        Some(id) => agents.find(|agent| agent.id == *id),
        None => agents.find(|agent| agent.default),
    };
    found.map(|agent| agent.id).ok_or_else(|| {
        let who = named.map_or("a default agent", AgentId::as_str);
        let fault = Fault::new(ErrorCode::NotFound, format!("there is no agent {who}"));
        ClientError::Refused(fault.with_hint("`onyx doctor` lists the agents."))
    })
}

impl Workspace {
    fn read(folder: &Path) -> Result<Self> {
        let mut workspace = Self::default();
        for entry in entries(folder)? {
            // The exact spelling counts, even on a file system where `MEMORY.md` opens `memory.md`.
            if NAMES.iter().any(|name| entry.file_name() == *name) && entry.path().is_file() {
                workspace.take(&entry.path(), "MEMORY.md".to_owned())?;
            }
        }
        let memory = folder.join("memory");
        if memory.is_dir() {
            workspace.look_through(&memory, "", DEEPEST)?;
        }
        Ok(workspace)
    }

    fn look_through(&mut self, folder: &Path, below: &str, deeper: usize) -> Result<()> {
        for entry in entries(folder)? {
            let path = entry.path();
            let kind =
                entry.file_type().with_context(|| format!("{} cannot be read", path.display()))?;
            let Ok(name) = entry.file_name().into_string() else {
                self.leave_out(&path, "its name is not UTF-8");
                continue;
            };
            if name.starts_with('.') {
                self.leave_out(&path, "it is hidden");
            } else if kind.is_dir() && deeper == 0 {
                self.leave_out(&path, "it is in too many nested folders");
            } else if kind.is_dir() {
                self.look_through(&path, &format!("{below}{name}/"), deeper - 1)?;
            } else if !path.is_file() || !name.ends_with(".md") {
                self.leave_out(&path, "it is not a markdown file");
            } else if below.is_empty() && is_day(name.trim_end_matches(".md")) {
                self.take(&path, format!("daily/{name}"))?;
            } else {
                self.take(&path, format!("{below}{name}"))?;
            }
        }
        Ok(())
    }

    fn take(&mut self, from: &Path, to: String) -> Result<()> {
        let text = fs::read_to_string(from)
            .with_context(|| format!("{} cannot be read", from.display()))?;
        self.imports.push(Import { to, text });
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.left_out.push(format!("{}: {why}", path.display()));
    }
}

/// The entries of a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let read = || fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>();
    let mut entries = read().with_context(|| format!("{} cannot be read", folder.display()))?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

fn is_day(name: &str) -> bool {
    let digits = |part: &str, count: usize| {
        part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match name.split('-').collect::<Vec<_>>().as_slice() {
        [year, month, day] => digits(year, 4) && digits(month, 2) && digits(day, 2),
        _ => false,
    }
}

async fn import_text(client: &Client, to: &str, text: &str) -> Result<Outcome, ClientError> {
    match read(client, to).await? {
        None => {
            write(client, to, text.to_owned(), None).await?;
            Ok(Outcome::New)
        }
        Some((here, _)) if here.contains(text.trim()) => Ok(Outcome::AlreadyThere),
        Some((here, tag)) => {
            let both = format!("{}\n\n{}\n", here.trim_end(), text.trim());
            write(client, to, both, Some(&tag)).await?;
            Ok(Outcome::Added)
        }
    }
}
