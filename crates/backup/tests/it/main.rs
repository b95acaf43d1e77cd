//! Tests backups of real homes, with real files, a real database and real kills.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::disallowed_methods, reason = "tests look at the files from outside, as people do")]
#![allow(clippy::print_stdout, reason = "the large one prints what it measured")]

mod damage;
mod encrypted;
mod exporting;
mod killed;
mod large;
mod restoring;
mod stored;
mod taking;
mod test_bucket;
mod world;
