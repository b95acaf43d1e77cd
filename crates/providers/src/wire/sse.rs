//! Splits a byte stream into server-sent events, however the bytes were cut on the way.

use memchr::memchr2;

/// A whole event: its name, if it has one, and its data lines joined by line feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub name: Option<String>,
    pub data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
    #[error("the event stream is not UTF-8")]
    NotUtf8,
}

/// Line ends may be LF, CRLF or CR, and any of them may fall between two chunks.
#[derive(Debug)]
pub struct SseSplitter {
    /// The line that has not ended yet. It is decoded only when complete, so split characters do no
    /// harm.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was CR, so a following LF belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    max_event_bytes: usize,
}

impl SseSplitter {
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            after_cr: false,
            at_start: true,
            max_event_bytes,
        }
    }

    /// Takes the next bytes and returns the events they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            events.extend(self.end_line(&bytes[..end])?);
            let ended_by_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if ended_by_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.extend_line(bytes)?;
        Ok(events)
    }

    /// The last event, if the stream ended without its blank line. Some servers omit it; the caller
    /// must check whether the data is whole.
    pub fn end(&mut self) -> Result<Option<SseEvent>, SseError> {
        if !self.line.is_empty() {
            self.end_line(&[])?;
        }
        Ok(self.take_event())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        self.bounded(bytes)?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn bounded(&self, bytes: &[u8]) -> Result<(), SseError> {
        let length = self.line.len() + self.event.data.len() + bytes.len();
        if length > self.max_event_bytes {
            Err(SseError::TooLong(self.max_event_bytes))
        } else {
            Ok(())
        }
    }

    /// Ends the line with these bytes; nearly always they are the whole line.
    fn end_line(&mut self, rest: &[u8]) -> Result<Option<SseEvent>, SseError> {
        if self.line.is_empty() {
            self.bounded(rest)?;
            return self.whole_line(rest);
        }
        self.extend_line(rest)?;
        let mut line = std::mem::take(&mut self.line);
        let event = self.whole_line(&line);
        line.clear();
        self.line = line;
        event
    }

    fn whole_line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, SseError> {
        if line.is_empty() {
            return Ok(self.take_event());
        }
        let mut line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => self.event.name = Some(value.to_owned()),
            // Comments (an empty field name), `id`, `retry` and unknown fields are not used.
            _ => {}
        }
        Ok(None)
    }

    /// By the standard, an event without data is ignored, even if it has a name.
    fn take_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}
