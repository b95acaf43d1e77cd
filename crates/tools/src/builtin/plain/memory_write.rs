use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Hash, Origin, Plan, PlanTarget, Preview, Target, Timestamp, ToolEffect, ToolOutcome,
    ToolSpec, Verb, Zone,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MEMORY_FILE, changing, spec_of, text_argument, writing};
use crate::files::{AgentFiles, Writer, apply};
use crate::paths::{self, instruction};
use crate::schema::arguments;
use crate::text::daily;
use crate::text::diff::Change;
use crate::text::section::{add_under, replace_under};
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 90;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(MemoryWrite::new())
}

struct MemoryWrite(ToolSpec);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    /// Put it under this heading of MEMORY.md
    heading: Option<String>,
    /// Exact text there to replace
    replaces: Option<String>,
}

/// The arguments of a call: as a model writes them, or as a plan stores them. The two have
/// different required fields, and no schema lets a model write the second form.
#[derive(Deserialize)]
#[serde(untagged)]
enum NoteArguments {
    Planned(Note),
    New(Arguments),
}

/// The arguments in a plan. An entry keeps the time at which it was planned, even if it is written
/// later.
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
    fn new() -> Self {
        let description =
            "Remember: adds to today's log, or with a heading to MEMORY.md for lasting facts.";
        Self(spec_of::<Arguments>("memory_write", "memory", ToolEffect::Write, description))
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
        // An entry is added to whatever the log holds when it is written. So it depends on no
        // version, and other entries need not wait for a person's decision about it.
        let entry = Hash::of(text.as_bytes()).to_string();
        let log = AgentFiles::memory(cx)?.name(&key);
        let name = format!("{log}#{}-{}", at.as_millis(), &entry[..16]);
        let instruction = instruction::in_memory(&key);
        let target = PlanTarget { target: Target::LogEntry(name), base: None, instruction };
        let preview = Preview::Text { text: daily::entry(at, &zone, text, cx.taint) };
        let summary = format!("Note {text}");
        Ok(Plan { arguments: as_arguments(note)?, ..writing(&self.0, target, summary, preview) })
    }

    async fn plan_fact(&self, note: &Note, fact: &Fact, cx: &ToolCx) -> Result<Plan, ToolError> {
        let (memory, key) = (AgentFiles::memory(cx)?, paths::key(MEMORY_FILE)?);
        let (base, before) = memory.seen_over(&key).await?;
        let text = before.as_ref().map_or("", |seen| seen.text.as_str());
        let after = fact.apply(text)?;
        let change = Change::between(MEMORY_FILE, text, &after);
        let target = PlanTarget {
            target: Target::File(memory.name(&key)),
            base,
            instruction: instruction::in_memory(&key),
        };
        let summary = format!("Edit {MEMORY_FILE} under {} {}", fact.heading, change.counts());
        let plan = writing(&self.0, target, summary, change.preview);
        let plan = Plan { arguments: as_arguments(note)?, ..plan };
        Ok(changing(plan, &after, before.map_or(Origin::Agent, |seen| seen.origin)))
    }
}

#[async_trait]
impl TypedTool for MemoryWrite {
    type Arguments = NoteArguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        match text_argument(arguments, "heading") {
            "" => Verb::new("note", "noting", "noted").of(text_argument(arguments, "text")),
            heading => {
                let verb = Verb::new("edit", "editing", "edited");
                verb.of(format!("{MEMORY_FILE} under {heading}"))
            }
        }
    }

    async fn plan(&self, arguments: &NoteArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let new;
        let note = match arguments {
            NoteArguments::Planned(note) => note,
            NoteArguments::New(arguments) => {
                new = Note::new(arguments, cx.clock.wall())?;
                &new
            }
        };
        match note {
            Note::Entry { at, text } => self.plan_entry(note, *at, text, cx),
            Note::Fact(fact) => self.plan_fact(note, fact, cx).await,
        }
    }

    async fn invoke(
        &self,
        _: NoteArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (memory, by) = (AgentFiles::memory(cx)?, Writer { cx, tool: &self.0.name });
        // The arguments are taken from the plan, because it holds the time of an entry.
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
    fn new(arguments: &Arguments, at: Timestamp) -> Result<Self, ToolError> {
        let Arguments { text, heading, replaces } = arguments.clone();
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
