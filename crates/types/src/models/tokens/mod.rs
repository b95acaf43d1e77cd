mod rule;

pub use rule::estimate_tokens;

/// The token count of one model, as far as its provider has reported it: the basis for decisions
/// about prompts.
pub trait TokenCounter: Send + Sync {
    /// How many of the model's tokens are one token of `estimate_tokens`.
    fn scale(&self) -> f64;

    /// The model's tokens for this estimate of the rule.
    fn scaled(&self, estimated: usize) -> usize {
        (estimated as f64 * self.scale()).ceil() as usize
    }

    fn count(&self, text: &str) -> usize {
        self.scaled(estimate_tokens(text))
    }
}
