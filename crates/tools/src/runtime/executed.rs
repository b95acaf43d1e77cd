//! Finds the files of the vault that a command could execute, so that an approval covers exactly
//! these. If a script is replaced while the call waits for a person, the command counts as another
//! one.
//!
//! Two things go into one hash. The first is the content of every file that the command names, and
//! of every file that such a file names; these are also shown. The second is the metadata of every
//! other file of the vault that is not plainly a document: programs find modules, settings and
//! build files on their own (`python dir`, `npm test`, `make`), and it cannot be known before which
//! ones.
//!
//! A document (`notes.md`) that no file names is left out, although a script could run it by a name
//! that the script puts together: the person who approves has seen that script.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use onyx_types::{Hash, Plan, Preview};

use super::CommandRunner;
use super::workspace::{Stamps, Workspace};
use crate::commands::{ProgramReach, runs};
use crate::{ToolCx, ToolError};

/// The most files whose names are followed. Further ones count like any other file.
const MOST_NAMED: usize = 200;
/// The most bytes of all named files together. Beyond it only the metadata of files counts.
const MOST_READ: u64 = 16 * 1024 * 1024;
/// The most bytes of one file that are looked through for names.
const MOST_SEARCHED: usize = 256 * 1024;
/// The most words that are tried as file names; each takes a few microseconds.
const MOST_LOOKS: usize = 50_000;
/// The most bytes that are shown of one file; `MOST_SHOWN_IN_ALL` is for all files.
const MOST_SHOWN: usize = 16 * 1024;
const MOST_SHOWN_IN_ALL: usize = 64 * 1024;

/// Endings of files that are read and not run.
const DOCUMENTS: &[&str] = &[
    "avif", "bmp", "csv", "doc", "docx", "eml", "epub", "flac", "gif", "heic", "ics", "jpeg",
    "jpg", "log", "m4a", "markdown", "md", "mkv", "mov", "mp3", "mp4", "odp", "ods", "odt", "ogg",
    "org", "pdf", "png", "ppt", "pptx", "rst", "tif", "tiff", "tsv", "txt", "vcf", "wav", "webm",
    "webp", "xls", "xlsx",
];

/// Files and folders that other programs change while a person works in the vault.
const KEPT_UP: &[&str] = &[".DS_Store", ".obsidian", ".stfolder", ".trash"];
/// The parts of a repository that change with every commit and are not run.
const GIT_DATA: &[&str] = &[
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "ORIG_HEAD",
    "index",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];

impl CommandRunner {
    /// Adds to the plan of a command what the command could execute: to its hash and to its
    /// preview.
    pub(crate) async fn with_executed(
        &self,
        plan: Plan,
        argv: &[String],
        folder: Option<&str>,
        cx: &ToolCx,
    ) -> Result<Plan, ToolError> {
        if runs(argv) == ProgramReach::OnlyItself {
            return Ok(plan);
        }
        let workspace = self.workspace(folder, cx).await?;
        let Some(executed) = workspace.executed(argv, folder, cx).await? else { return Ok(plan) };
        let mut plan = plan;
        if let Some(target) = plan.targets.first_mut() {
            target.base = Some(executed.hash);
        }
        if let Preview::Text { text } = &mut plan.preview {
            text.push_str(&executed.shown);
        }
        Ok(plan)
    }
}

impl Workspace {
    /// Checks that the command would execute what was approved. `Conflict` if it would not.
    pub(crate) async fn still_executes(
        &self,
        plan: &Plan,
        argv: &[String],
        folder: Option<&str>,
        cx: &ToolCx,
    ) -> Result<(), ToolError> {
        let now = self.executed(argv, folder, cx).await?.map(|executed| executed.hash);
        if plan.targets.first().and_then(|target| target.base) == now {
            return Ok(());
        }
        Err(ToolError::Conflict("a file that this command can run".to_owned()))
    }

    /// What the command could execute. `None` if it runs nothing but its own program, which belongs
    /// to the system.
    async fn executed(
        &self,
        argv: &[String],
        folder: Option<&str>,
        cx: &ToolCx,
    ) -> Result<Option<ExecutedFile>, ToolError> {
        if runs(argv) == ProgramReach::OnlyItself {
            return Ok(None);
        }
        let folder = folder.map(|folder| cx.paths.check(folder)).transpose()?;
        let (vault, argv, stamps) = (self.root().to_owned(), argv.to_vec(), self.stamps().await);
        let looked = tokio::task::spawn_blocking(move || {
            let start = folder.map_or_else(|| vault.clone(), |folder| vault.join(folder.as_str()));
            ExecutedFile::of(&argv, &vault, &start, &stamps).map(Some)
        });
        let failed =
            |why: String| ToolError::Failed(format!("the vault cannot be looked at: {why}"));
        looked.await.map_err(|_| failed("stopped".to_owned()))?.map_err(|e| failed(e.to_string()))
    }
}

struct ExecutedFile {
    hash: Hash,
    shown: String,
}

/// A file of the vault that the command, or a file that it names, names.
struct NamedFile {
    hash: Hash,
    size: u64,
    /// The text of the file; `None` if it is not text or too long.
    text: Option<String>,
}

impl ExecutedFile {
    fn of(argv: &[String], vault: &Path, start: &Path, stamps: &Stamps) -> io::Result<Self> {
        let named = Vec::new();
        let search = Search { vault, start, stamps, named, room: MOST_READ, looks: MOST_LOOKS };
        let named = search.named_by(argv);
        let mut known = Vec::new();
        let name = |path: &PathBuf| path.strip_prefix(vault).unwrap_or(path).to_owned();
        for (path, file) in &named {
            // A file counts by its path in the vault, because each copy of the files has another
            // folder.
            let name = name(path).into_os_string();
            known.extend([name.as_encoded_bytes(), b"\0", file.hash.as_bytes()].concat());
        }
        let others = tree(vault, &|path, meta| stamps.of(vault, path, meta))?;
        let others = others.as_ref().map_or(&[][..], |others| others.as_bytes());
        let hash = Hash::of_parts([&known[..], others]);
        let mut shown = String::new();
        for (path, file) in &named {
            show(&mut shown, &name(path).display().to_string(), file);
        }
        Ok(Self { hash, shown })
    }
}

struct Search<'a> {
    vault: &'a Path,
    start: &'a Path,
    stamps: &'a Stamps,
    named: Vec<(PathBuf, NamedFile)>,
    /// How many bytes may still be read.
    room: u64,
    /// How many words may still be tried as file names.
    looks: usize,
}

impl Search<'_> {
    fn named_by(mut self, argv: &[String]) -> Vec<(PathBuf, NamedFile)> {
        for word in argv {
            for name in names_in_word(word) {
                self.add(name, self.start);
            }
        }
        let mut next = 0;
        while let Some((path, file)) = self.named.get(next) {
            let beside = path.parent().map(Path::to_owned);
            let text = file.text.clone().unwrap_or_default();
            let searched = &text[..text.floor_char_boundary(MOST_SEARCHED)];
            for name in searched.split(between_names) {
                self.add(name, self.start);
                if let Some(beside) = &beside {
                    self.add(name, beside);
                }
            }
            next += 1;
        }
        self.named
    }

    /// Adds the file of this name, if it is one of the vault.
    #[allow(clippy::disallowed_methods, reason = "looks only at files within the vault")]
    fn add(&mut self, name: &str, folder: &Path) {
        let is_name =
            !name.is_empty() && name.len() <= 1_024 && name.chars().any(char::is_alphanumeric);
        if !is_name || self.named.len() >= MOST_NAMED || self.looks == 0 {
            return;
        }
        self.looks -= 1;
        let path = folder.join(name);
        // The command cannot find a file that is not there or lies outside. Most words name no
        // file, which this single check shows.
        if std::fs::symlink_metadata(&path).is_err() {
            return;
        }
        let Ok(path) = std::fs::canonicalize(path) else { return };
        if !path.starts_with(self.vault) || self.named.iter().any(|(known, _)| *known == path) {
            return;
        }
        let Ok(meta) = std::fs::metadata(&path) else { return };
        if !meta.is_file() {
            return;
        }
        let read = if meta.len() <= self.room { std::fs::read(&path).ok() } else { None };
        let size = meta.len();
        let file = match read {
            Some(bytes) => {
                self.room = self.room.saturating_sub(size);
                NamedFile { hash: Hash::of(&bytes), size, text: String::from_utf8(bytes).ok() }
            }
            None => {
                let stamp = self.stamps.of(self.vault, &path, &meta);
                NamedFile { hash: Hash::of(&stamp), size, text: None }
            }
        };
        self.named.push((path, file));
    }
}

/// The parts of a word that may name a file: the word, the value of an option in it, and what a
/// shell would find in it.
fn names_in_word(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let glued = word.strip_prefix('-').and_then(|option| option.get(1..));
    [Some(word), value, glued].into_iter().flatten().chain(word.split(between_names))
}

fn between_names(c: char) -> bool {
    !c.is_alphanumeric() && !"._-/+@%~".contains(c)
}

fn show(shown: &mut String, name: &str, file: &NamedFile) {
    let Some(text) = &file.text else {
        shown.push_str(&format!("\n\n{name} ({} bytes, not shown)", file.size));
        return;
    };
    let room = MOST_SHOWN.min(MOST_SHOWN_IN_ALL.saturating_sub(shown.len()));
    let cut = text.floor_char_boundary(room);
    shown.push_str(&format!("\n\n{name} ({} bytes):\n{}", file.size, text[..cut].trim_end()));
    if cut < text.len() {
        shown.push_str(&format!("\n[{} bytes more, not shown]", text.len() - cut));
    }
}

/// A hash of every file below that is not plainly a document; `None` if there is none.
#[allow(clippy::disallowed_methods, reason = "names and times only, and no link is followed")]
fn tree(
    folder: &Path,
    stamp: &impl Fn(&Path, &std::fs::Metadata) -> Vec<u8>,
) -> io::Result<Option<Hash>> {
    let in_git = folder.file_name().is_some_and(|name| name == ".git");
    let mut found = BTreeMap::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // The command cannot read a folder that this process cannot read.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let is_left_out = |names: &[&str]| names.iter().any(|left| name == *left);
        if is_left_out(KEPT_UP) || (in_git && is_left_out(GIT_DATA)) {
            continue;
        }
        // An entry without metadata was removed meanwhile.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            if let Some(below) = tree(&entry.path(), stamp)? {
                found.insert(name, below.as_bytes().to_vec());
            }
        } else if !is_document(Path::new(&name)) || meta.mode() & 0o111 != 0 {
            found.insert(name, stamp(&entry.path(), &meta));
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for (name, state) in found {
        all.extend([name.as_encoded_bytes(), b"\0", &state, b"\0"].concat());
    }
    Ok(Some(Hash::of(&all)))
}

fn is_document(name: &Path) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    DOCUMENTS.binary_search(&ending.to_ascii_lowercase().as_str()).is_ok()
}

impl Stamps {
    fn of(&self, vault: &Path, path: &Path, meta: &std::fs::Metadata) -> Vec<u8> {
        match self {
            Self::FileSystem => stamp(meta),
            Self::Contents(known) => {
                let key = path.strip_prefix(vault).ok().and_then(Path::to_str);
                let hash = key.and_then(|key| known.get(&key.parse().ok()?));
                hash.map(|hash| hash.as_bytes().to_vec()).unwrap_or_default()
            }
        }
    }
}

/// A value that changes with every write to a file, because its time of change cannot be set back.
fn stamp(meta: &std::fs::Metadata) -> Vec<u8> {
    let parts = [meta.dev(), meta.ino(), meta.size(), meta.mode().into()];
    let times = [meta.ctime(), meta.ctime_nsec()];
    let parts = parts.iter().flat_map(|part| part.to_le_bytes());
    parts.chain(times.iter().flat_map(|time| time.to_le_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(DOCUMENTS.is_sorted());
    }

    #[test]
    fn names_are_found_wherever_they_stand_in_a_word() {
        for word in ["b.sh", "--file=b.sh", "-fb.sh", "cd x && . b.sh; true", "sh<b.sh", "$(b.sh)"]
        {
            assert!(names_in_word(word).any(|name| name == "b.sh"), "{word}");
        }
    }
}
