//! Background work held up on purpose, for `make test-delays`. Builds for people never wait.

use onyx_types::Pauses;

#[cfg(debug_assertions)]
pub(super) fn pauses() -> Pauses {
    match crate::env::test_delay() {
        Some(delay) => Pauses::new(move |_| tokio::time::sleep(delay)),
        None => Pauses::default(),
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn pauses() -> Pauses {
    Pauses::default()
}
