//! The audit chain apart from any database: how its rows are hashed and checked, and the files outside the home that
//! record every row. Both databases use it; nothing here reads or writes a database.

mod chain;
mod export;
mod seal;

use std::sync::Arc;

use crate::AuditRow;

pub(crate) use chain::{ChainCheck, Head};
pub use export::AuditExport;
pub use seal::AuditSeal;

/// The witnesses outside the home that record every audit row: the key that rows are hashed with, and
/// a copy that is only added to. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct AuditWitnesses {
    pub seal: Option<Arc<AuditSeal>>,
    pub export: Option<Arc<AuditExport>>,
}

impl AuditWitnesses {
    pub(crate) fn seal(&self) -> Option<&AuditSeal> {
        self.seal.as_deref()
    }

    /// Tells them of a row that is durable.
    pub(crate) fn tell(&self, row: &AuditRow) {
        if let Some(seal) = &self.seal {
            seal.note(row);
        }
        if let Some(export) = &self.export {
            export.add(row);
        }
    }
}
