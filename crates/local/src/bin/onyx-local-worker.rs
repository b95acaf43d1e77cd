//! The process of a model as a separate binary, for tests; in production `onyx` starts itself
//! instead.

fn main() {
    // This worker is not restricted to its files; the tests of `onyx` cover the restricted one.
    onyx_local::serve_worker(|_| {});
}
