use std::borrow::Cow;
use std::fmt;

/// Shorter values would mask ordinary words.
const SHORTEST_SECRET: usize = 6;

const MASK: &str = "[secret]";

/// Takes known secret values out of text on its way to a model, a person or a log.
#[derive(Clone, Default)]
pub struct Masker {
    /// Longest first, so that a secret which contains another is masked whole.
    secrets: Vec<String>,
}

impl Masker {
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET).collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASK));
            }
        }
        masked
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masker({} secrets)", self.secrets.len())
    }
}
