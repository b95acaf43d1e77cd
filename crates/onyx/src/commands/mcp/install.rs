//! `onyx mcp install`: adds this Onyx to the config of another program, after showing the change.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use crate::cli::McpClient;
use crate::commands::input;
use crate::config::JsonText;
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::{env, output};

pub(super) async fn run(home: &HomeFolder, client: McpClient, yes: bool) -> Result<Exit> {
    let place = place(client)?;
    let before = match fs::read_to_string(&place.file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => bail!("cannot read {}: {error}", place.file.display()),
    };
    let entry = entry(client, home)?;
    let text = JsonText::parse(&before)
        .map_err(|error| anyhow!("{} cannot be changed: {error}", place.file.display()))?;
    text.put(&[place.section, "onyx"], &entry)
        .map_err(|error| anyhow!("{} cannot be changed: {error}", place.file.display()))?;
    let after = text.text();
    if after == before {
        output::line(&format!("{} already has Onyx", place.file.display()));
        return Ok(Exit::Done);
    }
    let name = place.file.display().to_string();
    output::line(&onyx_tools::unified_diff(&name, &before, &after));
    if !yes && !std::io::stdin().is_terminal() {
        bail!("nothing was written; confirm with --yes");
    }
    if !yes && !input::confirm("Write this? [y/N] ").await {
        output::line("Nothing was written.");
        return Ok(Exit::Done);
    }
    write(&place.file, &before, &after)?;
    output::line(&format!("Written to {name}. Restart the program."));
    Ok(Exit::Done)
}

/// The config file of another program, and the section that lists its MCP servers.
struct ClientConfigFile {
    file: PathBuf,
    section: &'static str,
}

fn place(client: McpClient) -> Result<ClientConfigFile> {
    let home = env::user_home().context("HOME is not set")?;
    let config = if cfg!(target_os = "macos") {
        home.join("Library/Application Support")
    } else {
        env::config_folder().context("HOME is not set")?
    };
    let (file, section) = match client {
        McpClient::Claude => {
            let desktop = config.join("Claude");
            // Without the desktop program, the one for the terminal is configured.
            let file = if desktop.is_dir() {
                desktop.join("claude_desktop_config.json")
            } else {
                home.join(".claude.json")
            };
            (file, "mcpServers")
        }
        McpClient::Cursor => (home.join(".cursor/mcp.json"), "mcpServers"),
        McpClient::Vscode => (config.join("Code/User/mcp.json"), "servers"),
        McpClient::Zed => {
            let folder = env::config_folder().context("HOME is not set")?;
            (folder.join("zed/settings.json"), "context_servers")
        }
    };
    Ok(ClientConfigFile { file, section })
}

/// The entry that starts this program with this home, independent of the other program's
/// environment.
fn entry(client: McpClient, home: &HomeFolder) -> Result<Value> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut entry = json!({
        "command": program,
        "args": ["mcp", "serve"],
        "env": {env::ONYX_HOME: home.path()},
    });
    match client {
        McpClient::Vscode => entry["type"] = json!("stdio"),
        McpClient::Zed => entry["source"] = json!("custom"),
        McpClient::Claude | McpClient::Cursor => {}
    }
    Ok(entry)
}

/// Replaces the file in one step; the old content stays in a file beside it.
fn write(file: &Path, before: &str, after: &str) -> Result<()> {
    let folder = file.parent().context("the file has no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let beside = |ending: &str| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        folder.join(format!("{name}.{ending}"))
    };
    if !before.is_empty() {
        fs::write(beside("before-onyx"), before).context("cannot keep the old content")?;
    }
    let part = beside("part");
    fs::write(&part, after).with_context(|| format!("cannot write {}", part.display()))?;
    fs::rename(&part, file).with_context(|| format!("cannot write {}", file.display()))
}
