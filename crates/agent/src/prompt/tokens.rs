/// A careful guess for budgets when neither a tokenizer nor the provider's own count is at hand:
/// counts whole and broken words of ASCII text and takes other characters at about one each, so
/// that it errs towards too many.
pub fn estimate_tokens(text: &str) -> usize {
    let (mut ascii, mut other) = (0_usize, 0_usize);
    for byte in text.bytes() {
        if byte.is_ascii() {
            ascii += 1;
        } else if byte & 0xc0 != 0x80 {
            other += 1;
        }
    }
    ascii.div_ceil(3) + other
}
