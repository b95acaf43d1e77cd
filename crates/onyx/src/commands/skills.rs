//! `onyx skills`: manages skills, the instructions that agents open when they need them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{done, listed, show, through};
use crate::cli::{AsJson, SkillsCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;

const SKILLS: &str = "/api/skills";
/// The largest number of files that one request may add.
const MOST_FILES: usize = 5_000;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Deserialize)]
struct Skills {
    skills: Vec<Skill>,
}

#[derive(Deserialize)]
struct Skill {
    name: String,
    place: String,
    agent: Option<String>,
    path: String,
    state: String,
    problem: Option<String>,
    description: String,
    allowed_tools: Option<String>,
    hash: String,
    files: std::collections::BTreeMap<String, u64>,
    text: Option<String>,
    diff: Option<String>,
}

impl Skill {
    fn line(&self) -> String {
        let owner = match &self.agent {
            Some(agent) => format!("agent {agent}"),
            None => self.place.replace('_', " "),
        };
        let what = self.problem.as_deref().unwrap_or(&self.description);
        format!("{:<24} {:<9} {owner:<14} {what}", self.name, self.state)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {} ({})", self.name, self.state, self.path)];
        lines.extend(self.problem.iter().map(|why| format!("problem: {why}")));
        lines.extend(
            self.allowed_tools
                .iter()
                .map(|tools| format!("it asks for the tools: {tools} (asking allows nothing)")),
        );
        lines.extend(self.files.iter().map(|(name, size)| format!("file: {name} ({size} bytes)")));
        match &self.diff {
            Some(diff) => {
                lines.push(format!("It waits for you: onyx skills accept {}", self.name));
                lines.extend(diff.lines().map(str::to_owned));
            }
            None => lines.extend(self.text.iter().flat_map(|text| text.lines()).map(str::to_owned)),
        }
        lines
    }
}

pub(crate) async fn run(home: &HomeFolder, command: SkillsCommand) -> Result<Exit> {
    // The files on this machine are read before the server is contacted.
    let brought = match &command {
        SkillsCommand::Add { from, .. } => Some(brought(from)?),
        SkillsCommand::List(_)
        | SkillsCommand::Show { .. }
        | SkillsCommand::Accept { .. }
        | SkillsCommand::Remove { .. } => None,
    };
    through(home, async |client| match command {
        SkillsCommand::List(json) => {
            let none =
                "There are no skills. Add some with: onyx skills add <folder, zip or address>";
            let lines = |all: Skills| listed(&all.skills, Skill::line, none);
            show(client.get(SKILLS).await?, json, lines).await
        }
        SkillsCommand::Show { skill, agent, json } => {
            let query = agent.map(|agent| format!("?agent={agent}")).unwrap_or_default();
            let response = client.get(&format!("{SKILLS}/{skill}{query}")).await?;
            show(response, json, |skill: Skill| skill.lines()).await
        }
        SkillsCommand::Add { accept, json, .. } => {
            let body = brought.unwrap_or_default();
            let response = client.post(&format!("{SKILLS}/import"), &body).await?;
            let added: Value = response.json().await.map_err(ClientError::Unreachable)?;
            let added = if accept { accept_all(client, &added).await? } else { added };
            report(&added, json)
        }
        SkillsCommand::Accept { skill, json } => {
            let seen: Skill = client.get_json(&format!("{SKILLS}/{skill}")).await?;
            let address = format!("{SKILLS}/{skill}/accept");
            let response = client.post(&address, &json!({"hash": seen.hash})).await?;
            show(response, json, |skill: Skill| vec![skill.line()]).await
        }
        SkillsCommand::Remove { skill, json } => {
            client.delete(&format!("{SKILLS}/{skill}")).await?;
            done(json, &format!("{skill} is removed; the last versions of its files are kept"));
            Ok(())
        }
    })
    .await
}

/// Accepts exactly the skills that were added.
async fn accept_all(client: &Client, added: &Value) -> Result<Value, ClientError> {
    let mut accepted = Vec::new();
    for skill in added["skills"].as_array().into_iter().flatten() {
        let name = skill["name"].as_str().unwrap_or_default();
        let address = format!("{SKILLS}/{name}/accept");
        let response = client.post(&address, &json!({"hash": skill["hash"]})).await?;
        accepted.push(response.json::<Value>().await.map_err(ClientError::Unreachable)?);
    }
    Ok(json!({"skills": accepted}))
}

fn report(added: &Value, json: AsJson) -> Result<(), ClientError> {
    if json.json {
        crate::output::json(added);
        return Ok(());
    }
    let added = Skills::deserialize(added).map_err(|error| ClientError::unreadable(&error))?;
    for skill in &added.skills {
        crate::output::line(&skill.line());
        if skill.state == "new" {
            let name = &skill.name;
            crate::output::line(&format!("  review it: onyx skills show {name}"));
            crate::output::line(&format!("  accept it: onyx skills accept {name}"));
        }
    }
    Ok(())
}

/// The body of the request: the files of a folder, an archive, or an address.
fn brought(from: &str) -> Result<Value> {
    if from.contains("://") || from.starts_with("git@") {
        return Ok(json!({"git": from}));
    }
    let path = Path::new(from);
    let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
    if path.is_dir() {
        let folder = fs::canonicalize(path).with_context(|| from.to_owned())?;
        let name = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let mut files = Vec::new();
        collect(&folder, &folder, &mut files, &mut 0)?;
        return Ok(json!({"name": name, "files": files}));
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {from}"))?;
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("md") => {
            let file = path.file_name().and_then(|name| name.to_str()).unwrap_or("SKILL.md");
            let file = json!({"path": file, "content": STANDARD.encode(bytes)});
            Ok(json!({"name": name, "files": [file]}))
        }
        Some("zip" | "skill") => Ok(json!({"name": name, "zip": STANDARD.encode(bytes)})),
        Some(_) | None => bail!("{from} is neither a folder nor a .zip or .md file"),
    }
}

/// Files below a folder. Links are left out: they may lead anywhere.
pub(super) fn collect(
    root: &Path,
    folder: &Path,
    files: &mut Vec<Value>,
    bytes: &mut u64,
) -> Result<()> {
    let cannot = || format!("cannot read {}", folder.display());
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).with_context(cannot)?.collect();
    let mut paths: Vec<PathBuf> =
        entries.with_context(cannot)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let meta = path.symlink_metadata().with_context(cannot)?;
        let is_git = path.file_name().is_some_and(|name| name == ".git");
        if meta.is_dir() && !is_git {
            collect(root, &path, files, bytes)?;
        } else if meta.is_file() {
            *bytes += meta.len();
            if files.len() == MOST_FILES || *bytes > MOST_BYTES {
                bail!("{} holds more files than can be added at once", root.display());
            }
            let name = path.strip_prefix(root).unwrap_or(&path);
            let name = name.to_str().with_context(|| format!("{} is not UTF-8", name.display()))?;
            let content = fs::read(&path).with_context(|| format!("cannot read {name}"))?;
            files.push(json!({"path": name, "content": STANDARD.encode(content)}));
        }
    }
    Ok(())
}
