//! Reads server-sent events as MCP uses them.

use std::time::Duration;

/// Collects the data of server-sent events from pieces.
#[derive(Default)]
pub(super) struct Events {
    rest: Vec<u8>,
    data: String,
    /// The id of the last event that had one.
    pub(super) last_id: Option<String>,
    /// How long to wait before a stream is resumed.
    pub(super) retry: Option<Duration>,
}

impl Events {
    /// Drops the unfinished event of a stream that broke off.
    pub(super) fn begin_again(&mut self) {
        self.rest.clear();
        self.data.clear();
    }

    pub(super) fn add(&mut self, chunk: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(chunk);
        let mut whole = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                if !self.data.is_empty() {
                    whole.push(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            } else if let Some(id) = line.strip_prefix("id:") {
                let id = id.trim();
                let is_plain = id.bytes().all(|byte| byte.is_ascii_graphic()) && id.len() <= 512;
                self.last_id = Some(id.to_owned()).filter(|id| is_plain && !id.is_empty());
            } else if let Some(wait) = line.strip_prefix("retry:") {
                self.retry = wait.trim().parse().ok().map(Duration::from_millis);
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_however_they_are_cut() {
        let stream = b"id: e-7\nretry: 500\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: note\n\ndata: two\n\n";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let whole: Vec<String> =
                stream.chunks(size).flat_map(|chunk| events.add(chunk)).collect();
            assert_eq!(whole, ["{\"a\":\n1}", "two"], "{size}");
            assert_eq!(events.last_id.as_deref(), Some("e-7"));
            assert_eq!(events.retry, Some(Duration::from_millis(500)));
        }
    }
}
