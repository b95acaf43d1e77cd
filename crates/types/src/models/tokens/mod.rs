mod rule;

pub use rule::estimate_tokens;

/// The token count of one model, calibrated by what its provider has reported. Decisions about
/// prompts are based on it.
pub trait TokenCounter: Send + Sync {
    /// How many of the model's tokens correspond to one token of `estimate_tokens`.
    fn scale(&self) -> f64;

    /// Converts an estimate of the rule to the model's tokens.
    fn scaled(&self, estimated: usize) -> usize {
        (estimated as f64 * self.scale()).ceil() as usize
    }

    fn count(&self, text: &str) -> usize {
        self.scaled(estimate_tokens(text))
    }
}
