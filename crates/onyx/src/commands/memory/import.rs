//! Memory of an OpenClaw workspace: `MEMORY.md` and `memory/*.md`. Nothing that is here is lost,
//! and bringing it twice changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use onyx_types::AgentId;
use serde::Serialize;
use serde_json::json;

use super::{read, told, write};
use crate::cli::AsJson;
use crate::client::{Client, ClientError};
use crate::commands::through;
use crate::exit::Exit;
use crate::home::HomeFolder;

/// A file and where it goes.
struct Import {
    from: PathBuf,
    to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    New,
    Added,
    AlreadyThere,
}

pub(super) async fn run(
    home: &HomeFolder,
    folder: &Path,
    agent: Option<&AgentId>,
    json: AsJson,
) -> Result<Exit> {
    let agent = agent.map_or("main", AgentId::as_str);
    let imports = imports(folder, agent)?;
    if imports.is_empty() {
        bail!("{} holds no MEMORY.md and no memory/*.md", folder.display());
    }
    let mut texts = Vec::new();
    for import in imports {
        let text = fs::read_to_string(&import.from)
            .with_context(|| format!("{} cannot be read", import.from.display()))?;
        texts.push((import.to, text));
    }
    through(home, async |client| {
        for (to, text) in &texts {
            let outcome = bring(client, to, text).await?;
            let words = match outcome {
                Outcome::New => "brought",
                Outcome::Added => "added to",
                Outcome::AlreadyThere => "already in",
            };
            told(json, &json!({"path": to, "outcome": outcome}), &format!("{words} {to}"));
        }
        Ok(())
    })
    .await
}

fn imports(folder: &Path, agent: &str) -> Result<Vec<Import>> {
    let mut imports = Vec::new();
    let memory = folder.join("MEMORY.md");
    if memory.is_file() {
        imports.push(Import { from: memory, to: format!("memory/{agent}/MEMORY.md") });
    }
    let logs = folder.join("memory");
    if !logs.is_dir() {
        return Ok(imports);
    }
    let entries =
        fs::read_dir(&logs).with_context(|| format!("{} cannot be read", logs.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("{} cannot be read", logs.display()))?;
        if entry.path().is_file()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort();
    for name in names.iter().filter(|name| name.ends_with(".md") && !name.starts_with('.')) {
        let to = match is_day(name.trim_end_matches(".md")) {
            true => format!("memory/{agent}/daily/{name}"),
            false => format!("memory/{agent}/{name}"),
        };
        imports.push(Import { from: logs.join(name), to });
    }
    Ok(imports)
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

async fn bring(client: &Client, to: &str, text: &str) -> Result<Outcome, ClientError> {
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
