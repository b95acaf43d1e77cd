//! Delays background work on purpose, for `make test-delays`. Release builds never wait.

#[cfg(debug_assertions)]
use std::time::Duration;

use onyx_types::Pauses;

#[cfg(debug_assertions)]
pub(super) fn pauses() -> Pauses {
    match crate::env::test_delay() {
        Some(delay) => Pauses::new(move |point| {
            let is_delayed = delay.point.as_ref().is_none_or(|chosen| chosen == point);
            tokio::time::sleep(if is_delayed { delay.length } else { Duration::ZERO })
        }),
        None => Pauses::default(),
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn pauses() -> Pauses {
    Pauses::default()
}
