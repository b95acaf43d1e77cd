//! The tools themselves, one file each. A new one is a file and a line in this list.

mod edit_file;
mod list_files;
mod memory_get;
mod memory_write;
mod read_file;
mod select_model;
mod web_fetch;
mod web_search;
mod write_file;

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{FileChange, Origin, Plan, Preview, Target, ToolEffect, ToolSpec};
use schemars::JsonSchema;
use serde_json::Value;

use crate::schema::schema_of;
use crate::web::Web;
use crate::{ModelRouter, Tool};

/// Every tool that comes with Onyx, in the order agents see them.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(list_files::ListFiles::new()),
        Arc::new(read_file::ReadFile::new()),
        Arc::new(write_file::WriteFile::new()),
        Arc::new(edit_file::EditFile::new()),
        Arc::new(memory_get::MemoryGet::new()),
        Arc::new(memory_write::MemoryWrite::new()),
    ]
}

/// For homes with models to choose from.
pub fn model_tools(router: Arc<dyn ModelRouter>) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(select_model::SelectModel::new(router))]
}

/// For homes with a way out.
pub fn web_tools(web: &Web) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(web_search::WebSearch::new(web.clone())),
        Arc::new(web_fetch::WebFetch::new(web.clone())),
    ]
}

const MEMORY_FILE: &str = "MEMORY.md";

/// Files on a local disk or an object store; longer means something hangs.
const FILE_TIMEOUT: Duration = Duration::from_secs(30);

fn tool<Arguments: JsonSchema>(
    name: &str,
    group: &'static str,
    usual_effect: ToolEffect,
    description: &str,
) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        group,
        description: description.to_owned(),
        input_schema: schema_of::<Arguments>().into(),
        usual_effect,
        repeats: false,
        timeout: FILE_TIMEOUT,
    }
}

/// A plan that changes nothing.
fn reading(tool: &ToolSpec, arguments: Value, target: Target, summary: String) -> Plan {
    Plan {
        targets: vec![target],
        ..Plan::new(tool.name.as_str(), arguments, ToolEffect::Read, summary)
    }
}

/// A plan with one effect on one thing.
fn acting(
    tool: &ToolSpec,
    arguments: Value,
    effect: ToolEffect,
    target: Target,
    preview: Preview,
) -> Plan {
    Plan { targets: vec![target], preview, ..Plan::new(tool.name.as_str(), arguments, effect, "") }
}

/// A plan that adds to one file.
fn writing(
    tool: &ToolSpec,
    arguments: Value,
    target: Target,
    summary: String,
    preview: Preview,
) -> Plan {
    Plan {
        targets: vec![target],
        preview,
        ..Plan::new(tool.name.as_str(), arguments, ToolEffect::Write, summary)
    }
}

/// What one file holds after a plan; the version before is kept.
fn changing(mut plan: Plan, after: &str, origin: Origin) -> Plan {
    let change = |target: &Target| FileChange {
        target: target.name.clone(),
        after: Some(after.to_owned()),
        origin,
    };
    plan.changes = plan.targets.iter().map(change).collect();
    plan
}

/// A text argument of a call that nobody has checked yet.
fn text_argument<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}
