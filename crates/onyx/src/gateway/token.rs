//! The owner's token: from the config, else from a file that the first start creates.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use onyx_identity::Token;

use crate::config::Config;
use crate::files::{self, WriteOutcome};
use crate::home::HomeFolder;

/// The place of the token in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenPlace {
    Config(PathBuf),
    File(PathBuf),
}

impl std::fmt::Display for TokenPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Config(path) => write!(f, "gateway.auth.token in {}", path.display()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

pub(crate) fn place(home: &HomeFolder, config: &Config) -> TokenPlace {
    match config.gateway.auth.token {
        Some(_) => TokenPlace::Config(home.config()),
        None => TokenPlace::File(home.token()),
    }
}

/// The token in use under this config.
pub(super) fn token(home: &HomeFolder, config: &Config) -> Result<Token> {
    match config.gateway.token()? {
        Some(token) => Ok(token.clone()),
        None => of_file(home),
    }
}

fn of_file(home: &HomeFolder) -> Result<Token> {
    let path = home.token();
    if files::write_new(&path, &format!("{}\n", fresh()?))? == WriteOutcome::Kept {
        files::only_owner(&path)?;
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read the token in {}", path.display()))?;
    let token = text.trim();
    if token.is_empty() {
        bail!("{} is empty; delete it, and the next start creates a new one", path.display());
    }
    Ok(Token::new(token))
}

fn fresh() -> Result<String> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).context("the system provides no random numbers")?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("onyx_sk_{digits}"))
}
