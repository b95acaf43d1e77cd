use std::sync::Arc;

use onyx_types::{AgentId, ErrorCode, Fault, Limits, Model, ModelId, PersonId, TokenCounter};

/// Which model an agent wants: the first that can answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// `<provider>/<model>`; `None` leaves it to the registry's defaults.
    pub primary: Option<ModelId>,
    pub fallbacks: Vec<ModelId>,
}

impl ModelChoice {
    pub const fn only(model: ModelId) -> Self {
        Self { primary: Some(model), fallbacks: Vec::new() }
    }
}

/// The person a model works for, the agent it works through, and what that may cost.
#[derive(Clone, Copy, Debug)]
pub struct Payer<'a> {
    pub person: &'a PersonId,
    pub agent: &'a AgentId,
    pub limits: &'a Limits,
}

/// Finds models for the agents, so that this crate needs to know no provider.
pub trait Models: Send + Sync {
    /// The model for one run. Its cost counts as open until the last clone of it is dropped, so the
    /// run's end must be in the ledger before that.
    fn resolve(&self, choice: &ModelChoice, payer: Payer<'_>) -> Result<Arc<dyn Model>, Fault>;

    /// Does what `resolve` does where only models of this machine may be used. All models of the
    /// choice must run here.
    fn resolve_local(&self, _: &ModelChoice, _: Payer<'_>) -> Result<Arc<dyn Model>, Fault> {
        Err(Fault::new(ErrorCode::Forbidden, "No model is known to run on this machine."))
    }

    /// The choice with its first model asked through the subscription gateway. `None` if that model
    /// is not Anthropic's or is asked through the gateway already; an error if there is no gateway.
    fn through_gateway(&self, choice: &ModelChoice) -> Option<Result<ModelChoice, Fault>> {
        let primary = choice.primary.as_ref()?;
        is_anthropic(primary.as_str()).then(|| {
            let message = "This server has no subscription gateway.";
            Err(Fault::new(ErrorCode::ProviderUnavailable, message))
        })
    }

    /// Whether this model is known to be unable to call tools.
    fn lacks_tools(&self, _model: &str) -> bool {
        false
    }

    /// Whether this model works better when it is shown few tools.
    fn is_small(&self, _model: &str) -> bool {
        false
    }

    /// How the model of this id counts tokens.
    fn token_counter(&self, model: &str) -> Arc<dyn TokenCounter>;
}

/// Whether the model is Anthropic's, reached directly or through a provider that names the maker or
/// the family.
pub fn is_anthropic(model: &str) -> bool {
    model.split('/').any(|part| part == "anthropic" || part.starts_with("claude"))
}
