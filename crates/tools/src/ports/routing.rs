use onyx_types::Fault;

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
    pub model: String,
    pub reason: String,
}

/// Chooses among the models that the config allows; which those are is not for tools to know.
pub trait ModelRouter: Send + Sync {
    fn pick(&self, wish: &ModelWish) -> Result<ModelPick, Fault>;

    /// Is there more than one?
    fn has_choice(&self) -> bool;
}
