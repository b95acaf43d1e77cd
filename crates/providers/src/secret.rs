use std::fmt;
use std::sync::Arc;

use onyx_types::shortened_key;
use serde::Deserialize;

/// A value that must not be printed. It has no `Display` and no `Serialize`; code that needs the
/// text calls `reveal`, which is easy to search for.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(Arc<str>);

impl Secret {
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// This is enough to recognise a key, and too little to use it: `sk-or-…xyz`.
    pub fn redacted(&self) -> String {
        shortened_key(&self.0)
    }

    /// The text with this secret masked: some providers repeat keys in their errors.
    pub(crate) fn mask_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
