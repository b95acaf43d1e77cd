//! The helper's own side: it limits itself, is confined, and only then reads.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{Answer, MEMORY, PARSING_SECONDS, RECOGNISING_SECONDS, Reply, Task};
use crate::{Document, ExtractError, ExtractedText, LARGEST_DOCUMENT, pdf};

/// How the helper process must be confined from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement<'a> {
    /// It parses the document itself and needs nothing else.
    Parser,
    /// It becomes a program of this machine, which may read what lies at these paths beside the
    /// system's folders.
    Program { installed: &'a [PathBuf] },
}

/// Runs the helper process: `task` says what to do with the bytes on its input. The process limits
/// its resources and calls `confine` before it reads a byte.
pub fn serve_helper(task: &[OsString], confine: impl FnOnce(Confinement<'_>)) -> io::Result<()> {
    let task = Task::of_arguments(task).ok_or_else(|| io::Error::other("an unknown task"))?;
    bind(Resource::As, MEMORY)?;
    bind(Resource::Core, 0)?;
    bind(Resource::Fsize, 0)?;
    match task {
        Task::Recognise { program, arguments } => {
            bind(Resource::Cpu, RECOGNISING_SECONDS)?;
            confine(Confinement::Program { installed: &installed_with(&program) });
            // The program keeps the limits and the confinement, and reads this process's input.
            let mut command = Command::new(program);
            Err(command.args(arguments).env("OMP_THREAD_LIMIT", "1").exec())
        }
        Task::Pages | Task::Text | Task::Picture(_) => {
            bind(Resource::Cpu, PARSING_SECONDS)?;
            confine(Confinement::Parser);
            let mut document = Vec::new();
            io::stdin().lock().take(LARGEST_DOCUMENT as u64 + 1).read_to_end(&mut document)?;
            let answer = Answer::of(parsed(&task, &document)).to_bytes()?;
            let mut out = io::stdout().lock();
            out.write_all(&answer)?;
            out.flush()
        }
    }
}

fn parsed(task: &Task, document: &[u8]) -> Result<Answer, ExtractError> {
    match task {
        Task::Pages => pdf::pages(document).map(|pages| Reply::Pages(pages).into()),
        Task::Text => text(document),
        Task::Picture(page) => {
            pdf::picture(document, *page).map(|picture| Answer { reply: Reply::Picture, picture })
        }
        Task::Recognise { .. } => Err(ExtractError::Reader("it parses nothing".to_owned())),
    }
}

fn text(document: &[u8]) -> Result<Answer, ExtractError> {
    let document = Document { name: "", media_type: None, bytes: document };
    let read = std::panic::catch_unwind(|| document.extract());
    let damaged = |_| Err(ExtractError::Damaged("its reader gave up".to_owned()));
    let ExtractedText { title, markdown, .. } = read.unwrap_or_else(damaged)?;
    Ok(Reply::Text { title, markdown }.into())
}

/// What a program needs that is not installed in the system's folders: itself, its libraries and
/// its languages.
fn installed_with(program: &Path) -> Vec<PathBuf> {
    // A program that is not there fails when it is started.
    let Ok(program) = program.canonicalize() else { return Vec::new() };
    let beside = program.parent().and_then(Path::parent);
    let beside = beside.map(|beside| [beside.join("lib"), beside.join("share/tessdata")]);
    std::iter::once(program.clone()).chain(beside.into_iter().flatten()).collect()
}

fn bind(resource: Resource, limit: u64) -> io::Result<()> {
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}
