//! Writes the page of events from the schemas that the server publishes.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const OPENING: &str = "\
<!-- Written by `cargo xtask docs` from docs/openapi.json and xtask/src/docs/events.rs. Edit those. -->

# Events

What a run tells while it works. Fields in *italics* may be absent. Be ready for types that this page does not have yet: a newer
server may send them.

";

const STREAMS: [Stream; 2] = [
    Stream {
        title: "Lines of a chat",
        schema: "Line",
        opening: "`POST /api/agent/chat-stream` and `POST /api/agent/actions/{id}/run` answer with one JSON object per line \
                  (`application/x-ndjson`).",
    },
    Stream {
        title: "Events of a run",
        schema: "Envelope",
        opening: "`GET /api/runs/{id}/events` is an event stream of every run, also of one that another person started. Each event has \
                  `seq`, which grows by one, `run_id` and `lane`, which tells several answering agents apart. Give the last `seq` \
                  as `?after=` to continue from there. The [WebSocket](../websocket.md) sends the same events.",
    },
];

/// The description of each event type, in either stream.
const SENTENCES: [(&str, &str); 15] = [
    ("start", "the run has begun; the question is on disk"),
    ("text", "a piece of the answer"),
    ("text_delta", "a piece of the answer"),
    ("text_complete", "one whole text, as it is stored"),
    ("reasoning_delta", "a piece of what the model thinks, where it shows that"),
    ("tool_call", "the model asks for a tool; `label` has the words to show"),
    ("tool_output", "what a running tool prints meanwhile"),
    ("tool_result", "the result of a call; `report` has the words to show"),
    ("draft", "a change waits for approval; the run continues without it"),
    ("confirm", "the run itself waits for your decision"),
    ("context", "what retrieval gave the model beside the question"),
    ("status", "a note on the progress: compaction, a retry, another model"),
    ("usage", "tokens and cost so far"),
    ("error", "the run failed; `code` is one of the [errors](../errors.md)"),
    ("done", "the last event; `status` says how it ended"),
];

struct Stream {
    title: &'static str,
    schema: &'static str,
    opening: &'static str,
}

pub(super) fn page(document: &str) -> Result<String> {
    let document: Value = serde_json::from_str(document).context("docs/openapi.json is no JSON")?;
    let mut page = OPENING.to_owned();
    for Stream { title, schema, opening } in STREAMS {
        // Writing to a string cannot fail.
        let _ =
            write!(page, "## {title}\n\n{opening}\n\n| type | says | fields |\n|---|---|---|\n");
        let variants = document["components"]["schemas"][schema]["oneOf"].as_array();
        for variant in variants
            .with_context(|| format!("docs/openapi.json has no schema {schema} of several types"))?
        {
            let _ = writeln!(page, "{}", row(variant)?);
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    Ok(page)
}

fn row(variant: &Value) -> Result<String> {
    let kind =
        variant["properties"]["type"]["const"].as_str().context("an event without a type")?;
    let Some((_, sentence)) = SENTENCES.iter().find(|(known, _)| *known == kind) else {
        bail!("the event {kind} has no description: add one to xtask/src/docs/events.rs");
    };
    let required: Vec<&str> =
        variant["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields =
        variant["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let fields = fields.filter(|name| *name != "type");
    let shown: Vec<String> = fields
        .map(
            |name| {
                if required.contains(&name) { format!("`{name}`") } else { format!("*`{name}`*") }
            },
        )
        .collect();
    Ok(format!("| `{kind}` | {sentence} | {} |", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(kind: &str) -> String {
        let event = format!(
            r#"{{"properties": {{"type": {{"const": "{kind}"}}, "a": {{}}, "b": {{}}}}, "required": ["type", "a"]}}"#
        );
        format!(
            r#"{{"components": {{"schemas": {{"Line": {{"oneOf": [{event}]}}, "Envelope": {{"oneOf": []}}}}}}}}"#
        )
    }

    #[test]
    fn an_event_is_a_row_with_its_fields() {
        let page = page(&document("text")).unwrap();
        assert!(page.contains("| `text` | a piece of the answer | `a`, *`b`* |\n"), "{page}");
    }

    #[test]
    fn an_event_without_a_sentence_is_refused_by_name() {
        let error = page(&document("brand_new")).unwrap_err();
        assert!(error.to_string().contains("brand_new"), "{error}");
    }
}
