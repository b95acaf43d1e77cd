//! A fetched page as text for a model: the readable part of HTML as markdown, other text as it is.

use onyx_egress::{Address, FetchedAnswer};

use crate::ToolError;

pub(crate) struct Readable {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Converts a page to text. This needs CPU time, so it must not run on a thread that serves others.
pub(crate) fn readable(fetched: &FetchedAnswer) -> Result<Readable, ToolError> {
    let kind = fetched.content_type.split(';').next().unwrap_or_default().trim();
    let text = String::from_utf8_lossy(&fetched.body);
    match kind {
        "text/html" | "application/xhtml+xml" => article(&text, &fetched.address),
        "" if text.trim_start().starts_with('<') => article(&text, &fetched.address),
        kind if is_text(kind) && !fetched.body.contains(&0) => {
            Ok(Readable { title: String::new(), text: text.into_owned() })
        }
        kind => {
            let (size, kind) = (fetched.body.len(), if kind.is_empty() { "unnamed" } else { kind });
            Err(ToolError::Heard(format!("it is not text but {kind} ({size} bytes)")))
        }
    }
}

fn is_text(kind: &str) -> bool {
    let known = ["", "application/json", "application/xml", "application/javascript"];
    kind.starts_with("text/")
        || known.contains(&kind)
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

fn article(html: &str, address: &Address) -> Result<Readable, ToolError> {
    let page = onyx_extract::readable(html, Some(address.as_str()));
    let page = page.map_err(|error| ToolError::Heard(format!("no text in it: {error}")))?;
    Ok(Readable { title: page.title.unwrap_or_default(), text: page.markdown })
}
