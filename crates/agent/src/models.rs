use std::sync::Arc;

use onyx_types::{Fault, Model};

/// Which model an agent wants: the first that can answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// `<provider>/<model>`; `None` leaves it to the registry's defaults.
    pub primary: Option<String>,
    pub fallbacks: Vec<String>,
}

impl ModelChoice {
    pub fn only(model: impl Into<String>) -> Self {
        Self { primary: Some(model.into()), fallbacks: Vec::new() }
    }
}

/// How the core finds models without knowing any provider.
pub trait Models: Send + Sync {
    fn resolve(&self, choice: &ModelChoice) -> Result<Arc<dyn Model>, Fault>;
}
