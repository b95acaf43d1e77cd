use onyx_types::{Fault, ModelId};

/// What an agent asks for when it asks for another model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelWish {
    /// `<provider>/<model>`; none leaves the choice to the config's rules.
    pub model: Option<String>,
    /// Class of task, by its word in the config.
    pub task: Option<String>,
    /// Only what runs on this machine.
    pub local: bool,
}

/// The model that takes over, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPick {
    pub model: ModelId,
    pub reason: String,
    /// It runs on this machine: what it hears leaves it not.
    pub is_local: bool,
}

/// Which provider gets an agent's conversation now, and whether others may get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// The model that answers, `<provider>/<model>`.
    pub model: String,
    /// The agent or its space is pinned to models of this machine.
    pub only_local: bool,
}

impl Audience {
    /// Would a provider get it that does not have it yet?
    pub fn grows_by(&self, pick: &ModelPick) -> bool {
        !pick.is_local && provider_of(&self.model) != provider_of(pick.model.as_str())
    }

    /// The wish as it may be granted here.
    pub fn bound(&self, wish: ModelWish) -> ModelWish {
        ModelWish { local: wish.local || self.only_local, ..wish }
    }

    pub fn refuses(&self, pick: &ModelPick) -> bool {
        self.only_local && !pick.is_local
    }
}

fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

/// Chooses among the models that the config allows; which those are is not for tools to know.
pub trait ModelRouter: Send + Sync {
    fn pick(&self, wish: &ModelWish) -> Result<ModelPick, Fault>;

    /// Is there more than one?
    fn has_choice(&self) -> bool;
}
