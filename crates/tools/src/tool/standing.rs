use onyx_types::{RunId, Tier};

/// Where a run stands in the tree of runs that one message sets off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The run that the message set off: what any run of the tree writes is taken back with it.
    pub root: RunId,
    /// 0: no other run asked for this one.
    pub depth: u8,
    /// The answering agent's tier: no agent that it asks may do more.
    pub tier: Tier,
    /// What the whole tree may still cost; `None`: there is no limit.
    pub cost_left: Option<f64>,
}

/// How deep agents may ask each other.
pub const DEEPEST: u8 = 3;
