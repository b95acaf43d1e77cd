//! Tests every reader with a home or an export of its program. What is written is compared by
//! counting and by reading it back from the home.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::disallowed_methods, reason = "tests look at the files from outside, as people do")]

mod chats;
mod homes;
mod support;
mod writing;
