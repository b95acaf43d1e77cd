//! Small changes of texts that several crates need.

mod key;
mod percent;

pub use key::shortened_key;
pub use percent::{percent_decoded, percent_encoded, percent_encoded_path};

/// The words of a text in one line, with one space between them.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
