//! Decides whether a planned call may happen. This room holds the agent's policy, the decision, and
//! the only type that proves that a plan was authorised.
//!
//! The toolbox brings plans here, and an [`Authorised`] plan is made nowhere else. Everything here
//! is pure: it uses no file, no model and no clock, and reads nothing that a model says except the
//! plan.

mod policy;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::Draft;
use onyx_types::{
    Attendance, Consent, DraftState, Plan, PlanTarget, Taint, Target, Tier, ToolEffect, ToolName,
    Verdict, Visibility,
};

pub use policy::{KnownTools, Policy, ToolSettings, Warning};

/// A value that passed the gate. Only this module can create one.
#[derive(Debug)]
pub struct Authorised<T>(T, AuthorisedBy);

/// Who authorised the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthorisedBy {
    Gate,
    Person,
}

impl<T> Authorised<T> {
    pub fn get(&self) -> &T {
        &self.0
    }

    pub fn into_inner(self) -> T {
        self.0
    }

    pub(crate) fn by(&self) -> AuthorisedBy {
        self.1
    }
}

/// The gate's decision about a plan.
#[derive(Debug)]
pub(crate) enum GateDecision {
    Allowed(Authorised<Plan>),
    /// The verdict is `Draft` or `Confirm`: a person decides, so nothing happens now.
    NeedsPerson(Verdict, Plan),
    Denied(Plan),
}

impl GateDecision {
    pub(crate) fn plan(&self) -> &Plan {
        match self {
            Self::Allowed(plan) => plan.get(),
            Self::NeedsPerson(_, plan) | Self::Denied(plan) => plan,
        }
    }
}

pub(crate) fn pass(
    policy: &Policy,
    attendance: Attendance,
    taint: Taint,
    granted: &GrantedSites,
    plan: Plan,
) -> GateDecision {
    match decide_for(policy, taint, attendance, granted, &plan) {
        Verdict::Allow => GateDecision::Allowed(Authorised(plan, AuthorisedBy::Gate)),
        verdict @ (Verdict::Confirm | Verdict::Draft) => GateDecision::NeedsPerson(verdict, plan),
        Verdict::Deny => GateDecision::Denied(plan),
    }
}

/// The plan of a draft that a person approved. The approval must be in the ledger.
pub(crate) fn approved(draft: &Draft) -> Option<Authorised<Plan>> {
    match draft.state {
        DraftState::Applying if draft.is_intact() => {
            Some(Authorised(draft.plan.clone(), AuthorisedBy::Person))
        }
        DraftState::Pending
        | DraftState::Applying
        | DraftState::Applied
        | DraftState::Failed
        | DraftState::Stale
        | DraftState::Unknown
        | DraftState::Rejected
        | DraftState::Superseded
        | DraftState::Expired => None,
    }
}

/// What a person allowed for the rest of one run: which tools may reach which sites. Clones share
/// it.
#[derive(Clone, Debug, Default)]
pub struct GrantedSites(Arc<Mutex<BTreeSet<Site>>>);

/// A tool and the site that it may reach: scheme, host and port.
type Site = (ToolName, String);

impl GrantedSites {
    /// Allows the plan's tool to reach the plan's sites for the rest of the run. `false` if the
    /// plan names no site that could be allowed.
    pub fn allow(&self, plan: &Plan) -> bool {
        let sites = sites(plan);
        let names_any = sites.is_some();
        self.lock().extend(sites.into_iter().flatten());
        names_any
    }

    fn covers(&self, plan: &Plan) -> bool {
        let granted = self.lock();
        sites(plan).is_some_and(|sites| sites.iter().all(|site| granted.contains(site)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<Site>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sites that a plan reaches; `None` if a target is not plainly an address.
fn sites(plan: &Plan) -> Option<Vec<Site>> {
    if plan.targets.is_empty() {
        return None;
    }
    let site = |own: &PlanTarget| match &own.target {
        // An approval covers all tools of an MCP server.
        Target::Peer(tool) => {
            let (server, _) = tool.split_once('/')?;
            Some((server.parse().ok()?, "mcp".to_owned()))
        }
        target => Some((plan.tool.clone(), target.address()?.site()?)),
    };
    plan.targets.iter().map(site).collect()
}

/// The decision about a plan. It depends on these arguments only and covers all cases.
pub fn decide(policy: &Policy, taint: Taint, attendance: Attendance, plan: &Plan) -> Verdict {
    decide_for(policy, taint, attendance, &GrantedSites::default(), plan)
}

fn decide_for(
    policy: &Policy,
    taint: Taint,
    attendance: Attendance,
    granted: &GrantedSites,
    plan: &Plan,
) -> Verdict {
    let verdict = match policy.visibility(&plan.tool) {
        Visibility::Absent => Verdict::Deny,
        Visibility::Offered => {
            let reach = if granted.covers(plan) { SiteAccess::Granted } else { SiteAccess::Asked };
            by_effects(policy, taint, reach, plan)
                .max(under_taint(taint, reach, plan))
                .max(by_consent(plan.consent))
        }
    };
    match (verdict, attendance) {
        // No person attends, so the call waits in the Inbox.
        (Verdict::Confirm, Attendance::Unattended) => Verdict::Draft,
        (
            Verdict::Allow | Verdict::Confirm | Verdict::Draft | Verdict::Deny,
            Attendance::Attended | Attendance::Unattended,
        ) => verdict,
    }
}

/// Whether a person has allowed this run to reach the plan's sites.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SiteAccess {
    Asked,
    Granted,
}

fn by_effects(policy: &Policy, taint: Taint, reach: SiteAccess, plan: &Plan) -> Verdict {
    let one = |effect: &ToolEffect| match (effect, policy.tier()) {
        (ToolEffect::Reach, Tier::Suggest | Tier::Act) if reach == SiteAccess::Granted => {
            Verdict::Allow
        }
        (ToolEffect::Execute, Tier::Act) if policy.permits(plan, taint) => Verdict::Allow,
        (effect, tier) => by_tier(tier, *effect),
    };
    // A plan without effects is treated like one that executes something, which is the strictest
    // case.
    plan.effects.iter().map(one).max().unwrap_or(by_tier(policy.tier(), ToolEffect::Execute))
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

/// The least verdict for a tainted run, whatever tier and standing rules say: a person must approve
/// what leaves the machine and what steers agents later.
fn under_taint(taint: Taint, reach: SiteAccess, plan: &Plan) -> Verdict {
    match taint {
        Taint::Clean => Verdict::Allow,
        Taint::Tainted => {
            let reaches = plan.effects.contains(&ToolEffect::Reach) && reach == SiteAccess::Asked;
            let steers = plan.strictest() > ToolEffect::Read
                && plan.targets.iter().any(|own| own.instruction);
            if reaches || steers { Verdict::Confirm } else { Verdict::Allow }
        }
    }
}

fn by_consent(consent: Consent) -> Verdict {
    match consent {
        Consent::Gate => Verdict::Allow,
        Consent::Person => Verdict::Confirm,
        Consent::DraftOnly => Verdict::Draft,
    }
}
