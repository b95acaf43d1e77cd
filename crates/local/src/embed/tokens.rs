//! Counts the model's tokens in this process, because an index asks for each line of each file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::wordpiece::WordPiece;
use crate::weights::TOKENIZER;

/// The vocabulary, read on first use.
pub(super) struct Tokens {
    path: PathBuf,
    words: OnceLock<Option<WordPiece>>,
}

impl Tokens {
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join(TOKENIZER), words: OnceLock::new() }
    }

    /// `None`: there is no readable vocabulary.
    pub(super) fn count(&self, text: &str) -> Option<usize> {
        let words = self.words.get_or_init(|| match WordPiece::load(&self.path) {
            Ok(words) => Some(words),
            Err(why) => {
                tracing::warn!(path = %self.path.display(), why, "tokens are estimated");
                None
            }
        });
        words.as_ref().map(|words| words.count(text))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("path", &self.path).finish_non_exhaustive()
    }
}
