//! The task that keeps a gateway alive.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::Gateway;
use crate::StoreError;

/// The task that sends heartbeats. It ends when this is dropped with the store.
#[derive(Debug)]
pub(crate) struct HeartbeatTask(JoinHandle<()>);

impl HeartbeatTask {
    /// Sends heartbeats until the gateway is dropped or replaced.
    pub(crate) fn start(gateway: &Arc<Gateway>) -> Self {
        let every = gateway.settings.life / 3;
        let gateway = Arc::downgrade(gateway);
        Self(tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(gateway) = gateway.upgrade() else { return };
                match gateway.beat().await {
                    Ok(()) => {}
                    Err(StoreError::LeaseLost) => return,
                    Err(_) if gateway.is_drained() => return,
                    // A later heartbeat may succeed. Until then, nothing is written past the end of
                    // the life.
                    Err(error) => {
                        tracing::warn!(%error, "the heartbeat did not reach the database");
                        gateway.database.forget_connections();
                    }
                }
            }
        }))
    }
}

impl Drop for HeartbeatTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
