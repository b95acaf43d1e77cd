use async_trait::async_trait;
use onyx_types::{
    Hash, Origin, Plan, Preview, Target, Timestamp, ToolEffect, ToolOutcome, ToolSpec, Zone,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MEMORY_FILE, changing, text_argument, tool, writing};
use crate::files::{Place, Writer, apply};
use crate::paths::{self, instruction};
use crate::schema::arguments;
use crate::text::daily;
use crate::text::diff::Change;
use crate::text::section::{add_under, replace_under};
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct MemoryWrite(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    /// Put it under this heading of MEMORY.md
    heading: Option<String>,
    /// Exact text there to replace
    replaces: Option<String>,
}

/// What a plan holds. An entry keeps the day and time it was made, also when it happens later.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Note {
    Entry { at: Timestamp, text: String },
    Fact(Fact),
}

#[derive(Serialize, Deserialize)]
struct Fact {
    heading: String,
    text: String,
    replaces: Option<String>,
}

impl MemoryWrite {
    pub(super) fn new() -> Self {
        let description =
            "Remember: adds to today's log, or with a heading to MEMORY.md for lasting facts.";
        Self(tool::<Arguments>("memory_write", "memory", ToolEffect::Write, description))
    }

    fn plan_entry(
        &self,
        note: &Note,
        at: Timestamp,
        text: &str,
        cx: &ToolCx,
    ) -> Result<Plan, ToolError> {
        let zone = cx.clock.zone_of(&cx.key.person);
        let key = paths::key(&daily_path(at, &zone))?;
        // An entry is added to whatever the log holds by then, so it builds on nothing, and stands
        // in no other entry's way while it waits for a person.
        let entry = Hash::of(text.as_bytes()).to_string();
        let log = Place::memory(cx)?.name(&key);
        let name = format!("{log}#{}-{}", at.as_millis(), &entry[..16]);
        let target = Target { name, base: None, instruction: instruction::in_memory(&key) };
        let preview = Preview::Text { text: daily::entry(at, &zone, text, cx.taint) };
        let summary = format!("Note {text}");
        Ok(writing(&self.0, as_arguments(note)?, target, summary, preview))
    }

    async fn plan_fact(&self, note: &Note, fact: &Fact, cx: &ToolCx) -> Result<Plan, ToolError> {
        let (memory, key) = (Place::memory(cx)?, paths::key(MEMORY_FILE)?);
        let before = memory.seen(&key).await?;
        let text = before.as_ref().map_or("", |seen| seen.text.as_str());
        let after = fact.apply(text)?;
        let change = Change::between(MEMORY_FILE, text, &after);
        let target = Target {
            name: memory.name(&key),
            base: match &before {
                Some(seen) => seen.base,
                None => memory.read(&key).await?.map(|reading| reading.hash),
            },
            instruction: instruction::in_memory(&key),
        };
        let summary = format!("Edit {MEMORY_FILE} under {} {}", fact.heading, change.counts());
        let plan = writing(&self.0, as_arguments(note)?, target, summary, change.preview);
        Ok(changing(plan, &after, before.map_or(Origin::Agent, |seen| seen.origin)))
    }
}

#[async_trait]
impl Tool for MemoryWrite {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        match text_argument(arguments, "heading") {
            "" => format!("Note {}", text_argument(arguments, "text")),
            heading => format!("Edit {MEMORY_FILE} under {heading}"),
        }
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let note = Note::new(arguments(&input)?, cx.clock.wall())?;
        match &note {
            Note::Entry { at, text } => self.plan_entry(&note, *at, text, cx),
            Note::Fact(fact) => self.plan_fact(&note, fact, cx).await,
        }
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (memory, by) = (Place::memory(cx)?, Writer { cx, tool: &self.0.name });
        let key = match arguments(&plan.arguments)? {
            Note::Entry { at, text } => {
                let zone = cx.clock.zone_of(&cx.key.person);
                let key = paths::key(&daily_path(at, &zone))?;
                memory.append(&key, &daily::entry(at, &zone, &text, cx.taint), &by).await?;
                key
            }
            Note::Fact(_) => {
                apply(&plan, cx).await?;
                paths::key(MEMORY_FILE)?
            }
        };
        Ok(ToolOutcome::ok(format!("written to {key}"), plan.summary))
    }
}

impl Note {
    fn new(arguments: Arguments, at: Timestamp) -> Result<Self, ToolError> {
        let Arguments { text, heading, replaces } = arguments;
        match heading.filter(|heading| !heading.is_empty()) {
            Some(heading) => Ok(Self::Fact(Fact { heading, text, replaces })),
            None if replaces.is_some() => {
                Err(ToolError::Arguments("\"replaces\" needs a \"heading\"".into()))
            }
            None if text.trim().is_empty() => Err(ToolError::Arguments("\"text\" is empty".into())),
            None => Ok(Self::Entry { at, text }),
        }
    }
}

impl Fact {
    fn apply(&self, memory: &str) -> Result<String, ToolError> {
        match &self.replaces {
            Some(old) => replace_under(MEMORY_FILE, memory, &self.heading, old, &self.text),
            None => add_under(memory, &self.heading, &self.text),
        }
    }
}

fn daily_path(at: Timestamp, zone: &Zone) -> String {
    format!("daily/{}.md", zone.date(at))
}

fn as_arguments(note: &Note) -> Result<Value, ToolError> {
    serde_json::to_value(note).map_err(|error| ToolError::Arguments(error.to_string()))
}
