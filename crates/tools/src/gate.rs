//! The decision, and the only place that can make an authorised plan.

use onyx_types::{Attendance, Plan, Taint, Tier, ToolEffect, Verdict, Visibility};

use crate::Policy;

/// A value that passed the gate. Nothing outside this module can make one.
#[derive(Debug)]
pub struct Authorised<T>(T);

impl<T> Authorised<T> {
    pub fn get(&self) -> &T {
        &self.0
    }

    pub fn into_inner(self) -> T {
        self.0
    }
}

/// What the gate made of a plan.
#[derive(Debug)]
pub(crate) enum Passage {
    Allowed(Authorised<Plan>),
    /// `Draft` or `Confirm`: a person decides, so nothing happens now.
    NeedsPerson(Verdict, Plan),
    Denied(Plan),
}

pub(crate) fn pass(policy: &Policy, taint: Taint, attendance: Attendance, plan: Plan) -> Passage {
    match decide(policy, taint, attendance, &plan) {
        Verdict::Allow => Passage::Allowed(Authorised(plan)),
        verdict @ (Verdict::Confirm | Verdict::Draft) => Passage::NeedsPerson(verdict, plan),
        Verdict::Deny => Passage::Denied(plan),
    }
}

/// The whole decision: pure, and total over what it is given.
pub fn decide(policy: &Policy, taint: Taint, attendance: Attendance, plan: &Plan) -> Verdict {
    let verdict = match policy.visibility(&plan.tool) {
        Visibility::Absent => Verdict::Deny,
        Visibility::Offered => {
            by_tier(policy.tier(), plan.strictest()).max(under_taint(taint, plan))
        }
    };
    match (verdict, attendance) {
        // Nobody is there to be asked, so it waits in the Inbox at once.
        (Verdict::Confirm, Attendance::Unattended) => Verdict::Draft,
        (
            Verdict::Allow | Verdict::Confirm | Verdict::Draft | Verdict::Deny,
            Attendance::Attended | Attendance::Unattended,
        ) => verdict,
    }
}

fn by_tier(tier: Tier, effect: ToolEffect) -> Verdict {
    match (effect, tier) {
        (ToolEffect::Read, Tier::Read | Tier::Suggest | Tier::Act) => Verdict::Allow,
        (
            ToolEffect::Write | ToolEffect::Destroy | ToolEffect::Reach | ToolEffect::Execute,
            Tier::Read,
        ) => Verdict::Deny,
        (
            ToolEffect::Write | ToolEffect::Destroy | ToolEffect::Reach | ToolEffect::Execute,
            Tier::Suggest,
        ) => Verdict::Draft,
        (ToolEffect::Write, Tier::Act) => Verdict::Allow,
        (ToolEffect::Destroy | ToolEffect::Reach | ToolEffect::Execute, Tier::Act) => {
            Verdict::Confirm
        }
    }
}

/// The least that a tainted run needs, whatever the tier and standing rules say: a person for
/// what leaves the machine and for what steers agents later.
fn under_taint(taint: Taint, plan: &Plan) -> Verdict {
    match taint {
        Taint::Clean => Verdict::Allow,
        Taint::Tainted => {
            let reaches = plan.effects.contains(&ToolEffect::Reach);
            let steers = plan.strictest() > ToolEffect::Read
                && plan.targets.iter().any(|target| target.instruction);
            if reaches || steers { Verdict::Confirm } else { Verdict::Allow }
        }
    }
}
