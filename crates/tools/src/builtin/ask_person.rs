use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Consent, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec,
    Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, spec_of, text_argument};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// The most options: as many as fit under a question on a phone.
const MOST_OPTIONS: usize = 8;
const LONGEST_OPTION: usize = 80;
const LONGEST_QUESTION: usize = 4_000;

/// Asks the person a question. The question is a draft whose approval is the answer, so it is
/// shown, awaited and stored like every other decision.
pub(super) struct AskPerson(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    question: String,
    /// Up to 8 likely answers
    options: Option<Vec<String>>,
}

impl AskPerson {
    pub(super) fn new() -> Self {
        let description = "Ask the person and wait for the answer.";
        Self(spec_of::<Arguments>("ask_person", "agents", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for AskPerson {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("ask you:", "asking you:", "asked you:");
        verb.of(text_argument(arguments, "question")).about(CallTargetKind::Person, "you")
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        let text = arguments.question.clone();
        if text.trim().is_empty() || text.chars().count() > LONGEST_QUESTION {
            let why = format!("\"question\" has 1 to {LONGEST_QUESTION} characters");
            return Err(ToolError::Arguments(why));
        }
        let preview = match options_of(arguments)? {
            options if options.is_empty() => Preview::Text { text },
            options => Preview::Choice { text, options },
        };
        let plan = acting(&self.0, ToolEffect::Read, Target::Person, preview);
        Ok(Plan { consent: Consent::Person, ..plan })
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let answer =
            cx.decisions.answer.as_deref().map(str::trim).filter(|answer| !answer.is_empty());
        let output = answer.unwrap_or("Yes.").to_owned();
        Ok(ToolOutcome::ok(output, plan.into_inner().summary))
    }
}

/// The options, trimmed. Each becomes a button, so none may be empty, too long or repeated.
fn options_of(arguments: &Arguments) -> Result<Vec<String>, ToolError> {
    let options: Vec<String> =
        arguments.options.iter().flatten().map(|option| option.trim().to_owned()).collect();
    let wrong = |why: String| Err(ToolError::Arguments(why));
    if options.len() > MOST_OPTIONS {
        return wrong(format!("at most {MOST_OPTIONS} options can be offered"));
    }
    for (index, option) in options.iter().enumerate() {
        if option.is_empty() || option.contains('\n') {
            return wrong("an option is one line that says something".to_owned());
        }
        if option.chars().count() > LONGEST_OPTION {
            return wrong(format!("an option has at most {LONGEST_OPTION} characters"));
        }
        if options[..index].contains(option) {
            return wrong(format!("the option {option:?} is listed twice"));
        }
    }
    Ok(options)
}
