/// Shortens a key to a text such as `sk-or-…xyz`, which is enough to recognise the key and too
/// little to use it.
pub fn shortened_key(key: &str) -> String {
    /// The shortest key of which a part is shown; of a shorter one, the part would be too large.
    const LEAST: usize = 20;
    let characters: Vec<char> = key.chars().collect();
    if characters.len() < LEAST {
        return "…".to_owned();
    }
    let (head, tail) = (&characters[..6], &characters[characters.len() - 3..]);
    head.iter().chain(&['…']).chain(tail).collect()
}
