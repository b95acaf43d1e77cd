/// A careful guess for budgets when neither a tokenizer nor the provider's own count is at hand:
/// counts whole and broken words of ASCII text and takes other characters at about one each, so
/// that it errs towards too many.
pub fn estimate_tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    if ascii == text.len() {
        return ascii.div_ceil(3);
    }
    let characters = text.bytes().filter(|byte| byte & 0xc0 != 0x80).count();
    ascii.div_ceil(3) + (characters - ascii)
}
