use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The shortest secret that is masked. Shorter values would mask ordinary words.
const SHORTEST_SECRET: usize = 6;

/// The shortest line of a key file that is masked. A shorter one could occur in any text.
const SHORTEST_LINE: usize = 12;

const MASK: &str = "[secret]";

/// Removes known secrets from text for models, people and logs. Clones share the known secrets, so
/// that keys of an edited config are masked everywhere at once.
#[derive(Clone, Default)]
pub struct Masker {
    /// Longest first, so that a secret which contains another is masked whole.
    secrets: Arc<RwLock<Arc<Vec<String>>>>,
}

impl Masker {
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let masker = Self::default();
        masker.add(secrets);
        masker
    }

    /// Masks these secrets too from now on.
    pub fn add(&self, secrets: impl IntoIterator<Item = String>) {
        let mut known = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<String> = secrets.into_iter().chain(known.iter().cloned()).collect();
        all.retain(|secret| secret.len() >= SHORTEST_SECRET);
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        *known = Arc::new(all);
    }

    /// Masks this stored secret too from now on, and each line of it, because key files are printed
    /// line by line.
    pub fn add_stored(&self, secret: &str) {
        let is_key = |line: &&str| line.len() >= SHORTEST_LINE && !line.starts_with("-----");
        let lines = secret.lines().filter(is_key);
        self.add(std::iter::once(secret).chain(lines).map(str::to_owned));
    }

    /// Stops masking a secret that is no longer valid.
    pub fn forget(&self, secret: &str) {
        let mut known = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|known| known == secret) {
            *known = Arc::new(known.iter().filter(|known| *known != secret).cloned().collect());
        }
    }

    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        mask_each(&self.known(), text)
    }

    fn known(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.secrets.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Masks the first secret, and the others only in the text around it, so that no secret is found
/// inside a mask.
fn mask_each<'a>(secrets: &[String], text: &'a str) -> Cow<'a, str> {
    let Some((secret, rest)) = secrets.split_first() else { return Cow::Borrowed(text) };
    if !text.contains(secret.as_str()) {
        return mask_each(rest, text);
    }
    let pieces: Vec<Cow<'_, str>> =
        text.split(secret.as_str()).map(|piece| mask_each(rest, piece)).collect();
    Cow::Owned(pieces.join(MASK))
}

/// Masks a text that comes in pieces. Text that may be the beginning of a secret is held back until
/// a later piece decides it.
#[derive(Debug)]
pub(crate) struct MaskedPieces {
    masker: Masker,
    held: String,
}

impl MaskedPieces {
    pub(crate) fn new(masker: Masker) -> Self {
        Self { masker, held: String::new() }
    }

    /// Adds a piece and returns the text that may be shown.
    pub(crate) fn add(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let secrets = self.masker.known();
        let waiting = self.held.split_off(undecided(&secrets, &self.held));
        let decided = std::mem::replace(&mut self.held, waiting);
        mask_each(&secrets, &decided).into_owned()
    }

    /// Returns the text that was held back, because no piece follows.
    pub(crate) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        self.masker.mask(&rest).into_owned()
    }
}

/// The position from which the text must be held back, because its end may be the beginning of a
/// secret. A complete secret that reaches over this position is held back too, so that no half of
/// it is shown.
fn undecided(secrets: &[String], text: &str) -> usize {
    let starts_at_end = |secret: &String| {
        let longest = secret.len().saturating_sub(1).min(text.len());
        (1..=longest).rev().find(|length| text.as_bytes().ends_with(&secret.as_bytes()[..*length]))
    };
    let longest = secrets.iter().filter_map(starts_at_end).max().unwrap_or_default();
    // The bytes of a secret's beginning may end inside a character, so the position is moved to its
    // start.
    let mut from = text.floor_char_boundary(text.len() - longest);
    let reaching = |from: usize| {
        let all = secrets.iter().flat_map(|secret| {
            text.match_indices(secret.as_str()).map(|(at, found)| (at, at + found.len()))
        });
        all.filter(|(at, end)| *at < from && *end > from).map(|(at, _)| at).min()
    };
    while let Some(start) = reaching(from) {
        from = start;
    }
    from
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masker({} secrets)", self.known().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masker() -> Masker {
        Masker::new(["secret", "sk-live-123456", "sk-live-123456-admin", "no"].map(str::to_owned))
    }

    #[test]
    fn every_known_secret_is_masked_whole_and_short_values_are_left() {
        assert_eq!(
            masker().mask("a sk-live-123456-admin b sk-live-123456 c secret, no more"),
            "a [secret] b [secret] c [secret], no more"
        );
    }

    #[test]
    fn text_without_secrets_is_not_copied() {
        assert!(matches!(masker().mask("plain text"), Cow::Borrowed("plain text")));
    }

    #[test]
    fn what_is_added_later_is_masked_by_every_clone_and_the_old_still_is() {
        let masker = masker();
        let clone = masker.clone();
        masker.add(["sk-new-0001".to_owned()]);
        assert_eq!(clone.mask("sk-new-0001 and sk-live-123456"), "[secret] and [secret]");
    }

    #[test]
    fn a_secret_is_masked_wherever_its_pieces_are_cut() {
        let text = "a sk-live-123456-admin b sk-live-123456 c sücret abcdefx secre";
        let masker = masker();
        masker.add(["sücret", "abcdef", "efghij"].map(str::to_owned));
        let whole = masker.mask(text).into_owned();
        for first in 0..text.len() {
            for second in first..text.len() {
                if !text.is_char_boundary(first) || !text.is_char_boundary(second) {
                    continue;
                }
                let mut pieces = MaskedPieces::new(masker.clone());
                let mut shown = pieces.add(&text[..first]);
                shown += &pieces.add(&text[first..second]);
                shown += &pieces.add(&text[second..]);
                shown += &pieces.finish();
                assert_eq!(shown, whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn printing_a_masker_shows_no_secret() {
        assert_eq!(format!("{:?}", masker()), "Masker(3 secrets)");
    }
}
