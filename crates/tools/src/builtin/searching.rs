//! The parts that the searching tools share: where they search, and how results are shown.

use std::fmt::Write as _;
use std::time::Duration;

use onyx_knowledge::{Hit, Index, Search, SearchResults};
use onyx_storage::{SourceKind, StoreError};
use onyx_types::{Origin, Plan, ScopeSet, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;

use super::{reading, spec_of};
use crate::ToolError;

const DEFAULT_HITS: u32 = 6;
/// The most bytes that are shown of a chunk. Longer ones are read with the reading tools.
const LONGEST_TEXT: usize = 1_600;

pub(super) fn search_tool<Arguments: JsonSchema>(
    name: &'static str,
    group: &str,
    description: &str,
) -> ToolSpec {
    let spec = spec_of::<Arguments>(name, group, ToolEffect::Read, description);
    ToolSpec { timeout: Duration::from_secs(20), ..spec }
}

/// A plan to search the index.
pub(super) fn looking(spec: &ToolSpec) -> Plan {
    reading(spec, Target::Index)
}

pub(super) struct IndexQuery {
    pub(super) text: String,
    pub(super) scopes: ScopeSet,
    pub(super) kinds: Vec<SourceKind>,
    pub(super) limit: Option<u32>,
}

pub(super) async fn ask(
    index: &Index,
    question: IndexQuery,
    summary: String,
) -> Result<ToolOutcome, ToolError> {
    let IndexQuery { text, scopes, kinds, limit } = question;
    if text.trim().is_empty() {
        return Err(ToolError::Arguments("\"query\" is empty".into()));
    }
    let limit = limit.unwrap_or(DEFAULT_HITS) as usize;
    let search = Search { text, scopes, kinds, limit };
    let answer = index.search(&search).await.map_err(StoreError::from)?;
    let origin = answer.hits.iter().map(|hit| hit.origin).max().unwrap_or(Origin::Person);
    Ok(ToolOutcome::ok(results_text(&answer), summary).from_origin(origin))
}

fn results_text(answer: &SearchResults) -> String {
    let mut text = String::new();
    for hit in &answer.hits {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\n{}\n", label(hit), shortened(&hit.text));
    }
    if answer.hits.is_empty() {
        text.push_str("[nothing found]\n");
    }
    if let Some(why) = &answer.degraded {
        let _ = writeln!(text, "[searched by words only: {why}]");
    }
    if answer.partial {
        text.push_str("[not everything is indexed yet; search again later for more]\n");
    }
    text
}

fn label(hit: &Hit) -> String {
    if let Some(message) = &hit.message {
        let when = message.at.map(|at| format!(", {}", at.utc_date())).unwrap_or_default();
        let turn = message.turn.map(|turn| format!(" turn {turn}")).unwrap_or_default();
        let (path, line) = (hit.path(), hit.start_line);
        return format!("{path}:{line}{turn} ({}{when}) {:.2}", message.author, hit.score);
    }
    let under = if hit.heading.is_empty() { &hit.title } else { &hit.heading };
    format!("{}:{}-{} ({under}) {:.2}", hit.path(), hit.start_line, hit.end_line, hit.score)
}

fn shortened(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    format!("{} […]", &text[..text.floor_char_boundary(LONGEST_TEXT)])
}
