//! What every implementation of the stores must do, as functions over the traits alone. The
//! embedded one runs them here; PostgreSQL with an object store will run the same.

mod turns;

use std::sync::Arc;

use onyx_storage::{ChunkStore, Leases, Ledger, Objects, TurnLog};
use onyx_test_support::ManualClock;

use crate::support::TempStore;

/// A fresh, empty set of stores and the clock they go by.
pub(crate) struct Backend {
    pub(crate) turns: Arc<dyn TurnLog>,
    pub(crate) leases: Arc<dyn Leases>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) chunks: Arc<dyn ChunkStore>,
    pub(crate) clock: Arc<ManualClock>,
    /// Whatever must live as long as the stores do.
    pub(crate) _keep: Box<dyn std::any::Any>,
}

async fn embedded() -> Backend {
    let temp = TempStore::new().await;
    let store = temp.store.clone();
    let vault = onyx_storage::Area::Vault("anna".parse().unwrap());
    Backend {
        turns: store.turns,
        leases: store.leases,
        ledger: store.ledger,
        objects: store.files.objects(&vault).unwrap(),
        chunks: store.chunks,
        clock: Arc::clone(&temp.clock),
        _keep: Box::new(temp),
    }
}

/// One test for each case and backend.
macro_rules! conformance {
    ($($module:ident: $($case:ident)*;)*) => {
        mod on_embedded {
            $(mod $module {
                $(#[tokio::test]
                async fn $case() {
                    super::super::$module::$case(super::super::embedded().await).await;
                })*
            })*
        }
    };
}

conformance! {
    turns:
        a_session_without_a_log_has_an_empty_page
        what_was_appended_comes_back_in_order
        unknown_types_and_fields_survive
        ;
}
