//! The model's tokens counted in this process: an index asks for each line of each file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::wordpiece::WordPiece;
use crate::weights::TOKENIZER;

/// The vocabulary, read when it is first asked for.
pub(super) struct Tokens {
    path: PathBuf,
    words: OnceLock<Option<WordPiece>>,
}

impl Tokens {
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join(TOKENIZER), words: OnceLock::new() }
    }

    /// `None`: there is no vocabulary that can be read.
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
