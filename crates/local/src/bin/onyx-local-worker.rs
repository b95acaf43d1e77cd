//! The process of a model as a separate binary, for tests; in production `onyx` starts itself
//! instead.

fn main() {
    // Nothing holds it here: the tests of `onyx` look at the real one.
    onyx_local::serve_worker(|_| {});
}
