use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ApproverKind, Plan, ToolEffect};

/// The limits of one run. Reaching a limit ends the run and keeps what was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub max_steps: u32,
    pub max_tool_calls: u32,
    pub max_run_seconds: u64,
    pub max_output_tokens: u32,
    /// The most bytes of one message.
    pub max_prompt_bytes: usize,
    /// The most bytes of an action's body.
    pub max_action_bytes: usize,
    /// The highest cost of one run; 0 is no limit.
    pub max_cost: f64,
    /// The highest cost of one person in a day (UTC); 0 is no limit.
    pub max_cost_per_day: f64,
    /// The highest cost of one agent in a day (UTC), for all people together; 0 is no limit.
    pub max_cost_per_agent_day: f64,
    /// The number of identical tool calls in a row that ends the loop.
    pub max_identical_calls: u32,
    /// How long a run waits for a person to confirm; the draft remains afterwards.
    pub confirm_seconds: u64,
    /// For how many days a draft can be decided.
    pub draft_days: u32,
    /// Files and folders of the vault that count as instructions, in addition to the built-in ones.
    pub protected: Vec<String>,
    /// The effects that members may approve for themselves. All other effects wait for the owner.
    pub members_may_approve: Vec<ToolEffect>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 24,
            max_tool_calls: 48,
            max_run_seconds: 600,
            max_output_tokens: 8_192,
            max_prompt_bytes: 1024 * 1024,
            max_action_bytes: 32 * 1024,
            max_cost: 1.0,
            max_cost_per_day: 10.0,
            max_cost_per_agent_day: 0.0,
            max_identical_calls: 3,
            confirm_seconds: 300,
            draft_days: 14,
            protected: Vec::new(),
            members_may_approve: vec![ToolEffect::Write, ToolEffect::Destroy],
        }
    }
}

impl Limits {
    /// Whether an approver of this kind may approve such a plan of their own. A plan that only asks
    /// the person a question may always be answered by them.
    pub fn may_approve(&self, kind: ApproverKind, plan: &Plan) -> bool {
        let is_theirs = |effect: &ToolEffect| {
            *effect == ToolEffect::Read || self.members_may_approve.contains(effect)
        };
        match kind {
            ApproverKind::Owner => true,
            ApproverKind::Member => !plan.effects.is_empty() && plan.effects.iter().all(is_theirs),
        }
    }

    pub const fn run_time(&self) -> Duration {
        Duration::from_secs(self.max_run_seconds)
    }

    pub const fn confirm_time(&self) -> Duration {
        Duration::from_secs(self.confirm_seconds)
    }

    pub const fn draft_time(&self) -> Duration {
        Duration::from_secs(self.draft_days as u64 * 24 * 60 * 60)
    }
}
