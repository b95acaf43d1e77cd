/// Decodes characters from tokens, which may end in the middle of one.
#[derive(Default)]
pub(super) struct Utf8(Vec<u8>);

impl Utf8 {
    /// The characters that are complete now; invalid bytes become replacement characters.
    pub(super) fn add(&mut self, bytes: &[u8]) -> String {
        self.0.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.0) {
                Ok(whole) => {
                    text.push_str(whole);
                    self.0.clear();
                    return text;
                }
                Err(error) => {
                    let (whole, rest) = self.0.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(whole));
                    let Some(wrong) = error.error_len() else {
                        self.0 = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.0 = rest[wrong..].to_vec();
                }
            }
        }
    }
}
