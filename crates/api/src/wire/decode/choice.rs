//! Decodes `tool_choice` and the fields that belong to it.

use onyx_types::{CallsAtOnce, ToolChoice, ToolOffer, ToolUse};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Problem;

/// The words of both OpenAI formats.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    None,
    Auto,
    Required,
}

impl Mode {
    pub(super) fn wanted(self) -> ToolChoice {
        match self {
            Self::None => ToolChoice::None,
            Self::Auto => ToolChoice::Auto,
            Self::Required => ToolChoice::Required,
        }
    }
}

/// The choice that the client asks for, if it gave the tools for it. `path` leads to the tool's
/// name.
pub(super) fn tool_use(
    choice: ToolChoice,
    several: Option<bool>,
    tools: &[ToolOffer],
    path: &str,
) -> Result<ToolUse, Problem> {
    if choice.is_forced() && tools.is_empty() {
        return Err(Problem::field("tool_choice", "give `tools` to choose from"));
    }
    if let ToolChoice::Named(name) = &choice
        && !tools.iter().any(|tool| tool.name == *name)
    {
        return Err(Problem::field(path, format!("`{name}` is not among the `tools`")));
    }
    let at_once = match several {
        Some(false) => CallsAtOnce::One,
        Some(true) | None => CallsAtOnce::Several,
    };
    Ok(ToolUse { choice, at_once })
}
