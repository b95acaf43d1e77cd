//! Collects a command's output. Its bytes become text, of which the beginning and the end are kept.

/// How many bytes of the beginning and of the end are kept.
const KEPT: usize = 1024 * 1024;

#[derive(Default)]
pub(crate) struct OutputBuffer {
    head: String,
    tail: String,
    left_out: usize,
    /// The first bytes of a character that the next piece may complete.
    begun: Vec<u8>,
}

impl OutputBuffer {
    /// Adds a piece and returns the text that it completes.
    pub(crate) fn add(&mut self, piece: &[u8]) -> String {
        self.begun.extend_from_slice(piece);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.begun.len(),
        };
        // No character is longer than this, so these bytes are none and are shown as such.
        let whole = if self.begun.len() - whole > 3 { self.begun.len() } else { whole };
        let text = String::from_utf8_lossy(&self.begun[..whole]).into_owned();
        self.begun.drain(..whole);
        self.keep(&text);
        text
    }

    pub(crate) fn finish(mut self) -> String {
        let rest = String::from_utf8_lossy(&self.begun).into_owned();
        self.keep(&rest);
        match self.left_out {
            0 => self.head + &self.tail,
            bytes => format!("{}\n[{bytes} bytes left out]\n{}", self.head, self.tail),
        }
    }

    fn keep(&mut self, text: &str) {
        let room = KEPT.saturating_sub(self.head.len());
        let (head, rest) = text.split_at(text.floor_char_boundary(room));
        self.head.push_str(head);
        self.tail.push_str(rest);
        // The text is cut only at twice the size, so that it is not moved with every piece.
        if self.tail.len() > 2 * KEPT {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - KEPT);
            self.left_out += cut;
            self.tail.drain(..cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_cut_between_pieces_are_whole() {
        let mut gathered = OutputBuffer::default();
        let text = "aü€𝄞z".as_bytes();
        let shown: String = text.chunks(1).map(|byte| gathered.add(byte)).collect();
        assert_eq!((shown.as_str(), gathered.finish().as_str()), ("aü€𝄞z", "aü€𝄞z"));
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        let mut gathered = OutputBuffer::default();
        assert_eq!(gathered.add(&[b'a', 0xff, b'b']), "a\u{fffd}b");
        assert_eq!(gathered.add(&[0xe2, 0x82]), "");
        assert_eq!(gathered.finish(), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn of_a_long_output_both_ends_are_kept() {
        let mut gathered = OutputBuffer::default();
        gathered.add(b"start");
        for _ in 0..80 {
            gathered.add(&[b'x'; 64 * 1024]);
        }
        gathered.add(b"end");
        let output = gathered.finish();
        assert!(output.starts_with("startx") && output.ends_with("xend"));
        assert!(output.len() <= 3 * KEPT + 64 && output.contains("bytes left out]"));
    }
}
