//! Waiting for a condition instead of sleeping for luck.

use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(5);

/// Returns when the condition is true; panics with `what` when the time is over.
pub async fn wait_until(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(what, timeout, async || condition().then_some(())).await;
}

/// Returns the first value that the attempt yields; panics with `what` when the time is over.
pub async fn wait_for<T>(
    what: &str,
    timeout: Duration,
    mut attempt: impl AsyncFnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = attempt().await {
            return value;
        }
        assert!(start.elapsed() < timeout, "waited {timeout:?} for {what}");
        tokio::time::sleep(POLL).await;
    }
}
