use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, CallReport, CallState, DiffLine, DocumentPreview, DraftId, Hash, HomePath, ModelId,
    Origin, PlanTarget, Target, ToolEffect, ToolName, ToolUseId, Usage, diff_lines,
    estimate_tokens,
};

/// The description of a tool: its name, its arguments, and its usual behaviour.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: ToolName,
    pub group: String,
    pub description: String,
    /// The JSON Schema of the arguments; for our own tools it is made from the Rust type.
    pub input_schema: Schema,
    /// The usual effect. It only decides whether calls may run in parallel; the effect of a call
    /// comes from its plan.
    pub usual_effect: ToolEffect,
    /// Whether equal calls may be repeated any number of times, as polling tools need.
    pub repeats: bool,
    pub timeout: Duration,
    /// The capabilities that the tool needs. If one is missing, the tool is not offered and does
    /// not run.
    pub needs: Vec<Capability>,
    /// The only agents that have the tool, even if other policies allow others; `None` is any
    /// agent.
    pub agents: Option<Vec<AgentId>>,
}

/// Something that a tool needs to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// A sandbox in which commands run.
    Commands,
    /// A git repository in the person's vault.
    Repository,
    Docker,
    /// A space of the person's.
    Spaces,
    /// A search engine for the web.
    SearchEngine,
    /// The owner's content vault.
    Menos,
    /// The person's own account at LinkedIn.
    LinkedIn,
    /// Another agent to ask.
    OtherAgents,
    /// Another conversation of the person's.
    OtherSessions,
    /// More than one model.
    Models,
    /// A job of the person's.
    Jobs,
}

/// A JSON Schema that is sent many times, so its text is written and measured only once.
#[derive(Clone)]
pub struct Schema(Arc<CachedJson>);

struct CachedJson {
    value: Value,
    text: OnceLock<String>,
    tokens: OnceLock<usize>,
}

impl Schema {
    pub fn text(&self) -> &str {
        self.0.text.get_or_init(|| self.0.value.to_string())
    }

    /// Removes parts that cost bytes in every request and do not help a model, such as the rule
    /// against other arguments, which is checked at the call.
    fn for_model(&self) -> Self {
        let has_properties = |fields: &serde_json::Map<String, Value>| {
            fields
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|named| !named.is_empty())
        };
        match &self.0.value {
            Value::Object(fields)
                if has_properties(fields)
                    && fields.get("additionalProperties") == Some(&Value::Bool(false)) =>
            {
                let mut fields = fields.clone();
                fields.retain(|name, _| name != "additionalProperties");
                Self::from(Value::Object(fields))
            }
            _ => self.clone(),
        }
    }

    /// The estimated number of tokens of the text, by the rule for all models.
    pub fn tokens(&self) -> usize {
        *self.0.tokens.get_or_init(|| estimate_tokens(self.text()))
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self(Arc::new(CachedJson { value, text: OnceLock::new(), tokens: OnceLock::new() }))
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

/// The part of a spec that a model sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    pub name: String,
    pub description: String,
    pub input_schema: Schema,
}

impl ToolSpec {
    pub fn offer(&self) -> ToolOffer {
        ToolOffer {
            name: self.name.to_string(),
            description: self.description.clone(),
            input_schema: self.input_schema.for_model(),
        }
    }
}

/// A model's request to use a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: ToolUseId,
    pub name: String,
    pub input: Value,
}

/// The effects of a call, determined without performing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub tool: ToolName,
    pub arguments: Value,
    /// The effects of the call. The list is never empty: a call without effects reads.
    pub effects: Vec<ToolEffect>,
    pub targets: Vec<PlanTarget>,
    /// One line for people, with secrets masked.
    pub summary: String,
    pub preview: Preview,
    /// The content of the targets afterwards, if the plan knows it completely. Such plans can be
    /// combined while they wait for a person, and after a crash their result can be recognised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// The argument list of a command, for standing rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    #[serde(default)]
    pub consent: Consent,
}

impl Plan {
    /// A plan with one effect and no more details.
    pub fn new(
        tool: impl Into<ToolName>,
        arguments: Value,
        effect: ToolEffect,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            effects: vec![effect],
            targets: Vec::new(),
            summary: summary.into(),
            preview: Preview::None,
            changes: Vec::new(),
            command: None,
            consent: Consent::default(),
        }
    }

    /// Marks that the plan may only become a draft.
    #[must_use]
    pub fn draft_only(mut self) -> Self {
        self.consent = Consent::DraftOnly;
        self
    }

    /// Whether the plan needs a person's approval, or an answer.
    pub fn asks_for(&self) -> AsksFor {
        if self.consent == Consent::Person && self.strictest() == ToolEffect::Read {
            AsksFor::Answer
        } else {
            AsksFor::Approval
        }
    }

    pub fn strictest(&self) -> ToolEffect {
        self.effects.iter().copied().max().unwrap_or(ToolEffect::Execute)
    }

    /// The plan's entry for this target.
    pub fn target(&self, target: &Target) -> Option<&PlanTarget> {
        self.targets.iter().find(|own| own.target.is(target))
    }

    /// Whether these are the plan's targets, with the same content as when it was made.
    pub fn has_targets(&self, targets: &[PlanTarget]) -> bool {
        let same = |(own, other): (&PlanTarget, &PlanTarget)| {
            own.target.is(&other.target)
                && (own.base, own.instruction) == (other.base, other.instruction)
        };
        self.targets.len() == targets.len() && self.targets.iter().zip(targets).all(same)
    }

    /// The hash of a file's content when the plan was made; also `None` if the file is not a
    /// target.
    pub fn base_of(&self, file: &HomePath) -> Option<Hash> {
        let own = self.targets.iter().find(|own| own.target.file().as_ref() == Some(file));
        own.and_then(|own| own.base)
    }

    /// The hash of exactly what will happen: the call, its effects, and the content that it builds
    /// on. The texts for people are not included.
    pub fn hash(&self) -> Hash {
        let exact = (&self.tool, &self.arguments, &self.effects, &self.targets, &self.changes);
        // A plan that is stored and read again keeps the order of its keys, so equal plans are
        // equal bytes. Plain data can always be serialised.
        let bytes = serde_json::to_vec(&(exact, &self.command)).unwrap_or_default();
        Hash::of(&bytes)
    }
}

/// The approval that a plan needs, beside what its effects require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// The gate's table decides whether approval is needed.
    #[default]
    Gate,
    /// A person must decide later: the plan can only be drafted.
    DraftOnly,
    /// A person must decide, during the call if one is present: the call is a question to them.
    Person,
}

/// The content of one target after the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub target: HomePath,
    /// The file's content afterwards; `None` deletes the file.
    pub after: Option<String>,
    /// The origin of the content, beside the taint of the run that wrote it.
    pub origin: Origin,
}

impl FileChange {
    pub fn after_hash(&self) -> Option<Hash> {
        self.after.as_ref().map(|text| Hash::of(text.as_bytes()))
    }
}

/// The form in which a person sees a plan before deciding. All text in it is made visible before it
/// leaves the process, also text that was stored earlier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Preview {
    None,
    Text {
        #[serde(serialize_with = "crate::serialize_visible")]
        #[schemars(with = "String")]
        text: String,
    },
    Diff {
        #[serde(serialize_with = "crate::serialize_visible")]
        #[schemars(with = "String")]
        path: String,
        #[serde(serialize_with = "crate::serialize_visible")]
        #[schemars(with = "String")]
        unified: String,
        /// The lines of `unified`, each with its kind.
        #[serde(default)]
        diff_lines: Vec<DiffLine>,
        /// What the change means, if the file is a document of a space.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<Box<DocumentPreview>>,
    },
    /// A question with answers to choose from; any other answer may be given too.
    Choice {
        #[serde(serialize_with = "crate::serialize_visible")]
        #[schemars(with = "String")]
        text: String,
        #[serde(serialize_with = "visible_options")]
        #[schemars(with = "Vec<String>")]
        options: Vec<String>,
    },
}

impl Preview {
    /// The change of a text.
    pub fn diff(path: impl Into<String>, unified: impl Into<String>) -> Self {
        let (path, unified) = (path.into(), unified.into());
        Self::Diff { path, diff_lines: diff_lines(&unified), unified, document: None }
    }

    /// Adds the lines of the diff to a preview from before they were stored.
    #[must_use]
    pub fn with_diff_lines(self) -> Self {
        match self {
            Self::Diff { path, unified, document, .. } => {
                Self::Diff { path, diff_lines: diff_lines(&unified), unified, document }
            }
            other @ (Self::None | Self::Text { .. } | Self::Choice { .. }) => other,
        }
    }

    /// The answers that a question offers.
    pub fn options(&self) -> &[String] {
        match self {
            Self::Choice { options, .. } => options,
            Self::None | Self::Text { .. } | Self::Diff { .. } => &[],
        }
    }

    /// The answer that a reply means if the options were shown with numbers: the option with the
    /// same text, else the one with that number, else the reply itself.
    pub fn answer_meant<'a>(&'a self, words: &'a str) -> &'a str {
        let words = words.trim();
        let options = self.options();
        let same = options.iter().find(|option| option.to_lowercase() == words.to_lowercase());
        let numbered = || {
            let number: usize = words.trim_end_matches('.').parse().ok()?;
            options.get(number.checked_sub(1)?)
        };
        same.or_else(numbered).map_or(words, String::as_str)
    }

    /// Changes all texts of the preview, for example to mask secrets.
    #[must_use]
    pub fn map_text(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::None => Self::None,
            Self::Text { text } => Self::Text { text: change(text) },
            Self::Diff { path, unified, document, .. } => {
                let unified = change(unified);
                let document = document.map(|document| Box::new(document.map_text(&change)));
                Self::Diff { path, diff_lines: diff_lines(&unified), unified, document }
            }
            Self::Choice { text, options } => Self::Choice {
                text: change(text),
                options: options.into_iter().map(change).collect(),
            },
        }
    }
}

fn visible_options<S: serde::Serializer>(options: &[String], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(options.iter().map(|option| crate::visible(option)))
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    /// The output that the model reads; its length is limited.
    pub output: String,
    pub is_error: bool,
    /// One line for people.
    pub summary: String,
    pub report: CallReport,
    /// The origin of the output, which decides whether the run becomes tainted.
    pub origin: Origin,
    /// The draft that a person has to decide.
    pub draft: Option<Box<Proposal>>,
    /// The plan that was not approved during the call; it becomes a draft.
    pub proposes: Option<Box<Plan>>,
    pub artifact: Option<Artifact>,
    /// Texts that are stored completely; the model only learns that they exist.
    pub attached: Vec<Attached>,
    /// The model with which the run continues.
    pub model: Option<ModelId>,
    pub spent: Option<Box<Spending>>,
    pub duration: Duration,
}

/// A call's spending on models.
#[derive(Clone, Debug, PartialEq)]
pub enum Spending {
    /// Spending of this run, which is booked with it.
    OfRun { model: ModelId, usage: Usage },
    /// Spending that another run books. The limit of this run still counts it.
    Elsewhere(f64),
}

impl ToolOutcome {
    pub fn ok(output: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            output: output.into(),
            is_error: false,
            summary: summary.into(),
            report: CallReport::default(),
            origin: Origin::Person,
            draft: None,
            proposes: None,
            artifact: None,
            attached: Vec::new(),
            model: None,
            spent: None,
            duration: Duration::ZERO,
        }
    }

    pub fn error(output: impl Into<String>) -> Self {
        let output = output.into();
        let report = CallReport { state: CallState::Failed, ..CallReport::default() };
        Self { is_error: true, summary: output.clone(), report, ..Self::ok(output, "") }
    }

    /// Marks the outcome as refused: nothing was done.
    #[must_use]
    pub fn refused(mut self) -> Self {
        self.report.state = CallState::Refused;
        self
    }

    #[must_use]
    pub fn from_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

/// A draft in the events of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub draft: DraftId,
    pub tool: String,
    pub summary: String,
    pub preview: Preview,
    pub asks_for: AsksFor,
    pub answer: DecisionTiming,
    /// The drafts that this one replaces.
    pub replaces: Vec<DraftId>,
}

/// What a draft needs from a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AsksFor {
    /// Approval or rejection of what the draft would do.
    #[default]
    Approval,
    /// An answer, because the draft is a question.
    Answer,
}

/// When a person's decision on a draft is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionTiming {
    /// The decision may come at any later time: the run continues without it.
    Later,
    /// The run waits for it.
    Awaited,
    /// The answer is part of the outcome.
    Given,
}

/// A long text that a call returned beside its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub name: String,
    pub text: String,
}

/// An output that is too long for the model, stored completely for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    pub key: String,
    pub bytes: u64,
}

/// Whether an agent has a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Offered,
    Absent,
}
