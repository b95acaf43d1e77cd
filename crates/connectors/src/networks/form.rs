//! Builds request bodies of the type `multipart/form-data`, for files.

use super::hex;

pub(super) struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    pub(super) fn new() -> Self {
        let mut random = [0; 16];
        // Without random numbers a file could contain the boundary and would arrive cut off.
        // Nothing worse could happen.
        let _ = getrandom::fill(&mut random);
        Self { boundary: format!("onyx-{}", hex(&random)), body: Vec::new() }
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        let head = format!("content-disposition: form-data; name=\"{name}\"");
        self.part(&head, value.as_bytes());
        self
    }

    pub(super) fn file(mut self, field: &str, name: &str, media_type: &str, bytes: &[u8]) -> Self {
        let is_plain = |c: &char| c.is_alphanumeric() || ".-_ ".contains(*c);
        let name: String = name.chars().filter(is_plain).collect();
        let head = format!(
            "content-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             content-type: {media_type}"
        );
        self.part(&head, bytes);
        self
    }

    fn part(&mut self, head: &str, bytes: &[u8]) {
        self.body.extend_from_slice(format!("--{}\r\n{head}\r\n\r\n", self.boundary).as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    /// Returns the content type of the body, and the body.
    pub(super) fn finish(mut self) -> (String, Vec<u8>) {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        (format!("multipart/form-data; boundary={}", self.boundary), self.body)
    }
}
