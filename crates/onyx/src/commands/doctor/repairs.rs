//! What `onyx doctor --fix` fixes automatically. It changes nothing that a person wrote, and removes
//! nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Check;
use crate::commands::init;
use crate::home::HomeFolder;
use crate::output;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// Create the first folders and files where they are missing.
    Init,
    /// Let only the owner read this file or enter this folder.
    Close(PathBuf),
}

/// Carries out each repair once, and says whether there was any.
pub(super) fn carry_out(home: &HomeFolder, checks: &[Check]) -> Result<bool> {
    let mut repairs: Vec<&Repair> = Vec::new();
    for repair in checks.iter().filter_map(|check| check.repair.as_ref()) {
        if !repairs.contains(&repair) {
            repairs.push(repair);
        }
    }
    for repair in &repairs {
        match repair {
            Repair::Init => init::write_missing(home, output::aside)?,
            Repair::Close(path) => close(path)?,
        }
    }
    Ok(!repairs.is_empty())
}

fn close(path: &Path) -> Result<()> {
    let shown = path.display();
    let about = std::fs::metadata(path).with_context(|| format!("{shown}"))?;
    let mode = about.permissions().mode() & 0o700;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .with_context(|| format!("{shown} cannot be closed to other users"))?;
    output::aside(&format!("closed {shown} to other users of this machine"));
    Ok(())
}
