//! `tool_choice` and its neighbours.

use onyx_types::{CallsAtOnce, ToolChoice, ToolOffer, ToolUse};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Problem;

/// The words that both of OpenAI's wires have for it.
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

/// What was asked for, if the tools to do it with were given. `path` leads to the tool's name.
pub(super) fn tool_use(
    choice: ToolChoice,
    several: Option<bool>,
    tools: &[ToolOffer],
    path: &str,
) -> Result<ToolUse, Problem> {
    if choice.is_forced() && tools.is_empty() {
        return Err(Problem::field("tool_choice", "there are no `tools` to choose from"));
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
