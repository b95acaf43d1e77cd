use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chats::{chatgpt, claude, open_webui};
use crate::error::ImportError;
use crate::form::{Import, Item};
use crate::reading::{BrokenFiles, OpenedExport, Reading};
use crate::{nanobot, openclaw};

/// The program that data is imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ImportSource")]
pub enum Source {
    #[serde(rename = "openclaw")]
    OpenClaw,
    Nanobot,
    #[serde(rename = "open-webui")]
    OpenWebUi,
    #[serde(rename = "chatgpt")]
    ChatGpt,
    Claude,
}

impl Source {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenClaw => "openclaw",
            Self::Nanobot => "nanobot",
            Self::OpenWebUi => "open-webui",
            Self::ChatGpt => "chatgpt",
            Self::Claude => "claude",
        }
    }
}

/// Reads a whole folder, file or ZIP archive of that program without changing it.
pub fn read(source: Source, path: &Path, broken: BrokenFiles) -> Result<Import, ImportError> {
    let opened = OpenedExport::at(path)?;
    let mut reading = Reading::new(broken);
    match source {
        Source::OpenClaw => openclaw::read(&opened, &mut reading)?,
        Source::Nanobot => nanobot::read(&opened, &mut reading)?,
        Source::OpenWebUi => open_webui::read(&opened, &mut reading)?,
        Source::ChatGpt => chatgpt::read(&opened, &mut reading)?,
        Source::Claude => claude::read(&opened, &mut reading)?,
    }
    Ok(reading.finish())
}

/// Reads the lines that [`Import::lines`] wrote.
pub fn read_lines(path: &Path) -> Result<Import, ImportError> {
    let file = File::open(path).map_err(ImportError::io(path))?;
    let mut items = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(ImportError::io(path))?;
        let item: Item = serde_json::from_str(&line)
            .map_err(|error| ImportError::broken("the items", index + 1, error.to_string()))?;
        items.push(item);
    }
    Ok(Import { items })
}

impl Import {
    /// The items, one a line, to be sent to a server.
    pub fn lines(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut lines = Vec::new();
        for item in &self.items {
            serde_json::to_writer(&mut lines, item)?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}
