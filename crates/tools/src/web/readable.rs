//! A fetched page as text for a model: the readable part of HTML as markdown, other text as it is.

use dom_smoothie::{Article, Config, ParsePolicy, Readability, TextMode};
use onyx_egress::{Address, Fetched};

use crate::ToolError;

/// Pages of more elements are no articles; their parsing would take long.
const MOST_ELEMENTS: usize = 60_000;

pub(crate) struct Readable {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Takes CPU time: not for a thread that serves others.
pub(crate) fn readable(fetched: &Fetched) -> Result<Readable, ToolError> {
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
            Err(ToolError::Failed(format!("it is not text but {kind} ({size} bytes)")))
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

/// The article of a page; of a page that has none, everything in it.
fn article(html: &str, address: &Address) -> Result<Readable, ToolError> {
    let parse = |policy: Option<ParsePolicy>| -> Result<Article, dom_smoothie::ReadabilityError> {
        let config = Config {
            max_elements_to_parse: MOST_ELEMENTS,
            text_mode: TextMode::Markdown,
            ..Config::default()
        };
        let mut page = Readability::new(html, Some(address.as_str()), Some(config))?;
        match policy {
            None => page.parse(),
            Some(policy) => page.parse_with_policy(policy),
        }
    };
    let article = parse(None).or_else(|_| parse(Some(ParsePolicy::Raw)));
    let article = article.map_err(|error| ToolError::Failed(format!("no text in it: {error}")))?;
    Ok(Readable { title: article.title, text: article.text_content.to_string() })
}
