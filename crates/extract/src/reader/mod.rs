//! The way from a document's bytes to its text in the gateway. Formats with simple parsers are read
//! here; the others are sent to a helper process, and pictures to `tesseract`.

mod scanning;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::helper::{Answer, HelperProcess, NoHelperAnswer, PARSING_SECONDS, Task};
use crate::pdf::{self, Page, Section};
use crate::recogniser::{Recogniser, Recognition};
use crate::{Document, ExtractError, ExtractedText, Kind, LARGEST_DOCUMENT};

/// How many documents are parsed at once.
const PARSED_AT_ONCE: usize = 2;
/// How many scans are read at once. They have a limit of their own, so that documents with text
/// never wait for one.
const SCANNED_AT_ONCE: usize = 1;
/// What separates the pages in the answer of `tesseract`.
const PAGE_BREAK: char = '\u{c}';

/// Reads documents of every kind within bounds of time and memory.
#[derive(Clone, Debug)]
pub struct Reader {
    helper: HelperProcess,
    /// `None` if no program that recognises text is installed.
    recogniser: Option<Recogniser>,
    parsing: Arc<Semaphore>,
    scanning: Arc<Semaphore>,
    patience: Duration,
}

impl Reader {
    /// `program` with `arguments` must call `serve_helper` and nothing else.
    pub fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self {
            helper: HelperProcess { program: program.into(), arguments },
            recogniser: None,
            parsing: Arc::new(Semaphore::new(PARSED_AT_ONCE)),
            scanning: Arc::new(Semaphore::new(SCANNED_AT_ONCE)),
            patience: Duration::from_secs(PARSING_SECONDS),
        }
    }

    /// Lets scans and pictures be read too, with this program and preferably in the language of
    /// this locale.
    #[must_use]
    pub fn with_tesseract(mut self, program: Option<PathBuf>, locale: Option<String>) -> Self {
        let helper = self.helper.clone();
        self.recogniser = program.map(|program| Recogniser::new(helper, program, locale));
        self
    }

    /// Sets a shorter time limit for each document and each scanned page.
    #[must_use]
    pub fn within(mut self, patience: Duration) -> Self {
        self.patience = self.patience.min(patience);
        self.recogniser = self.recogniser.map(|recogniser| recogniser.within(patience));
        self
    }

    /// What the program that recognises text can do; `None` if there is no such program.
    pub async fn recognition(&self) -> Result<Option<Recognition>, ExtractError> {
        match &self.recogniser {
            Some(recogniser) => recogniser.about().await.map(Some),
            None => Ok(None),
        }
    }

    pub async fn extract(
        &self,
        name: String,
        media_type: Option<String>,
        bytes: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError> {
        if bytes.len() > LARGEST_DOCUMENT {
            return Err(ExtractError::TooLarge { limit: LARGEST_DOCUMENT });
        }
        let document = Document { name: &name, media_type: media_type.as_deref(), bytes: &bytes };
        let kind = document.kind();
        let (title, markdown) = match kind {
            Kind::Pdf => return self.pdf(&bytes).await,
            Kind::Docx | Kind::Epub => self.answer(&Task::Text, &bytes).await?.text()?,
            Kind::Picture => (None, self.picture(&bytes).await?),
            Kind::Markdown | Kind::Plain | Kind::Html | Kind::Csv | Kind::Code => {
                return self.read_here(name, media_type, bytes).await;
            }
        };
        ExtractedText { kind, title, markdown, lacks: None }.bounded()
    }

    async fn read_here(
        &self,
        name: String,
        media_type: Option<String>,
        bytes: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError> {
        let _turn = turn(&self.parsing).await?;
        let read = move || {
            Document { name: &name, media_type: media_type.as_deref(), bytes: &bytes }.extract()
        };
        // If a parser panics, only this document fails.
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            Err(ExtractError::Damaged(format!("its reader gave up ({error})")))
        })
    }

    async fn pdf(&self, bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
        let pages = self.answer(&Task::Pages, bytes).await?.pages()?;
        let sections = if pages.iter().any(Page::is_picture) {
            self.scanned(bytes, pages).await?
        } else {
            pdf::sections_or(pages, &ExtractError::NoText)
        };
        pdf::extracted(&sections)
    }

    /// The text on a picture. One with several pages, such as a fax, gets a heading for each.
    async fn picture(&self, picture: &[u8]) -> Result<String, ExtractError> {
        let recogniser = self.recogniser.as_ref().ok_or(ExtractError::NeedsOcr)?;
        let _turn = turn(&self.scanning).await?;
        let languages = recogniser.languages().await?;
        let text = recogniser.read(picture, &languages).await?;
        let text = text.trim_end_matches(PAGE_BREAK);
        if !text.contains(PAGE_BREAK) {
            return Ok(text.to_owned());
        }
        let pages = text.split(PAGE_BREAK).map(|page| Section::Text(page.to_owned()));
        pdf::markdown(&pages.collect::<Vec<_>>())
    }

    async fn answer(&self, task: &Task, bytes: &[u8]) -> Result<Answer, ExtractError> {
        let _turn = turn(&self.parsing).await?;
        let died = ExtractError::TooCostly { seconds: self.patience.as_secs() };
        match self.helper.ask(task, bytes, self.patience).await {
            Ok(answer) => Answer::of_bytes(answer).ok_or(died),
            Err(NoHelperAnswer::NotStarted(error)) => Err(ExtractError::Reader(error.to_string())),
            Err(NoHelperAnswer::Ended | NoHelperAnswer::Failed) => Err(died),
        }
    }
}

async fn turn(of: &Semaphore) -> Result<SemaphorePermit<'_>, ExtractError> {
    of.acquire().await.map_err(|error| ExtractError::Reader(error.to_string()))
}
