use onyx_types::{RunId, Tier};

/// The place of a run in the tree of runs that one message starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPosition {
    /// The run that the message started. Undoing it also undoes the writes of all other runs of the
    /// tree.
    pub root: RunId,
    /// How many runs asked for one another on the way to this one; 0 if no run did.
    pub depth: u8,
    /// The tier of the answering agent, which agents that it asks cannot exceed.
    pub tier: Tier,
    /// What is left of the money for the whole tree; `None` if there is no limit.
    pub cost_left: Option<f64>,
}

/// How deep runs may ask for one another.
pub const DEEPEST: u8 = 3;
