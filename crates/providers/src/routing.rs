//! Which model takes a task: `routing` of the config decides for the model named `auto`. A pure
//! function; `select_model` and `route_task` use the same rules.

use onyx_types::{ErrorCode, Fault, Usage};
use serde::{Deserialize, Serialize};

use crate::metadata::{Modality, ModelFacts};
use crate::registry::Locality;

/// The most fallbacks for a chosen model.
const MAX_FALLBACKS: usize = 3;

/// `routing` of the config. The first rule that matches and has a suitable model decides; without
/// one, the cheapest suitable model is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RoutingSettings {
    pub rules: Vec<RoutingRule>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RoutingRule {
    /// The classes of tasks that the rule applies to; empty means all.
    pub tasks: Vec<TaskClass>,
    /// The least number of tokens in the prompts that the rule applies to; `max_tokens` is the
    /// most.
    pub min_tokens: Option<u64>,
    pub max_tokens: Option<u64>,
    /// Models in the order of preference; empty is every configured one, the cheapest first.
    pub models: Vec<String>,
    /// The most one call may cost.
    pub max_cost: Option<f64>,
    pub locality: Option<Locality>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskClass {
    #[default]
    Chat,
    Code,
    Reasoning,
    Writing,
    Summary,
    Extraction,
    /// No person waits: titles, compaction, heartbeats.
    Background,
}

impl TaskClass {
    pub const ALL: [Self; 7] = [
        Self::Chat,
        Self::Code,
        Self::Reasoning,
        Self::Writing,
        Self::Summary,
        Self::Extraction,
        Self::Background,
    ];

    /// The name in the config.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Code => "code",
            Self::Reasoning => "reasoning",
            Self::Writing => "writing",
            Self::Summary => "summary",
            Self::Extraction => "extraction",
            Self::Background => "background",
        }
    }

    /// The class of this name. The error lists the names of all classes.
    pub fn named(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|class| class.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Fault::new(ErrorCode::ModelNotFound, format!("`{name}` is not a class of tasks."))
                .with_hint(format!("There are: {known}."))
        })
    }

    /// The class of the model `auto`, or of `auto/<class>` for an agent whose work is of one class.
    /// `None` for every other model.
    pub fn of_auto(model: &str) -> Option<Result<Self, Fault>> {
        match model.split_once('/') {
            None => (model == "auto").then(|| Ok(Self::default())),
            Some((name, class)) => (name == "auto").then(|| Self::named(class)),
        }
    }
}

/// The properties of a task that the choice of its model depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Task {
    pub class: TaskClass,
    pub prompt_tokens: u64,
    /// The longest answer that is wanted.
    pub output_tokens: u64,
    pub needs: Vec<Need>,
    /// The limits that the asker sets on top of the rules.
    pub max_cost: Option<f64>,
    pub locality: Option<Locality>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    Tools,
    Images,
    Reasoning,
}

/// A model that could be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// `<provider>/<model>`.
    pub id: String,
    pub facts: ModelFacts,
    pub locality: Locality,
    /// The model failed recently and is left alone for now.
    pub rests: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub model: String,
    /// Other models that fit, for when the chosen one cannot answer.
    pub fallbacks: Vec<String>,
    /// The reason for the choice, in words.
    pub reason: String,
}

/// The error that no model fits, with the reason for each candidate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("No configured model fits the task. {}", .0.join("; "))]
pub struct NoModelFits(pub Vec<String>);

pub fn route(
    settings: &RoutingSettings,
    task: &Task,
    catalogue: &[Candidate],
) -> Result<Choice, NoModelFits> {
    let mut misfits = Vec::new();
    for (place, rule) in settings.rules.iter().enumerate() {
        if rule.matches(task)
            && let Some(choice) = choose(rule, task, catalogue, &mut misfits)
        {
            return Ok(choice.because(&format!("by rule {}", place + 1)));
        }
    }
    let anything = RoutingRule::default();
    match choose(&anything, task, catalogue, &mut misfits) {
        Some(choice) => Ok(choice.because("the cheapest that fits")),
        None => {
            misfits.sort();
            misfits.dedup();
            Err(NoModelFits(misfits))
        }
    }
}

impl RoutingRule {
    fn matches(&self, task: &Task) -> bool {
        (self.tasks.is_empty() || self.tasks.contains(&task.class))
            && self.min_tokens.is_none_or(|least| task.prompt_tokens >= least)
            && self.max_tokens.is_none_or(|most| task.prompt_tokens <= most)
    }
}

impl Choice {
    fn because(mut self, rule: &str) -> Self {
        self.reason = format!("{} was chosen {rule}; {}", self.model, self.reason);
        self
    }
}

fn choose(
    rule: &RoutingRule,
    task: &Task,
    catalogue: &[Candidate],
    misfits: &mut Vec<String>,
) -> Option<Choice> {
    let mut fitting = Vec::new();
    for candidate in in_order(rule, task, catalogue, misfits) {
        match misfit(rule, task, candidate) {
            None => fitting.push(candidate),
            Some(why) => misfits.push(format!("{}: {why}", candidate.id)),
        }
    }
    let (first, others) = fitting.split_first()?;
    Some(Choice {
        model: first.id.clone(),
        fallbacks: others.iter().take(MAX_FALLBACKS).map(|other| other.id.clone()).collect(),
        reason: match cost(first, task) {
            Some(cost) => format!("one call costs at most about {cost:.4}."),
            None => "its price is not known and counts as 0.".to_owned(),
        },
    })
}

/// The candidates in the rule's own order, or by price. A model without a known price comes last,
/// because it may cost anything.
fn in_order<'c>(
    rule: &RoutingRule,
    task: &Task,
    catalogue: &'c [Candidate],
    misfits: &mut Vec<String>,
) -> Vec<&'c Candidate> {
    if rule.models.is_empty() {
        let mut all: Vec<&Candidate> = catalogue.iter().collect();
        let price = |candidate: &Candidate| cost(candidate, task).unwrap_or(f64::INFINITY);
        all.sort_by(|a, b| price(a).total_cmp(&price(b)));
        return all;
    }
    let named = |id: &String| {
        let found = catalogue.iter().find(|candidate| candidate.id == *id);
        if found.is_none() {
            misfits.push(format!("{id}: it is not among the configured models"));
        }
        found
    };
    rule.models.iter().filter_map(named).collect()
}

fn misfit(rule: &RoutingRule, task: &Task, candidate: &Candidate) -> Option<String> {
    let facts = &candidate.facts;
    if candidate.rests {
        return Some("it failed recently and is paused".to_owned());
    }
    let needed = task.prompt_tokens.saturating_add(task.output_tokens);
    if let Some(window) = facts.context_window.map(u64::from).filter(|window| *window < needed) {
        return Some(format!("its window of {window} tokens is less than the {needed} needed"));
    }
    // A property that is not known does not exclude a model.
    let lacks = |need: &&Need| match need {
        Need::Tools => facts.tools == Some(false),
        Need::Images => {
            facts.inputs.as_ref().is_some_and(|inputs| !inputs.contains(&Modality::Image))
        }
        Need::Reasoning => facts.reasoning == Some(false),
    };
    if let Some(need) = task.needs.iter().find(lacks) {
        return Some(match need {
            Need::Tools => "it cannot call tools".to_owned(),
            Need::Images => "it cannot see images".to_owned(),
            Need::Reasoning => "it does not reason".to_owned(),
        });
    }
    let wanted = [rule.locality, task.locality];
    if wanted.into_iter().flatten().any(|place| place != candidate.locality) {
        return Some(match candidate.locality {
            Locality::Hosted => "it does not run on this machine".to_owned(),
            Locality::ThisMachine => "it runs on this machine".to_owned(),
        });
    }
    let ceiling = [rule.max_cost, task.max_cost].into_iter().flatten().reduce(f64::min);
    match (cost(candidate, task), ceiling) {
        (Some(cost), Some(ceiling)) if cost > ceiling => {
            Some(format!("one call may cost {cost:.4}, more than {ceiling:.4}"))
        }
        (Some(_) | None, Some(_) | None) => None,
    }
}

/// The cost of the task if the answer is as long as allowed.
fn cost(candidate: &Candidate, task: &Task) -> Option<f64> {
    let usage = Usage { input: task.prompt_tokens, output: task.output_tokens, ..Usage::default() };
    candidate.facts.price.map(|price| price.cost(&usage))
}

impl From<NoModelFits> for Fault {
    fn from(error: NoModelFits) -> Self {
        Self::new(ErrorCode::ModelNotFound, error.to_string())
            .with_hint("Add a model to a provider's `models`, or change `routing` in the config.")
    }
}
