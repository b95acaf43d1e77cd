//! The connectors that the config asks for, and whether this process follows them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use onyx_connectors::{Connectors, Plan};

pub(in crate::gateway) struct PlannedConnectors {
    pub(in crate::gateway) all: Connectors,
    plan: RwLock<Plan>,
    /// A command that holds the home only for a moment connects to nothing.
    is_connected: AtomicBool,
}

impl PlannedConnectors {
    pub(in crate::gateway) fn new(all: Connectors, plan: Plan) -> Self {
        Self { all, plan: RwLock::new(plan), is_connected: AtomicBool::new(false) }
    }

    pub(in crate::gateway) fn plan(&self) -> Plan {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::gateway) fn set_plan(&self, plan: Plan) {
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    pub(in crate::gateway) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Makes this process follow the plan from now on.
    pub(in crate::gateway) fn begin(&self) {
        self.is_connected.store(true, Ordering::Release);
    }

    /// Makes this process follow no plan any more. Accounts that are connected stay so until the
    /// connectors are closed.
    pub(in crate::gateway) fn end(&self) {
        self.is_connected.store(false, Ordering::Release);
    }
}
