use crate::{
    ExtractError, Kind, LARGEST_DOCUMENT, LONGEST_TEXT, code, decode, docx, epub, html, pdf, table,
};

/// A document's bytes, from a disk, an upload or the web.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// A file's name or an address. Its extension identifies a document that has no other marks.
    pub name: &'a str,
    pub media_type: Option<&'a str>,
    pub bytes: &'a [u8],
}

/// The text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedText {
    pub kind: Kind,
    /// The document's own title.
    pub title: Option<String>,
    pub markdown: String,
    /// Why pages are missing that another reading of the same bytes may have.
    pub lacks: Option<ExtractError>,
}

impl Document<'_> {
    pub fn kind(&self) -> Kind {
        Kind::of(self.name, self.media_type, self.bytes)
    }

    /// Extracts the text. This blocks until the document is read, and a PDF may take for ever:
    /// `Reader` limits the time.
    pub fn extract(&self) -> Result<ExtractedText, ExtractError> {
        if self.bytes.len() > LARGEST_DOCUMENT {
            return Err(ExtractError::TooLarge { limit: LARGEST_DOCUMENT });
        }
        let kind = self.kind();
        let (title, markdown) = match kind {
            Kind::Markdown => titled(self.text()?),
            Kind::Plain => (None, self.text()?),
            Kind::Html => {
                let page = html::readable(&self.page()?, Some(self.name))?;
                (page.title, page.markdown)
            }
            Kind::Pdf => return self.pdf(),
            Kind::Docx => docx::read(self.bytes)?,
            Kind::Epub => epub::read(self.bytes)?,
            Kind::Picture => return Err(ExtractError::NeedsOcr),
            Kind::Csv => (None, table::markdown(&self.text()?)?),
            Kind::Code => (None, code::markdown(self.name, &self.text()?)),
        };
        ExtractedText { kind, title, markdown, lacks: None }.bounded()
    }

    /// The text layer alone: to recognise text on pictures takes another program.
    fn pdf(&self) -> Result<ExtractedText, ExtractError> {
        let pages = pdf::pages(self.bytes)?;
        pdf::extracted(&pdf::sections_or(pages, &ExtractError::NeedsOcr))
    }

    fn text(&self) -> Result<String, ExtractError> {
        decode::text(self.bytes, self.charset().as_deref())
    }

    fn page(&self) -> Result<String, ExtractError> {
        let declared = self.charset().or_else(|| decode::declared_in_html(self.bytes));
        decode::text(self.bytes, declared.as_deref())
    }

    fn charset(&self) -> Option<String> {
        decode::charset(&self.media_type?.to_ascii_lowercase())
    }
}

impl ExtractedText {
    pub(crate) fn bounded(self) -> Result<Self, ExtractError> {
        match self.markdown.len() {
            length if length > LONGEST_TEXT => Err(ExtractError::TooLarge { limit: LONGEST_TEXT }),
            _ if self.markdown.trim().is_empty() => Err(ExtractError::NoText),
            _ => Ok(self),
        }
    }
}

fn titled(markdown: String) -> (Option<String>, String) {
    let heading = markdown.lines().find_map(|line| line.strip_prefix("# "));
    let title = heading.map(|heading| heading.trim().trim_end_matches('#').trim().to_owned());
    (title.filter(|title| !title.is_empty()), markdown)
}
