//! Rules for paths of the vault as models write them: which are refused, and which steer agents.

use onyx_storage::ObjectKey;

use super::{instruction, key};
use crate::ToolError;

/// The config's rules for paths in the vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRules {
    pub hidden: HiddenPaths,
    /// Files and folders that count as instructions in addition to the usual ones.
    pub protected: Vec<ObjectKey>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HiddenPaths {
    #[default]
    Refused,
    Allowed,
}

impl PathRules {
    pub(crate) fn check(&self, path: &str) -> Result<ObjectKey, ToolError> {
        let key = key(path)?;
        if self.shows(&key) { Ok(key) } else { Err(ToolError::Refused(format!("{key} is hidden"))) }
    }

    pub(crate) fn shows(&self, key: &ObjectKey) -> bool {
        match self.hidden {
            HiddenPaths::Refused => !key.is_hidden(),
            HiddenPaths::Allowed => true,
        }
    }

    /// Whether agents or the person's own programs would obey the file.
    pub(crate) fn steers(&self, key: &ObjectKey) -> bool {
        self.why_steers(key).is_some()
    }

    /// Why they would, as a sentence to be put after the path.
    pub(crate) fn why_steers(&self, key: &ObjectKey) -> Option<&'static str> {
        let protected = || self.protected.iter().any(|place| instruction::stands_under(key, place));
        instruction::in_vault(key).or_else(|| protected().then_some(instruction::PROTECTED))
    }
}
