use serde::{Deserialize, Serialize};

use crate::scans;

/// The format of a document. Its first bytes take precedence over its declared type, and the
/// declared type over its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Markdown,
    Plain,
    Html,
    Pdf,
    Docx,
    Epub,
    /// A picture, perhaps with text on it.
    Picture,
    Csv,
    Code,
}

const BY_MEDIA_TYPE: &[(&str, Kind)] = &[
    ("text/html", Kind::Html),
    ("application/xhtml+xml", Kind::Html),
    ("application/pdf", Kind::Pdf),
    ("text/csv", Kind::Csv),
    ("text/tab-separated-values", Kind::Csv),
    ("text/markdown", Kind::Markdown),
];

const BY_EXTENSION: &[(&[&str], Kind)] = &[
    (&["md", "markdown", "mdx"], Kind::Markdown),
    (&["html", "htm", "xhtml"], Kind::Html),
    (&["pdf"], Kind::Pdf),
    (&["csv", "tsv"], Kind::Csv),
    (
        &[
            "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "kt", "kts", "scala", "go",
            "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "swift", "m", "sh", "bash", "zsh",
            "fish", "ps1", "sql", "lua", "pl", "r", "jl", "hs", "ml", "ex", "exs", "erl", "clj",
            "dart", "vue", "svelte", "css", "scss", "json", "json5", "jsonl", "yaml", "yml",
            "toml", "ini", "cfg", "conf", "xml", "proto", "graphql", "tf", "nix", "zig", "diff",
            "patch",
        ],
        Kind::Code,
    ),
];

impl Kind {
    pub fn of(name: &str, media_type: Option<&str>, bytes: &[u8]) -> Self {
        by_content(bytes)
            .or_else(|| by_media_type(media_type?))
            .or_else(|| by_extension(name))
            .unwrap_or(Self::Plain)
    }
}

fn by_content(bytes: &[u8]) -> Option<Kind> {
    let head = &bytes[..bytes.len().min(1024)];
    if scans::is_picture(bytes) {
        return Some(Kind::Picture);
    }
    if head.windows(5).any(|window| window == b"%PDF-") {
        return Some(Kind::Pdf);
    }
    // An archive has the names of its first files uncompressed; the reader of the format checks the
    // rest.
    if bytes.starts_with(b"PK\x03\x04") {
        let names = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
        return match () {
            () if names(b"word/document.xml") => Some(Kind::Docx),
            () if names(b"META-INF/container.xml") => Some(Kind::Epub),
            () => None,
        };
    }
    let start = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    let is_page = start.starts_with("<!doctype html") || start.starts_with("<html");
    is_page.then_some(Kind::Html)
}

fn by_media_type(media_type: &str) -> Option<Kind> {
    let essence = media_type.split(';').next()?.trim().to_ascii_lowercase();
    BY_MEDIA_TYPE.iter().find(|(name, _)| *name == essence).map(|(_, kind)| *kind)
}

fn by_extension(name: &str) -> Option<Kind> {
    let extension = extension(name)?;
    let known = BY_EXTENSION.iter().find(|(names, _)| names.contains(&extension.as_str()));
    known.map(|(_, kind)| *kind)
}

/// The extension in lower case.
pub(crate) fn extension(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit('/').next()?.rsplit_once('.')?;
    (!stem.is_empty()).then(|| extension.to_ascii_lowercase())
}
