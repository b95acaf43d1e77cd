#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::disallowed_methods, reason = "tests look at files and processes from outside")]

mod bounds;
mod held;
mod helpers;
mod network;
mod support;
