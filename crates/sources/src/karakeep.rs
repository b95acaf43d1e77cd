//! Bookmarks in the form that Karakeep exports (Settings, Import / Export). Each becomes a document
//! with the text in the export. No address in it is fetched.

use serde::Deserialize;

/// The most bookmarks of a file. Further ones are left out, and the source reports that.
pub(crate) const MOST_BOOKMARKS: usize = 20_000;

#[derive(Deserialize)]
struct Export {
    bookmarks: Vec<Bookmark>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bookmark {
    /// The time of creation, in seconds.
    #[serde(rename = "createdAt")]
    created_at: Option<i64>,
    title: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    content: Option<Content>,
    note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Link {
        url: String,
    },
    Text {
        text: String,
    },
    #[serde(other)]
    Other,
}

/// The bookmarks of an export; `None` if the file is not one.
pub(crate) fn read(bytes: &[u8]) -> Option<Vec<Bookmark>> {
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if *start != b'{' {
        return None;
    }
    let export: Export = serde_json::from_slice(bytes).ok()?;
    // A file with an empty list could be anything, so it is not taken for an export.
    (!export.bookmarks.is_empty()).then_some(export.bookmarks)
}

impl Bookmark {
    /// A name that identifies the bookmark when the export is imported again.
    pub(crate) fn from(&self, place: usize) -> String {
        match &self.content {
            Some(Content::Link { url }) => url.clone(),
            Some(Content::Text { .. } | Content::Other) | None => {
                let title = self.title.as_deref().unwrap_or("bookmark");
                let at = self.created_at.unwrap_or_default();
                format!("{title} ({at}-{place})")
            }
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let mut parts = Vec::new();
        let title = self.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        parts.extend(title.map(|title| format!("# {title}")));
        match &self.content {
            Some(Content::Link { url }) => parts.push(format!("<{url}>")),
            Some(Content::Text { text }) => parts.push(text.trim().to_owned()),
            Some(Content::Other) | None => {}
        }
        let note = self.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        parts.extend(note.map(str::to_owned));
        if !self.tags.is_empty() {
            parts.push(format!("Tags: {}", self.tags.join(", ")));
        }
        parts.join("\n\n")
    }
}
