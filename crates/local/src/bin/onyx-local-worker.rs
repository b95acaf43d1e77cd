//! The model's process alone, for tests: `onyx` starts itself instead.

fn main() {
    // Nothing holds it here: the tests of `onyx` look at the real one.
    onyx_local::serve_worker(|_| {});
}
