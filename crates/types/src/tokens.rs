/// Counts the tokens of a text as one model would, or nearly: what budgets of prompts are made of.
pub trait TokenCounter: Send + Sync {
    fn count(&self, text: &str) -> usize;
}
