mod rule;

pub use rule::estimate_tokens;

/// How one model counts, as far as its provider has told: what decisions about prompts stand on.
pub trait TokenCounter: Send + Sync {
    /// How many of the model's tokens are one token of `estimate_tokens`.
    fn scale(&self) -> f64;

    /// The model's tokens for what the rule estimates at so many.
    fn scaled(&self, estimated: usize) -> usize {
        (estimated as f64 * self.scale()).ceil() as usize
    }

    fn count(&self, text: &str) -> usize {
        self.scaled(estimate_tokens(text))
    }
}
