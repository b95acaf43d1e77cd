use onyx_types::Usage;
use serde::{Deserialize, Serialize};

/// The prices per million tokens, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Without this price, cached tokens are counted at the full price, so that a cost is rather
    /// too high than too low.
    #[serde(default)]
    pub cache_read: Option<f64>,
    #[serde(default)]
    pub cache_write: Option<f64>,
    #[serde(default)]
    pub long_prompt: Option<LongPromptPrice>,
}

/// What a call costs once its prompt is longer than a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LongPromptPrice {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    #[serde(default)]
    pub cache_read: Option<f64>,
}

impl Price {
    pub const FREE: Self =
        Self { input: 0.0, output: 0.0, cache_read: None, cache_write: None, long_prompt: None };

    /// The cost of one call's tokens. `input` of a usage includes the cached ones.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let rates = self.rates(usage.input);
        let fresh = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let total = fresh as f64 * rates.input
            + usage.cache_read as f64 * rates.cache_read.unwrap_or(rates.input)
            + usage.cache_write as f64 * rates.cache_write.unwrap_or(rates.input)
            + usage.output as f64 * rates.output;
        total / 1e6
    }

    fn rates(&self, prompt: u64) -> Self {
        match self.long_prompt {
            Some(long) if prompt > long.above => Self {
                input: long.input,
                output: long.output,
                cache_read: long.cache_read.or(self.cache_read),
                // The table has no price for cache writes of long prompts; it is assumed to rise
                // with the input price.
                cache_write: self.cache_write.map(|write| write * ratio(long.input, self.input)),
                long_prompt: None,
            },
            Some(_) | None => *self,
        }
    }
}

fn ratio(long: f64, short: f64) -> f64 {
    if short > 0.0 { long / short } else { 1.0 }
}
