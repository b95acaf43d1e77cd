/// Enough of a key to recognise it, too little to use it: `sk-or-…xyz`.
pub fn shortened_key(key: &str) -> String {
    /// In a shorter key, the shown part would be too large.
    const LEAST: usize = 20;
    let characters: Vec<char> = key.chars().collect();
    if characters.len() < LEAST {
        return "…".to_owned();
    }
    let (head, tail) = (&characters[..6], &characters[characters.len() - 3..]);
    head.iter().chain(&['…']).chain(tail).collect()
}
