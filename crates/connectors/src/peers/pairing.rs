use std::time::Duration;

use onyx_types::{ErrorCode, Fault};
use subtle::ConstantTimeEq as _;

/// How long a pairing code is valid.
pub(crate) const CODE_LIFE: Duration = Duration::from_secs(60 * 60);
/// How many strangers of one account may have a code at once. Others get no answer until a code
/// expires, so that a crowd causes no further cost.
pub(crate) const MOST_WAITING: u64 = 200;

/// The characters of a code: letters and digits that people do not mistake for each other.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

pub(crate) fn fresh_code() -> Result<String, Fault> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| Fault::plain(ErrorCode::Internal))?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

pub(crate) fn same_code(one: &str, other: &str) -> bool {
    let tidy = |code: &str| code.trim().to_ascii_uppercase().replace('-', "");
    tidy(one).as_bytes().ct_eq(tidy(other).as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_eight_plain_letters_and_differ() {
        let codes: std::collections::BTreeSet<_> =
            (0..100).map(|_| fresh_code().unwrap()).collect();
        assert_eq!(codes.len(), 100);
        let is_plain =
            |code: &String| code.len() == 8 && code.bytes().all(|b| LETTERS.contains(&b));
        assert!(codes.iter().all(is_plain));
        assert!(same_code("abcd-2345", "ABCD2345") && !same_code("ABCD2346", "ABCD2345"));
    }
}
