//! Reads updates from the network. Each batch is stored together with its cursor before the next
//! one is asked for.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::NewUpdate;
use onyx_types::{Cancel, ErrorCode, Fault};

use super::health::Health;
use crate::connector::{Batch, NetworkError};
use crate::context::AccountContext;
use crate::setup::WaitTimes;

const LONGEST_BACKOFF: u32 = 60;

/// Reads updates until `stop` is cancelled.
pub(super) async fn listen(
    context: Arc<AccountContext>,
    health: Arc<Health>,
    wait_times: WaitTimes,
    stop: Cancel,
) {
    let mut failures = 0;
    while !stop.is_cancelled() {
        let turn = tokio::select! {
            turn = listen_once(&context) => turn,
            () = stop.cancelled() => return,
        };
        let wait = match turn {
            Ok(()) => {
                failures = 0;
                if health.note_answer(&*context.clock) {
                    context.home.tell(format!("{} works again.", context.key()));
                }
                continue;
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(account = %context.key(), %error, "updates could not be read from the network");
                health.failed(&error);
                backoff(wait_times.backoff, failures, &error)
            }
        };
        tokio::select! {
            () = context.clock.sleep(wait) => {}
            () = stop.cancelled() => return,
        }
    }
}

fn backoff(first: Duration, failures: u32, error: &NetworkError) -> Duration {
    let usual = first.saturating_mul(1 << failures.min(6)).min(first * LONGEST_BACKOFF);
    match error {
        NetworkError::TooFast(wait) => *wait,
        NetworkError::Unauthorized(_) | NetworkError::Contested(_) => first * LONGEST_BACKOFF / 2,
        _ => usual,
    }
}

async fn listen_once(context: &AccountContext) -> Result<(), NetworkError> {
    let ledger_failed = |error: onyx_storage::StoreError| NetworkError::Failed(error.to_string());
    let cursor = context.ledger.cursor(context.key()).await.map_err(ledger_failed)?;
    let batch = context.connector.receive(cursor.as_deref()).await?;
    keep(context, batch).await.map_err(|fault| NetworkError::Failed(fault.message))
}

/// Stores a batch of updates. Returns when it is durable.
pub(super) async fn keep(context: &AccountContext, batch: Batch) -> Result<(), Fault> {
    let Batch { updates, cursor } = batch;
    let mut rows = Vec::with_capacity(updates.len());
    for update in updates {
        let body = serde_json::to_string(&update.incoming)
            .map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        let (peer, message) = (update.incoming.peer, update.incoming.message);
        rows.push(NewUpdate { update: update.id, peer, message, body });
    }
    if rows.is_empty() && cursor.is_none() {
        return Ok(());
    }
    let at = context.clock.wall();
    let stored = context.ledger.store_updates(context.key(), rows, cursor, at).await?;
    if stored > 0 {
        context.incoming.notify_one();
    }
    Ok(())
}
