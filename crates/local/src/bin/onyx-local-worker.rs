//! The model's process alone, for tests: `onyx` starts itself instead.

fn main() {
    onyx_local::serve_worker();
}
