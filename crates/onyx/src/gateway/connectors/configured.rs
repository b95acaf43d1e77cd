//! The connectors that the config asks for, and whether this process follows them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use onyx_connectors::{Connectors, ResolvedConnectors};

pub(in crate::gateway) struct ConfiguredConnectors {
    pub(in crate::gateway) all: Connectors,
    resolved: RwLock<ResolvedConnectors>,
    /// A command that holds the home only for a moment connects to nothing.
    is_connected: AtomicBool,
}

impl ConfiguredConnectors {
    pub(in crate::gateway) fn new(all: Connectors, resolved: ResolvedConnectors) -> Self {
        Self { all, resolved: RwLock::new(resolved), is_connected: AtomicBool::new(false) }
    }

    pub(in crate::gateway) fn resolved(&self) -> ResolvedConnectors {
        self.resolved.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::gateway) fn set_resolved(&self, resolved: ResolvedConnectors) {
        *self.resolved.write().unwrap_or_else(PoisonError::into_inner) = resolved;
    }

    pub(in crate::gateway) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Makes this process follow the settings from now on.
    pub(in crate::gateway) fn begin(&self) {
        self.is_connected.store(true, Ordering::Release);
    }
}
