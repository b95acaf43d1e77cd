//! The settings of searches: as they are written in `onyx.json`, and as they are resolved from it.

use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// The resolved settings, which may change while the index is in use.
#[derive(Default)]
pub(crate) struct CurrentSearchSettings(RwLock<SearchSettings>);

impl CurrentSearchSettings {
    pub(crate) fn get(&self) -> SearchSettings {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, settings: SearchSettings) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSettings {
    /// The weights of words and vectors; `None` uses those in `search/ranking`, which depend on the
    /// kind of source and the available vectors.
    pub weights: Option<Weights>,
    /// The number of days after which a daily log counts half; `None` if logs never fade.
    pub half_life_days: Option<f64>,
    /// How much a hit loses for being like earlier hits, from 0 to 1; `None` if it loses nothing.
    pub diversity: Option<f32>,
    /// How many bytes of the disk the token vectors may take.
    pub most_token_bytes: u64,
    /// How many bytes of memory the vectors and outlines of all people may take. If they take more,
    /// those of the people who searched longest ago are dropped until their next search.
    pub most_table_bytes: u64,
}

/// The usual bound has room for one and a half million chunks with vectors of the embedded model,
/// which is more than the largest homes have, and is a part of the memory of a machine that serves
/// many people.
const USUAL_TABLE_BYTES: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub text: f32,
    pub vectors: f32,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            weights: None,
            half_life_days: None,
            diversity: None,
            most_token_bytes: 2_000_000_000,
            most_table_bytes: USUAL_TABLE_BYTES,
        }
    }
}

/// The section `memory` of `onyx.json`, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MemorySettings {
    /// The embedder as `<provider>/<model>`, or `off` for searches by words alone. Without a value
    /// it is the embedded one, if its weights are there.
    pub embedder: Option<String>,
    pub weights: Option<WeightSettings>,
    /// The number of days after which a daily log counts half.
    pub half_life_days: Option<f64>,
    /// How much a hit loses for being like earlier hits, from 0 to 1.
    pub diversity: Option<f32>,
    /// How many megabytes of the disk the token vectors may take; with 0 there are none.
    pub token_vectors_mb: Option<u64>,
    pub graph: GraphSettings,
}

/// The section `memory.graph`. Facts are always found by rules, and by a model if one is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GraphSettings {
    /// The model that reads memory, notes and conversations for facts, as `<provider>/<model>`.
    /// Without a value no model does.
    pub model: Option<String>,
    /// How many tokens the model may use in a day (UTC).
    pub daily_tokens: Option<u64>,
}

impl GraphSettings {
    const USUAL_DAILY_TOKENS: u64 = 200_000;

    pub fn daily_tokens(&self) -> u64 {
        self.daily_tokens.unwrap_or(Self::USUAL_DAILY_TOKENS)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightSettings {
    pub text: f32,
    pub vectors: f32,
}

impl MemorySettings {
    /// The resolved settings; the error says what is wrong with them.
    pub fn search(&self) -> Result<SearchSettings, String> {
        let usual = SearchSettings::default();
        let weights =
            self.weights.map(|WeightSettings { text, vectors }| Weights { text, vectors });
        if let Some(Weights { text, vectors }) = weights {
            let all = [text, vectors];
            if !all.iter().all(|weight| (0.0..=1_000.0).contains(weight)) || all == [0.0, 0.0] {
                return Err("memory.weights: from 0 to 1000, and not both 0".to_owned());
            }
        }
        if self.half_life_days.is_some_and(|days| !(0.01..=36_500.0).contains(&days)) {
            return Err("memory.halfLifeDays: from 0.01 to 36500".to_owned());
        }
        if self.diversity.is_some_and(|cost| !(0.0..=1.0).contains(&cost)) {
            return Err("memory.diversity: from 0 to 1".to_owned());
        }
        Ok(SearchSettings {
            weights,
            half_life_days: self.half_life_days,
            diversity: self.diversity,
            most_token_bytes: self
                .token_vectors_mb
                .map_or(usual.most_token_bytes, |megabytes| megabytes.saturating_mul(1_000_000)),
            most_table_bytes: usual.most_table_bytes,
        })
    }
}
