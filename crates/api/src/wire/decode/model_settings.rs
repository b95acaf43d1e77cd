//! Model settings as the formats write them, with the client's own name of each, so that the client
//! can be told which settings the model's format lacks.

use onyx_types::{Effort, Sampling, SamplingSetting, Verbosity};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Problem;

/// The requested settings, each with the field that asked for it.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestedSettings {
    pub(super) sampling: Sampling,
    pub(super) settings: Vec<(SamplingSetting, &'static str)>,
}

impl RequestedSettings {
    /// Records that a field asks for this setting, if it does.
    pub(super) fn note(
        &mut self,
        setting: SamplingSetting,
        field: &'static str,
        is_requested: bool,
    ) {
        if is_requested {
            self.settings.push((setting, field));
        }
    }

    pub(super) fn top_p(&mut self, value: Option<f32>) {
        self.note(SamplingSetting::TopP, "top_p", value.is_some_and(|value| value < 1.0));
        self.sampling.top_p = value;
    }

    pub(super) fn top_k(&mut self, value: Option<u32>) {
        self.note(SamplingSetting::TopK, "top_k", value.is_some());
        self.sampling.top_k = value;
    }

    pub(super) fn stop(&mut self, words: Vec<String>, field: &'static str) {
        self.note(SamplingSetting::Stop, field, !words.is_empty());
        self.sampling.stop = words;
    }

    pub(super) fn effort(&mut self, effort: Option<Effort>, field: &'static str) {
        self.note(SamplingSetting::Effort, field, effort.is_some());
        self.sampling.effort = effort.or(self.sampling.effort);
    }

    pub(super) fn verbosity(&mut self, verbosity: Option<Verbosity>, field: &'static str) {
        self.note(SamplingSetting::Verbosity, field, verbosity.is_some());
        self.sampling.verbosity = verbosity;
    }
}

/// One stop word or several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum StopWords {
    One(String),
    Many(Vec<String>),
}

impl StopWords {
    pub(super) fn words(self) -> Vec<String> {
        match self {
            Self::One(word) => vec![word],
            Self::Many(words) => words,
        }
    }
}

/// The levels of thinking effort of all makers. A level that only one maker has is mapped to the
/// nearest one elsewhere.
pub(super) fn effort(path: &str, word: &str) -> Result<Effort, Problem> {
    Ok(match word {
        "none" => Effort::None,
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" | "max" => Effort::Most,
        other => {
            let why =
                format!("{other:?} is not one of none, minimal, low, medium, high, xhigh and max");
            return Err(Problem::field(path, why));
        }
    })
}

pub(super) fn verbosity(path: &str, word: &str) -> Result<Verbosity, Problem> {
    Ok(match word {
        "low" => Verbosity::Low,
        "medium" => Verbosity::Medium,
        "high" => Verbosity::High,
        other => {
            let why = format!("{other:?} is not one of low, medium and high");
            return Err(Problem::field(path, why));
        }
    })
}
