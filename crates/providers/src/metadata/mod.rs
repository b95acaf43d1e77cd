//! The known facts of models: window, output limit, price, inputs.
//! Three sources, in order of precedence, field by field: `providers.<name>.models[]`, the person's
//! `models.json`, and a snapshot that comes with Onyx (`data/README.md` names its source). The
//! snapshot is searched in place, so that knowing 1,500 models costs no memory.

mod overrides;
mod price;
mod snapshot;

pub use overrides::MetadataError;
pub use price::{LongPromptPrice, Price};

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The known properties of a model. An empty field is unknown, which is not the same as no.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelFacts {
    /// The number of tokens that prompt and answer share.
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    pub price: Option<Price>,
    /// What a prompt may hold besides text.
    pub inputs: Option<Vec<Modality>>,
    pub tools: Option<bool>,
    pub reasoning: Option<bool>,
    /// The length of an embedding model's vectors.
    pub dims: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    Image,
    Audio,
    Pdf,
}

impl ModelFacts {
    /// These facts, with missing ones taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            context_window: self.context_window.or(other.context_window),
            max_output_tokens: self.max_output_tokens.or(other.max_output_tokens),
            price: self.price.or(other.price),
            inputs: self.inputs.or(other.inputs),
            tools: self.tools.or(other.tools),
            reasoning: self.reasoning.or(other.reasoning),
            dims: self.dims.or(other.dims),
        }
    }
}

/// The snapshot, and the person's own changes to it.
#[derive(Debug, Default)]
pub struct Metadata {
    overrides: BTreeMap<String, ModelFacts>,
}

impl Metadata {
    /// The snapshot alone.
    pub fn bundled() -> Self {
        Self::default()
    }

    /// The snapshot with a person's file over it: `{"<provider>/<model>": {"contextWindow": …}}`. A
    /// missing file counts as an empty one.
    pub fn with_overrides(path: &Path) -> Result<Self, MetadataError> {
        Ok(Self { overrides: overrides::read(path)? })
    }

    /// The facts of `<provider>/<model>`. `vendor` is the provider's name in the snapshot, if the
    /// config uses another one.
    pub fn facts(&self, provider: &str, model: &str, vendor: Option<&str>) -> ModelFacts {
        let own = self.overrides.get(&format!("{provider}/{model}")).cloned().unwrap_or_default();
        own.or(snapshot_facts(vendor.unwrap_or(provider), model))
    }

    /// The models of a vendor in the snapshot that answer with text.
    pub fn known_models(vendor: &str) -> impl Iterator<Item = &'static str> {
        snapshot::chat_models(vendor)
    }
}

fn snapshot_facts(vendor: &str, model: &str) -> ModelFacts {
    let found = |model: &str| snapshot::find(&format!("{vendor}/{model}"));
    // A tag (`llama3:8b-q4`, `…:free`) selects a build of the model whose name precedes it.
    let untagged = || model.rsplit_once(':').and_then(|(model, _)| found(model));
    found(model).or_else(untagged).or_else(|| resold(model)).unwrap_or_default()
}

/// The facts of a model that is named with its maker, as marketplaces do:
/// `anthropic/claude-sonnet-4.5`. The maker's limits hold there; the price is the marketplace's
/// own, and it reports what it charged.
fn resold(model: &str) -> Option<ModelFacts> {
    let (maker, _) = model.split_once('/')?;
    let known = matches!(maker, "anthropic" | "openai" | "deepseek" | "xai" | "mistral");
    let facts = known
        .then(|| snapshot::find(model).or_else(|| snapshot::find(&model.replace('.', "-"))))
        .flatten()?;
    Some(ModelFacts { price: None, ..facts })
}
