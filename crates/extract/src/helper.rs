//! The process that reads PDFs, Word documents and books, and starts `tesseract`. It has no
//! environment, no open files but two pipes, little memory and little time; a hostile document can
//! only cause an error in the gateway.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::{Document, ExtractError, Extracted, Kind, LARGEST_DOCUMENT, LONGEST_TEXT, pdf, scans};

const SECONDS: u64 = 30;
const MEMORY: u64 = 1024 * 1024 * 1024;
/// The longest answer of the helper, because JSON may write one byte of text as six.
const LONGEST_ANSWER: u64 = 6 * LONGEST_TEXT as u64 + 1024 * 1024;
const AT_ONCE: usize = 2;
/// How long a scan of many pages may take in all.
const SCAN_SECONDS: u64 = 600;

/// Reads documents of every kind within bounds of time and memory.
#[derive(Clone, Debug)]
pub struct Reader {
    program: PathBuf,
    arguments: Vec<String>,
    /// The program that recognises text on pictures; `None` if it is not installed.
    tesseract: Option<PathBuf>,
    at_once: Arc<Semaphore>,
    patience: Duration,
}

/// The helper's task. The bytes of the document follow on its input.
#[derive(Clone, Copy)]
enum Task<'a> {
    /// The text of a PDF, page by page.
    Pages,
    /// The text of a Word document or a book.
    Text,
    /// The photographs of a scanned PDF.
    Pictures,
    /// The text on a picture, recognised by this program.
    Recognise(&'a Path),
}

impl Task<'_> {
    /// The helper's arguments for the task, after its fixed ones.
    fn arguments(self) -> Vec<OsString> {
        let word = |word: &str| vec![OsString::from(word)];
        match self {
            Self::Pages => word("pages"),
            Self::Text => word("text"),
            Self::Pictures => word("pictures"),
            Self::Recognise(program) => vec!["recognise".into(), program.as_os_str().to_owned()],
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HelperReply {
    Pages(Vec<String>),
    Text {
        title: Option<String>,
        markdown: String,
    },
    /// The pictures in base64.
    Pictures(Vec<String>),
    Encrypted,
    TooLarge,
    TooComplex,
    Damaged(String),
}

/// Why the helper gave no answer.
enum Silence {
    Start(io::Error),
    Died,
}

impl Reader {
    /// `program` with `arguments` must call `serve_helper` and nothing else.
    pub fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            tesseract: None,
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            patience: Duration::from_secs(SECONDS),
        }
    }

    /// Lets the helper read scans and pictures too, with this program.
    #[must_use]
    pub fn with_tesseract(mut self, program: Option<PathBuf>) -> Self {
        self.tesseract = program;
        self
    }

    /// Sets a shorter time limit for each document.
    #[must_use]
    pub fn within(mut self, patience: Duration) -> Self {
        self.patience = self.patience.min(patience);
        self
    }

    pub async fn extract(
        &self,
        name: String,
        media_type: Option<String>,
        bytes: Vec<u8>,
    ) -> Result<Extracted, ExtractError> {
        if bytes.len() > LARGEST_DOCUMENT {
            return Err(ExtractError::TooLarge { limit: LARGEST_DOCUMENT });
        }
        let _turn = self
            .at_once
            .acquire()
            .await
            .map_err(|error| ExtractError::Reader(error.to_string()))?;
        let document = Document { name: &name, media_type: media_type.as_deref(), bytes: &bytes };
        match document.kind() {
            Kind::Pdf => return self.pdf(&bytes).await,
            Kind::Docx | Kind::Epub => {
                let kind = document.kind();
                let (title, markdown) = self.answer(Task::Text, &bytes).await?.text()?;
                return Extracted { kind, title, markdown }.bounded();
            }
            Kind::Picture => {
                let markdown = self.recognise(&bytes).await?;
                return Extracted { kind: Kind::Picture, title: None, markdown }.bounded();
            }
            Kind::Markdown | Kind::Plain | Kind::Html | Kind::Csv | Kind::Code => {}
        }
        let read = move || {
            Document { name: &name, media_type: media_type.as_deref(), bytes: &bytes }.extract()
        };
        // If a parser panics, only this document fails.
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            Err(ExtractError::Damaged(format!("its reader gave up ({error})")))
        })
    }

    async fn pdf(&self, bytes: &[u8]) -> Result<Extracted, ExtractError> {
        let pages = self.answer(Task::Pages, bytes).await?.pages()?;
        let markdown = match pdf::markdown(&pages) {
            Err(ExtractError::NoText) => self.scan(bytes).await?,
            markdown => markdown?,
        };
        Extracted { kind: Kind::Pdf, title: None, markdown }.bounded()
    }

    /// The text on the photographs that a PDF without text consists of.
    async fn scan(&self, bytes: &[u8]) -> Result<String, ExtractError> {
        if self.tesseract.is_none() {
            return Err(ExtractError::NeedsOcr);
        }
        let pictures = self.answer(Task::Pictures, bytes).await?.pictures()?;
        let all = async {
            let mut pages = Vec::with_capacity(pictures.len());
            for picture in &pictures {
                pages.push(self.recognise(picture).await?);
            }
            pdf::markdown(&pages)
        };
        let scanned = tokio::time::timeout(Duration::from_secs(SCAN_SECONDS), all).await;
        scanned.map_err(|_| ExtractError::TooCostly { seconds: SCAN_SECONDS })?
    }

    async fn recognise(&self, picture: &[u8]) -> Result<String, ExtractError> {
        let program = self.tesseract.as_deref().ok_or(ExtractError::NeedsOcr)?;
        let seconds = self.patience.as_secs();
        let asked = self.ask(Task::Recognise(program), picture);
        match tokio::time::timeout(self.patience, asked).await {
            Ok(Ok(text)) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Ok(Err(Silence::Start(error))) => Err(ExtractError::Reader(error.to_string())),
            Ok(Err(Silence::Died)) | Err(_) => Err(ExtractError::TooCostly { seconds }),
        }
    }

    async fn answer(&self, task: Task<'_>, bytes: &[u8]) -> Result<HelperReply, ExtractError> {
        let seconds = self.patience.as_secs();
        let died = ExtractError::TooCostly { seconds };
        match tokio::time::timeout(self.patience, self.ask(task, bytes)).await {
            Ok(Ok(answer)) => serde_json::from_slice(&answer).map_err(|_| died),
            Ok(Err(Silence::Start(error))) => Err(ExtractError::Reader(error.to_string())),
            Ok(Err(Silence::Died)) | Err(_) => Err(died),
        }
    }

    async fn ask(&self, task: Task<'_>, bytes: &[u8]) -> Result<Vec<u8>, Silence> {
        let mut child = self.start(task).map_err(Silence::Start)?;
        let (Some(mut into), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Silence::Died);
        };
        let send = async move {
            // The helper may answer and close its input before it has read everything.
            let _ = into.write_all(bytes).await;
            let _ = into.shutdown().await;
        };
        let mut answer = Vec::new();
        let mut from = from.take(LONGEST_ANSWER);
        let ((), read) = tokio::join!(send, from.read_to_end(&mut answer));
        read.map_err(|_| Silence::Died)?;
        let ended = child.wait().await.map_err(|_| Silence::Died)?;
        if ended.success() { Ok(answer) } else { Err(Silence::Died) }
    }

    fn start(&self, task: Task<'_>) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .args(task.arguments())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
    }
}

impl HelperReply {
    fn of(read: Result<Self, ExtractError>) -> Self {
        match read {
            Ok(answer) => answer,
            Err(ExtractError::Encrypted) => Self::Encrypted,
            Err(ExtractError::TooLarge { .. }) => Self::TooLarge,
            Err(ExtractError::TooComplex(_)) => Self::TooComplex,
            Err(ExtractError::Damaged(why)) => Self::Damaged(why),
            Err(
                error @ (ExtractError::NotText
                | ExtractError::NoText
                | ExtractError::NeedsOcr
                | ExtractError::TooCostly { .. }
                | ExtractError::Reader(_)),
            ) => Self::Damaged(error.to_string()),
        }
    }

    fn pages(self) -> Result<Vec<String>, ExtractError> {
        match self {
            Self::Pages(pages) => Ok(pages),
            other => Err(other.error()),
        }
    }

    fn text(self) -> Result<(Option<String>, String), ExtractError> {
        match self {
            Self::Text { title, markdown } => Ok((title, markdown)),
            other => Err(other.error()),
        }
    }

    fn pictures(self) -> Result<Vec<Vec<u8>>, ExtractError> {
        match self {
            Self::Pictures(pictures) => {
                let decoded = pictures.iter().map(|picture| BASE64.decode(picture));
                let decoded = decoded.collect::<Result<_, _>>();
                decoded.map_err(|error| ExtractError::Reader(error.to_string()))
            }
            other => Err(other.error()),
        }
    }

    fn error(self) -> ExtractError {
        match self {
            Self::Encrypted => ExtractError::Encrypted,
            Self::TooLarge => ExtractError::TooLarge { limit: LONGEST_TEXT },
            Self::TooComplex => ExtractError::TooComplex("content"),
            Self::Damaged(why) => ExtractError::Damaged(why),
            Self::Pages(_) | Self::Text { .. } | Self::Pictures(_) => {
                ExtractError::Reader("its answer could not be parsed".to_owned())
            }
        }
    }
}

/// Runs the helper process: `task` says what to do with the document on its input. The process
/// limits its resources and calls `hold` before it reads a byte of the document.
pub fn serve_helper(task: &[OsString], hold: impl FnOnce()) -> io::Result<()> {
    bind(Resource::As, MEMORY)?;
    bind(Resource::Cpu, SECONDS)?;
    bind(Resource::Core, 0)?;
    bind(Resource::Fsize, 0)?;
    if let [word, program] = task
        && word == "recognise"
    {
        // The program replaces this process, keeps its resource limits and reads its input. It
        // needs its own language files, so it cannot be restricted like the other tasks.
        return Err(std::process::Command::new(program).args(["stdin", "stdout"]).exec());
    }
    hold();
    let mut document = Vec::new();
    io::stdin().lock().take(LARGEST_DOCUMENT as u64 + 1).read_to_end(&mut document)?;
    let read = match task.first().and_then(|word| word.to_str()) {
        None | Some("pages") => pdf::pages(&document).map(HelperReply::Pages),
        Some("text") => text_of(&document),
        Some("pictures") => scans::pictures(&document).map(|pictures| {
            HelperReply::Pictures(pictures.iter().map(|picture| BASE64.encode(picture)).collect())
        }),
        Some(_) => return Err(io::Error::other("an unknown task")),
    };
    let answer = serde_json::to_vec(&HelperReply::of(read))?;
    let mut out = io::stdout().lock();
    out.write_all(&answer)?;
    out.flush()
}

fn text_of(document: &[u8]) -> Result<HelperReply, ExtractError> {
    let document = Document { name: "", media_type: None, bytes: document };
    let read = std::panic::catch_unwind(|| document.extract());
    let damaged = |_| Err(ExtractError::Damaged("its reader gave up".to_owned()));
    let Extracted { title, markdown, .. } = read.unwrap_or_else(damaged)?;
    Ok(HelperReply::Text { title, markdown })
}

fn bind(resource: Resource, limit: u64) -> io::Result<()> {
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}
