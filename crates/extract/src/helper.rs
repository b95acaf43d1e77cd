//! The process that reads PDFs. It has no environment, no files open but two pipes, little memory
//! and little time; whatever a document does to it, the gateway sees an error.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::{Document, ExtractError, Extracted, Kind, LARGEST_DOCUMENT, LONGEST_TEXT, pdf};

const SECONDS: u64 = 30;
const MEMORY: u64 = 1024 * 1024 * 1024;
/// JSON may write one byte of text as six.
const LONGEST_ANSWER: u64 = 6 * LONGEST_TEXT as u64 + 1024 * 1024;
const AT_ONCE: usize = 2;

/// Reads documents of every kind within bounds of time and memory.
#[derive(Clone, Debug)]
pub struct Reader {
    program: PathBuf,
    arguments: Vec<String>,
    at_once: Arc<Semaphore>,
    patience: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Pages(Vec<String>),
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
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            patience: Duration::from_secs(SECONDS),
        }
    }

    /// Gives up on a document earlier than usual.
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
        if document.kind() == Kind::Pdf {
            let markdown = pdf::markdown(&self.pages(&bytes).await?)?;
            return Extracted { kind: Kind::Pdf, title: None, markdown }.bounded();
        }
        let read = move || {
            Document { name: &name, media_type: media_type.as_deref(), bytes: &bytes }.extract()
        };
        // A panic of a parser is this document's fault alone.
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            Err(ExtractError::Damaged(format!("its reader gave up ({error})")))
        })
    }

    async fn pages(&self, bytes: &[u8]) -> Result<Vec<String>, ExtractError> {
        let seconds = self.patience.as_secs();
        match tokio::time::timeout(self.patience, self.ask(bytes)).await {
            Ok(Ok(answer)) => answer.pages(),
            Ok(Err(Silence::Start(error))) => Err(ExtractError::Reader(error.to_string())),
            Ok(Err(Silence::Died)) | Err(_) => Err(ExtractError::TooCostly { seconds }),
        }
    }

    async fn ask(&self, bytes: &[u8]) -> Result<Answer, Silence> {
        let mut child = self.start().map_err(Silence::Start)?;
        let (Some(mut into), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Silence::Died);
        };
        let send = async move {
            // It may answer before it has read everything, and close.
            let _ = into.write_all(bytes).await;
            let _ = into.shutdown().await;
        };
        let mut answer = Vec::new();
        let mut from = from.take(LONGEST_ANSWER);
        let ((), read) = tokio::join!(send, from.read_to_end(&mut answer));
        read.map_err(|_| Silence::Died)?;
        serde_json::from_slice(&answer).map_err(|_| Silence::Died)
    }

    fn start(&self) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
    }
}

impl Answer {
    fn of(read: Result<Vec<String>, ExtractError>) -> Self {
        match read {
            Ok(pages) => Self::Pages(pages),
            Err(ExtractError::Encrypted) => Self::Encrypted,
            Err(ExtractError::TooLarge { .. }) => Self::TooLarge,
            Err(ExtractError::TooComplex(_)) => Self::TooComplex,
            Err(ExtractError::Damaged(why)) => Self::Damaged(why),
            Err(
                error @ (ExtractError::NotText
                | ExtractError::NoText
                | ExtractError::TooCostly { .. }
                | ExtractError::Reader(_)),
            ) => Self::Damaged(error.to_string()),
        }
    }

    fn pages(self) -> Result<Vec<String>, ExtractError> {
        match self {
            Self::Pages(pages) => Ok(pages),
            Self::Encrypted => Err(ExtractError::Encrypted),
            Self::TooLarge => Err(ExtractError::TooLarge { limit: LONGEST_TEXT }),
            Self::TooComplex => Err(ExtractError::TooComplex("PDF")),
            Self::Damaged(why) => Err(ExtractError::Damaged(why)),
        }
    }
}

/// What the helper process does: a PDF on its input becomes pages on its output. It binds itself
/// before it reads a byte; `hold` keeps it from files, sockets and programs.
pub fn serve_helper(hold: impl FnOnce()) -> io::Result<()> {
    bind(Resource::As, MEMORY)?;
    bind(Resource::Cpu, SECONDS)?;
    bind(Resource::Core, 0)?;
    bind(Resource::Fsize, 0)?;
    hold();
    let mut document = Vec::new();
    io::stdin().lock().take(LARGEST_DOCUMENT as u64 + 1).read_to_end(&mut document)?;
    let answer = serde_json::to_vec(&Answer::of(pdf::pages(&document)))?;
    let mut out = io::stdout().lock();
    out.write_all(&answer)?;
    out.flush()
}

fn bind(resource: Resource, limit: u64) -> io::Result<()> {
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}
