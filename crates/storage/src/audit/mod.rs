//! The parts of the audit chain that need no database: how rows are hashed and checked, and the
//! files outside the home that record every row. Both databases use them.

mod chain;
mod export;
mod seal;

use std::sync::Arc;

use crate::AuditRow;

pub(crate) use chain::{ChainCheck, Head};
pub use export::AuditExport;
pub use seal::AuditSeal;

/// The witnesses outside the home that record every audit row: the key with which rows are hashed,
/// and a copy to which rows are only added. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct AuditWitnesses {
    pub seal: Option<Arc<AuditSeal>>,
    pub export: Option<Arc<AuditExport>>,
}

impl AuditWitnesses {
    pub(crate) fn seal(&self) -> Option<&AuditSeal> {
        self.seal.as_deref()
    }

    /// Reports a durable row to the witnesses.
    pub(crate) fn tell(&self, row: &AuditRow) {
        if let Some(seal) = &self.seal {
            seal.note(row);
        }
        if let Some(export) = &self.export {
            export.add(row);
        }
    }
}
