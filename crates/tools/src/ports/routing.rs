use onyx_types::{Fault, ModelId};

/// An agent's request for another model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelWish {
    /// `<provider>/<model>`; `None` leaves the choice to the config's rules.
    pub model: Option<ModelId>,
    /// The kind of task, as the config names it.
    pub task: Option<String>,
    /// Whether only a model of this machine may be chosen.
    pub local: bool,
}

/// The chosen model, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPick {
    pub model: ModelId,
    pub reason: String,
    /// Whether the model runs on this machine, so that the conversation does not leave it.
    pub is_local: bool,
}

/// The provider that has an agent's conversation, and whether others may get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// The model that answers; `None` where none does, so that every provider would be new.
    pub model: Option<ModelId>,
    /// Whether the agent or its space may use only models of this machine.
    pub only_local: bool,
}

impl Audience {
    /// Whether the conversation would be sent to a provider that does not have it yet.
    pub fn grows_by(&self, pick: &ModelPick) -> bool {
        let known = self.model.as_ref().map(ModelId::provider);
        !pick.is_local && known != Some(pick.model.provider())
    }

    /// The request with the restrictions that apply here.
    pub fn bound(&self, wish: ModelWish) -> ModelWish {
        ModelWish { local: wish.local || self.only_local, ..wish }
    }

    pub fn refuses(&self, pick: &ModelPick) -> bool {
        self.only_local && !pick.is_local
    }
}

/// Chooses a model for an agent. Only the implementation knows which models the config allows.
pub trait ModelRouter: Send + Sync {
    fn pick(&self, wish: &ModelWish) -> Result<ModelPick, Fault>;

    /// Whether there is more than one model.
    fn has_choice(&self) -> bool;
}
