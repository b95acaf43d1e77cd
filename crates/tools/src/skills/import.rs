//! Imports skills that a person uploads: files, or a ZIP archive of them.

use std::collections::BTreeMap;

use onyx_storage::ObjectKey;
use onyx_types::{ErrorCode, Fault};

use super::find::{MOST_BYTES, MOST_FILES};
use super::zip::{ZipLimits, files_of_zip};
use super::{SKILL_FILE, SkillHead};

/// The most skills of one import. More are a mistake or an attack.
const MOST_AT_ONCE: usize = 50;
/// The most bytes of one import.
const MOST_BROUGHT: u64 = 4 * MOST_BYTES;

/// Uploaded files with one skill or several. Each folder with a `SKILL.md` is a skill.
#[derive(Clone, Debug, Default)]
pub struct SkillPackage {
    files: BTreeMap<String, Vec<u8>>,
    /// The name of a skill at the top that does not name itself.
    name: Option<String>,
}

/// A skill's name and its files.
type NamedFiles = (String, BTreeMap<String, Vec<u8>>);

impl SkillPackage {
    /// Makes a package of files by their paths in it.
    pub fn of_files(
        name: Option<String>,
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, Fault> {
        let mut package = Self { files: BTreeMap::new(), name };
        let mut left = MOST_BROUGHT;
        for (path, bytes) in files {
            left = left.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
            package.add(path, bytes)?;
        }
        Ok(package)
    }

    /// Makes a package of a ZIP archive.
    pub fn of_zip(name: Option<String>, bytes: &[u8]) -> Result<Self, Fault> {
        // Folders count as entries too.
        let entries = 2 * MOST_AT_ONCE * MOST_FILES;
        let limits = ZipLimits { bytes: MOST_BROUGHT, entries };
        Self::of_files(name, files_of_zip(bytes, &limits, too_large)?)
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) -> Result<(), Fault> {
        // A path that leads out of the package or is not valid here is an error. If the file were
        // left out, the skill would not be the one that the person looked at.
        let key: Result<ObjectKey, _> = path.parse();
        let key = key.map_err(|error| Fault::new(ErrorCode::InvalidRequest, error.to_string()))?;
        // The data of version control does not belong to the skill.
        if key.parts().any(|part| part == ".git") {
            return Ok(());
        }
        if self.files.len() == MOST_AT_ONCE * MOST_FILES {
            return Err(too_large());
        }
        self.files.insert(path, bytes);
        Ok(())
    }

    /// Finds the skills: each folder with a `SKILL.md`, and each `.md` file at the top that is a
    /// skill.
    pub(super) fn skills(self) -> Result<Vec<NamedFiles>, Fault> {
        let Self { files, name } = self;
        let is_head = |path: &&String| {
            path.as_str() == SKILL_FILE || path.ends_with(&format!("/{SKILL_FILE}"))
        };
        let heads: Vec<String> = files.keys().filter(is_head).cloned().collect();
        let mut skills: Vec<NamedFiles> = Vec::new();
        for head in &heads {
            let folder = head.strip_suffix(SKILL_FILE).unwrap_or_default();
            // A skill inside the folder of another one is part of that skill.
            let is_inside = |other: &String| {
                let other = other.strip_suffix(SKILL_FILE).unwrap_or_default();
                other.len() < folder.len() && folder.starts_with(other)
            };
            if heads.iter().any(is_inside) {
                continue;
            }
            let own = files.iter().filter_map(|(path, bytes)| {
                Some((path.strip_prefix(folder)?.to_owned(), bytes.clone()))
            });
            let last = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let last = Some(last.to_owned()).filter(|last| !last.is_empty()).or(name.clone());
            skills.push((called(&files[head], last)?, own.collect()));
        }
        if heads.is_empty() {
            for (path, bytes) in files.iter().filter(|(path, _)| !path.contains('/')) {
                if let Some(stem) = path.strip_suffix(".md") {
                    let own = BTreeMap::from([(SKILL_FILE.to_owned(), bytes.clone())]);
                    skills.push((called(bytes, Some(stem.to_owned()))?, own));
                }
            }
        }
        match skills.len() {
            0 => {
                let message = format!("There is no {SKILL_FILE} in it.");
                Err(Fault::new(ErrorCode::InvalidRequest, message)
                    .with_hint("A skill is a folder with a SKILL.md, or one .md file."))
            }
            1..=MOST_AT_ONCE => Ok(skills),
            _ => Err(too_large()),
        }
    }
}

/// The name that the skill's text gives, else that of its folder.
fn called(head: &[u8], fallback: Option<String>) -> Result<String, Fault> {
    let own = SkillHead::own_name(&String::from_utf8_lossy(head));
    own.or(fallback).ok_or_else(|| {
        Fault::new(ErrorCode::InvalidRequest, "The skill has no name.")
            .with_hint("Write `name:` into the front matter of its SKILL.md.")
    })
}

fn too_large() -> Fault {
    let (most, at_once) = (MOST_BROUGHT / (1024 * 1024), MOST_AT_ONCE);
    let message = format!("At most {at_once} skills and {most} MiB can be brought at once.");
    Fault::new(ErrorCode::TooLarge, message)
}
