//! Reads one document once, for callers that store its text elsewhere than in a source.

use onyx_storage::FrontMatter;

use crate::gather::{Raw, download};
use crate::service::{Sources, bounded};
use crate::{SourceError, document};

/// A document to read.
#[derive(Debug)]
pub enum NewCapture {
    Url { url: String },
    Text { text: String },
    Upload { name: String, media_type: Option<String>, bytes: Vec<u8> },
}

/// The text of a document, and its origin. All of the text comes from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedText {
    pub title: String,
    /// The document's address or name; pasted text has none.
    pub from: Option<String>,
    pub markdown: String,
}

impl NewCapture {
    /// The field of the request that is reported if the document cannot be read.
    const fn field(&self) -> &'static str {
        match self {
            Self::Url { .. } => "url",
            Self::Text { .. } => "text",
            Self::Upload { .. } => "data",
        }
    }
}

impl Sources {
    /// Reads one document now and stores nothing. `Invalid` says why it cannot be read.
    pub async fn capture(&self, document: NewCapture) -> Result<CapturedText, SourceError> {
        let field = document.field();
        let unreadable = |why: String| SourceError::invalid(field, why);
        let (raw, is_named) = match document {
            NewCapture::Url { url } => {
                (download(&self.egress(), url.trim()).await.map_err(unreadable)?, true)
            }
            NewCapture::Text { text } => {
                let media_type = Some("text/markdown; charset=utf-8".to_owned());
                let name = first_words(&text);
                (Raw { name, media_type, bytes: bounded(field, text.into_bytes())? }, false)
            }
            NewCapture::Upload { name, media_type, bytes } => {
                (Raw { name, media_type, bytes: bounded(field, bytes)? }, true)
            }
        };
        let Raw { name, media_type, bytes } = raw;
        let extracted = self.reader().extract(name.clone(), media_type, bytes).await;
        let extracted = extracted.map_err(|error| unreadable(error.to_string()))?;
        let (_, markdown) = FrontMatter::split(&extracted.markdown);
        Ok(CapturedText {
            title: document::title(&extracted, &name),
            from: is_named.then_some(name),
            markdown: markdown.trim().to_owned(),
        })
    }
}

/// The title of a text without a heading: its first words.
fn first_words(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let cut: String = line.chars().take(LONGEST).collect();
    // A slash would make the last part of the line look like a file name.
    cut.replace('/', " ").trim().to_owned()
}
