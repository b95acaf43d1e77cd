//! Makes background work slow at chosen moments: `make test-delays` delays all of it a little, and
//! a test can hold one piece of work at one point for as long as it needs.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::Pauses;
use tokio::sync::watch;

/// The variable with the milliseconds for which background work waits at each of its points; the
/// binary reads it too.
const ONYX_TEST_DELAYS: &str = "ONYX_TEST_DELAYS";

/// The pauses that `make test-delays` sets; otherwise none.
#[allow(clippy::disallowed_methods, reason = "whoever runs the tests chooses their mode")]
pub fn delays() -> Pauses {
    let asked = std::env::var(ONYX_TEST_DELAYS).ok();
    match asked.and_then(|milliseconds| milliseconds.parse().ok()) {
        Some(milliseconds) if milliseconds > 0 => {
            let delay = Duration::from_millis(milliseconds);
            Pauses::new(move |_| tokio::time::sleep(delay))
        }
        _ => Pauses::default(),
    }
}

/// Holds work at one point until it is released.
#[derive(Clone, Debug)]
pub struct HoldUp {
    arrived: Arc<watch::Sender<usize>>,
    open: Arc<watch::Sender<bool>>,
}

impl HoldUp {
    /// The pauses to pass to the code under test, and the handle that releases it.
    pub fn at(point: &'static str) -> (Pauses, Self) {
        let hold = Self {
            arrived: Arc::new(watch::channel(0).0),
            open: Arc::new(watch::channel(false).0),
        };
        let held = hold.clone();
        let pauses = Pauses::new(move |at| {
            let held = held.clone();
            async move {
                if at == point {
                    held.wait().await;
                }
            }
        });
        (pauses, hold)
    }

    /// Waits until work has come to the point for the `times`th time.
    pub async fn reached(&self, times: usize) {
        let mut arrived = self.arrived.subscribe();
        let reached = arrived.wait_for(|count| *count >= times);
        tokio::time::timeout(Duration::from_secs(30), reached)
            .await
            .expect("work comes to the point")
            .expect("the hold-up is here");
    }

    /// Releases the waiting work, and holds nothing from now on.
    pub fn let_go(&self) {
        self.open.send_replace(true);
    }

    async fn wait(&self) {
        self.arrived.send_modify(|count| *count += 1);
        let mut open = self.open.subscribe();
        // The sender is in `self`, so the channel cannot close.
        let _ = open.wait_for(|open| *open).await;
    }
}
