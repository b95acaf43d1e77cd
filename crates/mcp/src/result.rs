//! The result of a call in the form that a model reads. All of it comes from outside.

use onyx_types::{Attached, Origin, ToolOutcome};
use serde_json::Value;

/// The longest text of a resource that is shown inline. A longer one is stored as a whole, and the
/// model gets its location.
const INLINE_BYTES: usize = 8 * 1024;
const MOST_PARTS: usize = 200;

pub(crate) fn outcome(answer: &Value, summary: String) -> ToolOutcome {
    let (mut texts, mut attached) = (Vec::new(), Vec::new());
    let parts = answer["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    for part in parts.iter().take(MOST_PARTS) {
        texts.extend(shown(part, &mut attached));
    }
    if parts.len() > MOST_PARTS {
        texts.push(format!("[{} more parts left out]", parts.len() - MOST_PARTS));
    }
    if texts.is_empty() && attached.is_empty() {
        texts.extend(answer.get("structuredContent").map(Value::to_string));
    }
    let output = if texts.is_empty() { "[no output]".to_owned() } else { texts.join("\n") };
    let outcome = if answer["isError"] == true {
        ToolOutcome::error(output)
    } else {
        ToolOutcome::ok(output, summary)
    };
    ToolOutcome { attached, ..outcome }.from_origin(Origin::External)
}

fn shown(part: &Value, attached: &mut Vec<Attached>) -> Option<String> {
    let word = |key: &str| part[key].as_str().unwrap_or_default();
    match word("type") {
        "text" => Some(word("text").to_owned()),
        kind @ ("image" | "audio") => {
            Some(format!("[{kind}, {}, {} bytes]", word("mimeType"), word("data").len() * 3 / 4))
        }
        "resource_link" => Some(format!("[resource {}: {}]", word("uri"), word("name"))),
        "resource" => {
            let resource = &part["resource"];
            let uri = resource["uri"].as_str().unwrap_or("resource");
            match resource["text"].as_str() {
                Some(text) if text.len() > INLINE_BYTES => {
                    let name = onyx_types::visible_line(uri).to_string();
                    attached.push(Attached { name, text: text.to_owned() });
                    None
                }
                Some(text) => Some(format!("[resource {uri}]\n{text}")),
                None => Some(format!("[resource {uri}, not text]")),
            }
        }
        _ => Some("[a part of unknown kind]".to_owned()),
    }
}
